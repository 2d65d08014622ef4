import type { JsonObject, JsonValue } from '../core/index.ts';
import { isPlainText } from './plain-text.ts';

/**
 * Whoever asks. Tenant and subject are believed as the host gives them; roles are not: they come from the principal
 * resolver each time. Roles are copied and frozen, so what was checked is what is used.
 */
export class Principal {
  readonly tenant: string;
  readonly subject: string;
  readonly roles: readonly string[];

  constructor(tenant: string, subject: string, roles: readonly string[] = []) {
    this.tenant = tenant;
    this.subject = subject;
    // What is no list stays what it is, to be refused by name: spread, a text would be a list of its letters.
    this.roles = Array.isArray(roles) ? Object.freeze([...roles]) : roles;
  }
}

export interface ToolCallFields {
  readonly callId: string;
  readonly operationId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** Null where the caller has none; a direct dispatch is then refused with `IDEMPOTENCY_KEY_REQUIRED`. */
  readonly idempotencyKey: string | null;
  readonly provider: string;
  readonly apiFamily: string;
  readonly responseId: string;
  readonly adapterRevision: string;
}

/** A proposal of a model (name, arguments), joined with the identities that the host owns. */
export class ToolCall implements ToolCallFields {
  readonly callId: string;
  readonly operationId: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly idempotencyKey: string | null;
  readonly provider: string;
  readonly apiFamily: string;
  readonly responseId: string;
  readonly adapterRevision: string;

  constructor(fields: ToolCallFields) {
    this.callId = fields.callId;
    this.operationId = fields.operationId;
    this.name = fields.name;
    this.arguments = fields.arguments;
    this.idempotencyKey = fields.idempotencyKey;
    this.provider = fields.provider;
    this.apiFamily = fields.apiFamily;
    this.responseId = fields.responseId;
    this.adapterRevision = fields.adapterRevision;
  }

  /** Whether JSON spells each of its identities as it stands between the quotes. */
  isPlain(): boolean {
    return (
      this.idempotencyKey !== null &&
      isPlainText(
        this.callId +
          this.operationId +
          this.idempotencyKey +
          this.provider +
          this.apiFamily +
          this.responseId +
          this.adapterRevision,
      )
    );
  }

  /** The same call with some fields replaced. */
  with(changes: Partial<ToolCallFields>): ToolCall {
    return new ToolCall(Object.assign({}, this as ToolCallFields, changes));
  }
}

/** An allowed triple of provider, api family and adapter revision. */
export interface ProviderProfile {
  readonly provider: string;
  readonly apiFamily: string;
  readonly adapterRevision: string;
}

/** The profiles of the contracts. A host that speaks another protocol names its own when it opens operations. */
export const PROVIDER_PROFILES: readonly ProviderProfile[] = [
  { provider: 'openai', apiFamily: 'responses', adapterRevision: 'openai-responses-v1' },
  { provider: 'anthropic', apiFamily: 'messages', adapterRevision: 'anthropic-messages-v1' },
  { provider: 'google', apiFamily: 'interactions', adapterRevision: 'gemini-interactions-v1' },
];

/** The six revisions of a tool's contract: explicit texts, never digests of source. */
export interface ContractRevisions {
  readonly inputSchema: string;
  readonly outputSchema: string;
  readonly effect: string;
  readonly handler: string;
  readonly producer: string;
  readonly policy: string;
}

export interface ToolContract extends ContractRevisions {
  readonly name: string;
}

/** Stands in each of the six places for a tool that nobody registered. */
export const UNREGISTERED = 'unregistered';

export function unregisteredContract(name: string): ToolContract {
  return {
    name,
    inputSchema: UNREGISTERED,
    outputSchema: UNREGISTERED,
    effect: UNREGISTERED,
    handler: UNREGISTERED,
    producer: UNREGISTERED,
    policy: UNREGISTERED,
  };
}

export type Awaitable<T> = T | Promise<T>;

