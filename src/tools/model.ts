import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ResourceScope, ToolObservation, ToolPostcondition } from './resource.ts';

/**
 * What may be delivered again after a crash. `read` changes nothing; `idempotent` honours the key; `reconcilable` can
 * be asked by `status`; `once` is neither, and stays unknown for a person.
 */
export const TOOL_EFFECTS = ['read', 'idempotent', 'reconcilable', 'once'] as const;
export type ToolEffect = (typeof TOOL_EFFECTS)[number];

/** A JSON Schema document of the object kind (draft 2020-12 unless `$schema` names another). */
export type JsonSchemaObject = { readonly [keyword: string]: unknown };

/** What describes a tool's input or output: any Standard Schema (Zod, Valibot, ArkType), or plain JSON Schema. */
export type ToolSchema = StandardSchemaV1 | JsonSchemaObject;

/** The value that a schema lets through. Plain JSON Schema tells the compiler nothing, so there it is a record. */
export type SchemaValue<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : Record<string, unknown>;

/** Whoever asks, as the host knows them; never taken from what a model wrote. */
export interface ToolPrincipal {
  readonly tenant: string;
  readonly subject: string;
  readonly roles: readonly string[];
}

/** The six revisions of a tool's contract: explicit texts that a person changes, never digests of source. */
export interface ToolRevisions {
  readonly inputSchema: string;
  readonly outputSchema: string;
  readonly effect: string;
  readonly handler: string;
  readonly producer: string;
  readonly policy: string;
}

/** A sign of life from a running tool. Shown, never stored as a result. */
export interface ToolProgress {
  readonly done: number;
  readonly total?: number;
  readonly text?: string;
}

/** What `execute`, `status` and `observe` know about the call they serve. */
export interface ToolCallContext {
  readonly callId: string;
  /** The same for every delivery of one call, and for no other call of this principal. */
  readonly idempotencyKey: string;
  readonly principal: ToolPrincipal;
  /** Null where a call was made without a run. */
  readonly runId: string | null;
  /** Aborted at the time-out, at cancellation, and at the end of the lease. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The page that a browsing tool works on, as the host knows it. */
  readonly pageUrl?: string;
  progress(update: ToolProgress): void;
}

/**
 * What a tool's `status` answers. `not_happened` is final only `settlesWithinMs` after the lease ended. Any other
 * value, a throw and a time-out leave the outcome unknown.
 */
export type ToolStatus =
  | { readonly state: 'happened'; readonly output: unknown }
  | { readonly state: 'not_happened' }
  | { readonly state: 'unknown'; readonly reason?: string };

/** What the other side said about its own record of the call; each field is optional and bounded. */
export interface ToolReceipt {
  readonly receiptId?: string;
  readonly downstreamRequestId?: string;
  readonly resourceRevision?: string;
  /** Seconds since 1970, whole, when the other side committed. */
  readonly observedAt?: number;
}

/** The answer of `precondition`: true to go on, or the reason why not, which the model and the person read. */
export type PreconditionAnswer = true | { readonly refused: string };

export interface ToolOutputLimits {
  /** UTF-8 bytes of the canonical JSON text. */
  readonly maxBytes: number;
  /** 1 for a flat object or list, 0 for a bare value. */
  readonly maxDepth: number;
}

type Awaitable<T> = T | Promise<T>;

