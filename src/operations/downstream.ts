import type { JsonObject } from '../core/index.ts';
import type { OperationTool, Principal, Receipt, Scope, ToolContract } from './model.ts';

/** One delivery: everything that the other side may need to know, and nothing that it must not. */
export interface DeliveryRequest {
  readonly scope: Scope;
  readonly statusRef: string;
  readonly contract: ToolContract;
  readonly tool: OperationTool;
  readonly principal: Principal;
  readonly input: JsonObject;
  readonly requestSha256: string;
  /** Digest of scope and request: the same for every delivery of one operation, and for no other. */
  readonly effectIdentity: string;
  readonly attempt: number;
  /** Seconds since 1970. */
  readonly now: number;
  /** The delivery must have ended, or be aborted, at this second. */
  readonly leaseUntil: number;
  /** Aborted at that second, by how long the worker has had the lease: what has not answered by then is unknown. */
  readonly signal: AbortSignal;
}

/** What the other side is asked by. Its signal is aborted after 15 seconds: what has not answered by then is unknown. */
export type LookupRequest = Omit<DeliveryRequest, 'attempt' | 'leaseUntil'>;

/**
 * What this delivery is known to have done. `unknown` says nothing either way; `not_done` of a repeated delivery settles
 * nothing, since an earlier one may have been carried out.
 */
export type DeliveryAnswer =
  | { readonly kind: 'done'; readonly receipt: Receipt }
  | { readonly kind: 'not_done'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What the other side answers when it is asked whether an operation happened. */
export type LookupAnswer =
  | { readonly kind: 'happened'; readonly receipt: Receipt }
  | { readonly kind: 'not_happened' }
  | { readonly kind: 'unknown' };

/**
 * The other side. `table` keeps its receipts in this database, committed in a transaction of its own; `external` keeps
 * them elsewhere, and its receipt is written here together with our own. An error that a port throws is rethrown as
 * itself; the lease then runs out, and nothing is known.
 */
export interface DownstreamPort {
  readonly home: 'table' | 'external';
  deliver(request: DeliveryRequest): Promise<DeliveryAnswer>;
  /** Absent where the other side cannot be asked. */
  lookUp?(request: LookupRequest): Promise<LookupAnswer>;
}
