import { canonicalJson, ERROR_TABLE, type ErrorCode, type JsonObject, type JsonValue } from '../../core/index.ts';
import { type CallAnswer, IDEMPOTENCY_META_KEY, type RpcId, type ToolCallMessage } from './message.ts';

/** JSON-RPC's own code for a request that was not accepted. */
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

/** An error of the guard's own, as a line: the tool was not called. */
export function errorLine(id: RpcId | null, code: ErrorCode, text: string): Uint8Array {
  const data = { code, retryable: ERROR_TABLE[code].retryable, resolve: ERROR_TABLE[code].resolve };
  return line({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message: text, data } });
}

/** What a host is told of a call that it must not take for a success. */
export interface ToldOutcome {
  /** The document of the outcome, for programs. */
  readonly document: JsonObject;
  /** What a model reads. */
  readonly text: string;
  /** The server's own answer, where it gave one that is not the whole truth: it is kept beside the text. */
  readonly said?: CallAnswer | undefined;
}

/**
 * A result of the guard's own in place of the server's: text that a model reads, marked as an error so that nothing
 * takes it for a success, with the outcome in words for programs. What the server said stands before it.
 */
export function outcomeLine(call: Pick<ToolCallMessage, 'id' | 'era'>, told: ToldOutcome): Uint8Array {
  const { said } = told;
  if (said?.kind === 'error') {
    const message = said.text === '' ? told.text : `${said.text} (${told.text})`;
    const error = { code: said.code ?? INTERNAL_ERROR, message, data: { outcome: told.document } };
    return line({ jsonrpc: '2.0', id: call.id, error });
  }
  const result: JsonObject = {
    content: [...contentOf(said), { type: 'text', text: told.text }],
    isError: true,
    _meta: { 'holdfast/outcome': told.document },
    ...(call.era === 'stateless' ? { resultType: 'complete' } : {}),
  };
  return line({ jsonrpc: '2.0', id: call.id, result });
}

function contentOf(said: CallAnswer | undefined): readonly JsonValue[] {
  if (said?.kind === 'error') return said.text === '' ? [] : [{ type: 'text', text: said.text }];
  return said?.kind === 'result' && Array.isArray(said.result['content']) ? said.result['content'] : [];
}

/**
 * A result of the guard's own that reports what is known to have happened: where the server's line is gone, or was an
 * error (`said`), whose words stand before it.
 */
export function doneLine(
  call: Pick<ToolCallMessage, 'id' | 'era'>,
  text: string,
  document: JsonObject,
  said?: CallAnswer,
): Uint8Array {
  const result: JsonObject = {
    content: [...contentOf(said), { type: 'text', text }],
    _meta: { 'holdfast/outcome': document },
    ...(call.era === 'stateless' ? { resultType: 'complete' } : {}),
  };
  return line({ jsonrpc: '2.0', id: call.id, result });
}

/** The server's result as it was kept, as the answer to a call that was not passed on again. */
export function keptLine(call: Pick<ToolCallMessage, 'id'>, result: JsonObject): Uint8Array {
  return line({ jsonrpc: '2.0', id: call.id, result });
}

/** What the guard's own tool answers: text that a model reads, and the outcome that it is about for programs. */
export function ownResultLine(
  call: Pick<ToolCallMessage, 'id' | 'era'>,
  told: { readonly text: string; readonly isError: boolean; readonly document?: JsonObject },
): Uint8Array {
  const result: JsonObject = {
    content: [{ type: 'text', text: told.text }],
    isError: told.isError,
    ...(told.document === undefined ? {} : { _meta: { 'holdfast/outcome': told.document } }),
    ...(call.era === 'stateless' ? { resultType: 'complete' } : {}),
  };
  return line({ jsonrpc: '2.0', id: call.id, result });
}

/** A call of the guard's own, beside one of the host's: it carries what the host's carried, but for what is that call's own. */
export function questionLine(
  id: string,
  of: { readonly name: string; readonly arguments: JsonObject; readonly meta: JsonObject },
): Uint8Array {
  const { progressToken: _token, [IDEMPOTENCY_META_KEY]: _key, ...meta } = of.meta;
  const params: JsonObject = {
    name: of.name,
    arguments: of.arguments,
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  };
  return line({ jsonrpc: '2.0', id, method: 'tools/call', params });
}

/** The guard's question to the host's user whether a call may go on. */
export function elicitationLine(id: string, message: string): Uint8Array {
  return line({ jsonrpc: '2.0', id, ...approvalQuestion(message) });
}

/** The guard waits for no answer to its question any more, so that the host need not ask its user any longer. */
export function withdrawnLine(id: string): Uint8Array {
  const params = { requestId: id, reason: 'The question is over.' };
  return line({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
}

function approvalQuestion(message: string): JsonObject {
  const approve = { type: 'boolean', title: 'Let this call run', default: false };
  const requestedSchema = { type: 'object', properties: { approve }, required: ['approve'] };
  return { method: 'elicitation/create', params: { message, requestedSchema } };
}

/** The name under which the answer to the guard's question comes back. */
export const APPROVAL_QUESTION = 'holdfast_approval';

/** The same question as the answer to the call: since 2026-07-28 a host is asked so, and calls again with the answer. */
export function inputRequiredLine(
  call: Pick<ToolCallMessage, 'id'>,
  message: string,
  requestState: string,
): Uint8Array {
  const inputRequests = { [APPROVAL_QUESTION]: approvalQuestion(message) };
  return line({ jsonrpc: '2.0', id: call.id, result: { resultType: 'input_required', inputRequests, requestState } });
}

/** The call's message with other arguments, and without the answer to a question of the guard's; all else is kept. */
export function editedLine(call: ToolCallMessage, args: JsonObject, answersGuard: boolean): Uint8Array {
  const { inputResponses, requestState, ...params } = call.message['params'] as JsonObject;
  const own: JsonObject = answersGuard
    ? {}
    : {
        ...(inputResponses === undefined ? {} : { inputResponses }),
        ...(requestState === undefined ? {} : { requestState }),
      };
  return line({ ...call.message, params: { ...params, ...own, arguments: args } });
}

function line(message: JsonValue): Uint8Array {
  return Buffer.from(`${canonicalJson(message)}\n`);
}