/** What a developer writes for `tool({...})`. `I` and `O` are the schemas; handlers get the values they let through. */
export interface ToolDefinition<I extends ToolSchema = ToolSchema, O extends ToolSchema = ToolSchema> {
  /** Starts with a letter; letters, digits, `_` and `-`; at most 64 characters, as model providers allow. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: I;
  /** The JSON Schema shown to the model, where `inputSchema` cannot be turned into one. */
  readonly jsonSchema?: JsonSchemaObject;
  readonly outputSchema?: O;
  readonly effect: ToolEffect;
  readonly needsApproval?: boolean | ((input: SchemaValue<I>, principal: ToolPrincipal) => Awaitable<boolean>);
  /** Top-level arguments that an approver may change. */
  readonly editable?: readonly string[];
  readonly execute: (input: SchemaValue<I>, call: ToolCallContext) => Awaitable<unknown>;
  /** How to learn what happened to a call whose answer was lost. Required for `reconcilable`, refused for `once`. */
  readonly status?: (input: SchemaValue<I>, call: ToolCallContext) => Awaitable<ToolStatus>;
  /** May this principal do this to this? Asked again before each delivery; false and a throw both deny. */
  readonly authorize?: (input: SchemaValue<I>, principal: ToolPrincipal) => Awaitable<boolean>;
  /** A business rule that must hold before the first delivery; not asked when a stored result is shown again. */
  readonly precondition?: (input: SchemaValue<I>, principal: ToolPrincipal) => Awaitable<PreconditionAnswer>;
  /** Default 20 seconds; shorter than the lease. */
  readonly timeoutMs?: number;
  /** How long after the lease a request under way can still take effect. Default 60 seconds. */
  readonly settlesWithinMs?: number;
  /** Reads the other side's receipt out of a valid output. */
  readonly receipt?: (output: SchemaValue<O>, input: SchemaValue<I>) => ToolReceipt;
  /** What the call may change. Without it a writing tool touches "whatever this tool touches", as one resource. */
  readonly resources?: (input: SchemaValue<I>) => ResourceScope;
  readonly postconditions?: (input: SchemaValue<I>) => readonly ToolPostcondition[];
  readonly observe?: (input: SchemaValue<I>, call: ToolCallContext) => Awaitable<readonly ToolObservation[]>;
  /**
   * Names of fields that hold secrets, at any depth, whatever their case, `-` and `_` alike. They are written down with
   * each call, and struck out of its arguments where it is shown, by whatever process, but not for whoever decides; an
   * output that has one is invalid.
   */
  readonly secretFields?: readonly string[];
  /** Rules between output and input that a schema cannot say. Each text returned is one violation. */
  readonly checkOutput?: (output: SchemaValue<O>, input: SchemaValue<I>) => readonly string[];
  readonly outputLimits?: Partial<ToolOutputLimits>;
  /** What a throw other than `NotDone` means for a writing tool. Default `unknown`; `not_done` is a promise you make. */
  readonly onError?: 'unknown' | 'not_done';
  /**
   * Only for `read` and `idempotent`: `execute` is invoked again, with the same key, while it throws or gives no answer
   * in time. At most `most` times (1 to 10) after the first, after pauses that double from `pauseMs` (0 to 60,000, else
   * 200) and differ. All of it may take 15 minutes. Default: a call is never repeated.
   */
  readonly retry?: { readonly most: number; readonly pauseMs?: number };
  /** May run beside other calls of the same model reply. Default: reads may, writes may not. */
  readonly parallel?: boolean;
  /** Names under which an allow-list can take several tools at once. */
  readonly groups?: readonly string[];
  /** Pages on which this tool may act, see `docs/tools.md`. Without it the tool is not bound to a page. */
  readonly urlPatterns?: readonly string[];
  /** Who produces the output, as shown in results. Default: the tool's name. */
  readonly producer?: string;
  /** Each revision that is not given is `<name>-v1`. */
  readonly revisions?: Partial<ToolRevisions>;
}

/** One disagreement between a value and what was declared. `path` is a JSON Pointer. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

export type SchemaVerdict =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/** A schema made ready: the JSON Schema that a model is shown, and a bounded check. */
export interface CompiledSchema {
  /** Frozen. Empty for an output whose schema has no JSON Schema form. */
  readonly jsonSchema: JsonSchemaObject;
  /** Never throws: a schema that throws is a verdict too. At most 20 issues are told. */
  check(value: unknown): Promise<SchemaVerdict>;
}

/**
 * A tool as the rest of the house sees it: checked, complete, frozen. Handlers take the value that the input schema
 * let through; nobody but `calls/` invokes `execute`, `status` or `observe`.
 */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: CompiledSchema;
  /** Null where nothing was declared: any JSON within the limits is accepted. */
  readonly output: CompiledSchema | null;
  readonly effect: ToolEffect;
  /** Null where the tool says nothing, so that the policy decides. A question that throws is answered `true`. */
  readonly needsApproval: ((input: unknown, principal: ToolPrincipal) => Promise<boolean>) | null;
  readonly editable: readonly string[];
  readonly execute: (input: unknown, call: ToolCallContext) => Promise<unknown>;
  readonly status: ((input: unknown, call: ToolCallContext) => Promise<unknown>) | null;
  readonly authorize: ((input: unknown, principal: ToolPrincipal) => Awaitable<boolean>) | null;
  readonly precondition: ((input: unknown, principal: ToolPrincipal) => Awaitable<PreconditionAnswer>) | null;
  readonly timeoutMs: number;
  readonly settlesWithinMs: number;
  readonly receipt: ((output: unknown, input: unknown) => ToolReceipt) | null;
  readonly resources: ((input: unknown) => ResourceScope) | null;
  readonly postconditions: ((input: unknown) => readonly ToolPostcondition[]) | null;
  readonly observe: ((input: unknown, call: ToolCallContext) => Promise<readonly ToolObservation[]>) | null;
  readonly secretFields: readonly string[];
  readonly checkOutput: ((output: unknown, input: unknown) => readonly string[]) | null;
  readonly outputLimits: ToolOutputLimits;
  readonly onError: 'unknown' | 'not_done';
  /** Null for a tool whose calls are never repeated. */
  readonly retry: { readonly most: number; readonly pauseMs: number } | null;
  readonly parallel: boolean;
  readonly groups: readonly string[];
  readonly urlPatterns: readonly string[];
  readonly producer: string;
  readonly revisions: ToolRevisions;
}

/** A tool's answer to "may this call go on", as a value: the text goes to the model. */
export interface ToolDenial {
  readonly denied: true;
  readonly code: 'TOOL_UNKNOWN' | 'TOOL_NOT_ALLOWED' | 'URL_POLICY_DENIED' | 'TOOL_ARGUMENTS_INVALID';
  readonly text: string;
}
