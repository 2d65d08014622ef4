import { isJsonObject, type JsonObject, JsonNumber, type JsonValue, readStrictJson } from '../../core/index.ts';
import { type CallAnswer, idKey, idOf, objectAt, type RpcId, type ServerMessage } from './message.ts';
import { MCP_PROFILE } from './read-host-line.ts';

/**
 * Looks into one line from the server, for the answer to a call that waits. `waits` says whether a call with this key
 * does; without any there is nothing to look for. A line that answers and cannot be read strictly is `unreadable`: the
 * host might read a success in it that the guard does not see.
 */
export function readServerLine(bytes: Uint8Array, waits: (key: string) => boolean): ServerMessage {
  const message = readStrictly(bytes) ?? readLoosely(bytes);
  if (message === undefined) return { kind: 'pass' };
  const id = idOf(message.document);
  const isAnswer = Object.hasOwn(message.document, 'result') || Object.hasOwn(message.document, 'error');
  if (id === null || !isAnswer || !waits(idKey(id))) return { kind: 'pass' };
  return { kind: 'answer', id, answer: message.strict ? answerOf(message.document) : { kind: 'unreadable' } };
}

/** The ids of waiting calls that a batch of answers holds: such a line is not looked into further. */
export function idsInBatch(bytes: Uint8Array): readonly RpcId[] {
  const batch = attempt(() => JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonValue);
  if (!Array.isArray(batch)) return [];
  return batch.flatMap((one) => (isJsonObject(one) ? (idOf(one) ?? []) : []));
}

interface Read {
  readonly document: JsonObject;
  readonly strict: boolean;
}

function readStrictly(bytes: Uint8Array): Read | undefined {
  const document = attempt(() => readStrictJson(bytes, MCP_PROFILE));
  return isJsonObject(document) ? { document, strict: true } : undefined;
}

/** As a host would read it that is less strict: only to learn which call it answers. */
function readLoosely(bytes: Uint8Array): Read | undefined {
  const document = attempt(() => JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonValue);
  return isJsonObject(document) ? { document, strict: false } : undefined;
}

function answerOf(message: JsonObject): CallAnswer {
  // One that asks and answers at once is an answer to some hosts only.
  if (Object.hasOwn(message, 'method')) return { kind: 'unreadable' };
  if (Object.hasOwn(message, 'error')) return errorOf(message);
  const result = objectAt(message, 'result');
  if (!result) return { kind: 'unreadable' };
  const type = result['resultType'];
  if (type === 'input_required') {
    const state = result['requestState'];
    return { kind: 'input_required', requestState: typeof state === 'string' ? state : null, result };
  }
  const taskId = objectAt(result, 'task')?.['taskId'];
  if (typeof taskId === 'string' && !Object.hasOwn(result, 'content')) return { kind: 'task', taskId, result };
  if (type !== undefined && type !== 'complete') return { kind: 'unreadable' };
  const isError = result['isError'];
  if (isError !== undefined && typeof isError !== 'boolean') return { kind: 'unreadable' };
  return { kind: 'result', isError: isError === true, result };
}

/** An answer that has both a result and an error says two things. */
function errorOf(message: JsonObject): CallAnswer {
  const error = message['error'];
  if (!isJsonObject(error) || Object.hasOwn(message, 'result')) return { kind: 'unreadable' };
  const code = error['code'] instanceof JsonNumber ? error['code'].value : error['code'];
  const text = error['message'];
  return {
    kind: 'error',
    code: typeof code === 'number' ? code : null,
    text: typeof text === 'string' ? text : '',
  };
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
