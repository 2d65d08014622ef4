import { canonicalJson, ERROR_TABLE, type ErrorCode, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { RpcId, ToolCallMessage } from './message.ts';

/** JSON-RPC's own code for a request that was not accepted. */
const INVALID_REQUEST = -32600;

/** An error of the guard's own, as a line: the tool was not called. */
export function errorLine(id: RpcId | null, code: ErrorCode, text: string): Uint8Array {
  const data = { code, retryable: ERROR_TABLE[code].retryable, resolve: ERROR_TABLE[code].resolve };
  return line({ jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message: text, data } });
}

/**
 * A result of the guard's own in place of the server's: text that a model reads, marked as an error so that nothing
 * takes it for a success, with the outcome in words for programs.
 */
export function outcomeLine(
  call: Pick<ToolCallMessage, 'id' | 'era'>,
  told: { readonly outcome: string; readonly code?: string; readonly text: string },
): Uint8Array {
  const about = { outcome: told.outcome, ...(told.code === undefined ? {} : { code: told.code }) };
  const result: JsonObject = {
    content: [{ type: 'text', text: told.text }],
    isError: true,
    _meta: { 'holdfast/outcome': about },
    ...(call.era === 'stateless' ? { resultType: 'complete' } : {}),
  };
  return line({ jsonrpc: '2.0', id: call.id, result });
}

/** The call's message with other arguments, everything else kept: how an approver's edit is sent on. */
export function editedLine(call: ToolCallMessage, args: JsonObject): Uint8Array {
  const params = { ...(call.message['params'] as JsonObject), arguments: args };
  return line({ ...call.message, params });
}

function line(message: JsonValue): Uint8Array {
  return Buffer.from(`${canonicalJson(message)}\n`);
}