/** What operations need to know of a tool. A registry of `tools/` satisfies it; nothing here invokes a tool. */
export interface OperationTool {
  readonly contract: ToolContract;
  /** Only tools that change something are dispatched; `read` is answered `UNKNOWN_TOOL`. */
  readonly effect: 'read' | 'idempotent' | 'reconcilable' | 'once';
  /** Who produces the output, as results show it. */
  readonly producerLabel: string;
  readonly outputLimits: { readonly maxBytes: number; readonly maxDepth: number };
  /** The exact top-level fields of an output, where the tool fixes them. */
  readonly outputFields?: readonly string[];
  /** Names that no output may hold, at any depth; the house's own list where none is given. */
  readonly forbiddenOutputNames?: readonly string[];
  /** How long after the lease's end a request under way can still take effect. */
  readonly settlesWithinSeconds: number;
  checkArguments(input: JsonObject): Awaitable<readonly string[]>;
  /** Rules for each field of an output, and between output and arguments. */
  checkOutput(output: JsonValue, input: JsonObject): Awaitable<readonly string[]>;
  /** May this principal do this to this? Asked with current roles, again before each delivery. */
  authorize(principal: Principal, input: JsonObject): Awaitable<boolean>;
  /** The business rule that must hold now. */
  precondition(principal: Principal, input: JsonObject): Awaitable<boolean>;
}

export interface OperationTools {
  /** The tool as registered now. */
  current(name: string): OperationTool | undefined;
  /** A retired tool of exactly these revisions, where the registry keeps them. */
  retired?(name: string, revisions: ContractRevisions): OperationTool | undefined;
}

/** A person's consent, bound by digest to one call, key, provider profile and policy revision, until a time. */
export interface OperationApproval {
  readonly approvalId: string;
  readonly operationId: string;
  readonly callId: string;
  readonly provider: string;
  readonly apiFamily: string;
  readonly adapterRevision: string;
  readonly idempotencyKey: string | null;
  readonly toolName: string;
  readonly subject: string;
  /** The input schema's revision. */
  readonly schemaRevision: string;
  /** The policy's revision. */
  readonly policyRevision: string;
  readonly digest: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  readonly approverId: string;
}

/** (tenant, subject, tool, key): one operation each, for ever. */
export interface Scope {
  readonly tenant: string;
  readonly subject: string;
  readonly tool: string;
  readonly key: string;
}

export type OperationState = 'pending' | 'processing' | 'succeeded';
export type OutboxState = 'pending' | 'processing' | 'delivered';
export type VerdictKind = 'done' | 'not_done';
export type VerdictSource = 'status_query' | 'person' | 'tool';

/** How an operation whose outcome was unknown was settled without a receipt. */
export interface Verdict {
  readonly verdict: VerdictKind;
  readonly source: VerdictSource;
  /** Who: a person's id, or the tool that answered. */
  readonly decidedBy: string;
  readonly reason: string;
  /** Seconds since 1970. */
  readonly decidedAt: number;
}

/** Proof that the other side did it. */
export interface Receipt {
  readonly receiptId: string;
  readonly downstreamRequestId: string;
  /** Canonical JSON of the output. */
  readonly resultJson: string;
  readonly producerRevision: string;
  readonly resourceRevision: string;
  /** When the other side committed: `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly observedAt: string;
}

/** One stored operation, as its row says. */
export interface OperationRecord {
  readonly pk: number;
  readonly scope: Scope;
  readonly requestSha256: string;
  readonly argumentsJson: string;
  readonly revisions: ContractRevisions;
  readonly approvalId: string;
  readonly approverId: string;
  readonly approvalDigest: string;
  readonly approvalExpiresAt: number;
  readonly approvedAt: number;
  readonly first: {
    readonly operationId: string;
    readonly callId: string;
    readonly responseId: string;
    readonly provider: string;
    readonly apiFamily: string;
    readonly adapterRevision: string;
  };
  readonly statusRef: string;
  readonly state: OperationState;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
  readonly verdict: Verdict | null;
}

/** A stored receipt with what binds it to its request. */
export interface StoredReceipt extends Receipt {
  readonly requestSha256: string;
  readonly effectRevision: string;
}

/** What another delivery of the same key answered, where that is not what the kept receipt says. */
export interface OtherAnswer extends Receipt {
  /** When it was told here, in seconds since 1970. */
  readonly toldAt: number;
}

/** The words of a worker's step. `settled` and `not_done` are ours; the others are the contracts'. */
export type ProcessOutcome =
  | 'succeeded'
  | 'not_claimed'
  | 'crashed_after_claim'
  | 'authorization_denied'
  | 'business_rule_denied'
  | 'outcome_unknown'
  | 'settled'
  | 'not_done';

/** A worker's time-limited right to an outbox row. */
export interface Lease {
  readonly operationPk: number;
  readonly statusRef: string;
  readonly workerId: string;
  readonly requestSha256: string;
  readonly toolName: string;
  readonly attemptCount: number;
  /** The lease is over at this second. */
  readonly until: number;
}
