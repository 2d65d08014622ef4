import { type ErrorCode, isJsonObject, JsonNumber, type JsonObject, type JsonValue } from '../../core/index.ts';

/** Where a host, or Holdfast itself, says the idempotency key of a call: a key of `_meta`. */
export const IDEMPOTENCY_META_KEY = 'holdfast/idempotency_key';

/** The id of a JSON-RPC request. `1` and `"1"` are two; a number keeps all its digits. */
export type RpcId = string | number | bigint;

/** One key for each id, for maps. */
export function idKey(id: RpcId): string {
  return typeof id === 'string' ? `s${id}` : `n${String(id)}`;
}

/** The id of a message, or null where it has none that a request may have. */
export function idOf(message: JsonObject): RpcId | null {
  const id = message['id'];
  if (id instanceof JsonNumber) return id.value;
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? id : null;
}

/** A proposed call of a tool, as the host sent it. `line` is what is passed on if it may run unchanged. */
export interface ToolCallMessage {
  readonly kind: 'call';
  readonly id: RpcId;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly meta: JsonObject;
  /** The host's own idempotency key of this call. */
  readonly key: string | null;
  /** The whole message, for a line with edited arguments. */
  readonly message: JsonObject;
  /** Up to 2025-11-25 a session was initialised; from 2026-07-28 each request carries its own version. */
  readonly era: 'session' | 'stateless';
  /** Whether it answers what an earlier result with `input_required` asked for: then it is the same operation. */
  readonly continues: { readonly requestState: string | null; readonly responses: JsonObject } | null;
  /** From 2026-07-28: whether the host says with this call that it can ask its user. */
  readonly elicits: boolean;
  /** The host asked for a task: the first answer only says that the work began. */
  readonly asTask: boolean;
}

export type HostMessage =
  | ToolCallMessage
  | { readonly kind: 'cancel'; readonly id: RpcId }
  /** The greeting of a session: it tells whether the host can ask its user. */
  | { readonly kind: 'initialize'; readonly elicits: boolean }
  /** The first page of the list of tools, which the guard may have something to add to. */
  | { readonly kind: 'list'; readonly id: RpcId }
  /** The host answers a request of the server's, or of the guard's own. */
  | { readonly kind: 'reply'; readonly id: RpcId; readonly result: JsonObject | null }
  /**
   * Everything else: passed on as it is. `asks`: the requests in it, each of which gets an answer; `cancels`: the calls
   * that a batch cancels among other things.
   */
  | { readonly kind: 'pass'; readonly asks?: readonly RpcId[]; readonly cancels?: readonly RpcId[] }
  /** Not passed on. `id` is where an error can be sent to. */
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly id: RpcId | null; readonly text: string };

/** How a server answered a call. Only `result` without `isError` is a report of success. */
export type CallAnswer =
  | { readonly kind: 'result'; readonly isError: boolean; readonly result: JsonObject }
  /** More is asked of the host; the call is neither done nor failed. */
  | { readonly kind: 'input_required'; readonly requestState: string | null; readonly result: JsonObject }
  /** The work goes on in the background. */
  | { readonly kind: 'task'; readonly taskId: string; readonly result: JsonObject }
  | { readonly kind: 'error'; readonly code: number | null; readonly text: string }
  /** It has the call's id, and cannot be read in only one way. */
  | { readonly kind: 'unreadable' };

export type ServerMessage =
  | { readonly kind: 'answer'; readonly id: RpcId; readonly answer: CallAnswer }
  | { readonly kind: 'pass' };

/** The requests in a message that call no tool, and whose answers are the host's. */
export function asksOf(message: HostMessage): readonly RpcId[] {
  if (message.kind === 'list') return [message.id];
  return message.kind === 'pass' ? (message.asks ?? []) : [];
}

export function objectAt(value: JsonValue | undefined, key: string): JsonObject | undefined {
  const found = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return isJsonObject(found) ? found : undefined;
}
