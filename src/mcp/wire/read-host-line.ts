import {
  type ErrorCode,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  LIMITS,
  readStrictJson,
} from '../../core/index.ts';
import { hasLikeName } from './like-names.ts';
import { asksOf, type HostMessage, IDEMPOTENCY_META_KEY, idOf, objectAt, type RpcId } from './message.ts';

/** What one message of MCP may be; integers keep all their digits. */
export const MCP_PROFILE: JsonProfile = {
  ...JSON_PROFILES.packages,
  name: 'mcp',
  bytes: LIMITS.guardLineBytes,
  depth: LIMITS.guardMessageDepth,
  values: LIMITS.guardMessageValues,
};

/** What a host may name a call by. */
const KEY = /^[\x21-\x7e]{1,200}$/;
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const CALL = 'tools/call';
const LIST = 'tools/list';
const INITIALIZE = 'initialize';
const CANCELLED = 'notifications/cancelled';

/** A server that takes names whatever their case would read another call in a message that has one of these so. */
const OF_MESSAGE = ['method', 'id', 'params', 'result', 'error'];
const OF_CALL = ['name', 'arguments', '_meta', 'task', 'requestState', 'inputResponses'];
const ALIKE = 'A member of the message is named like another but for its case.';

/**
 * Looks into one line from the host. Every line is read, since the name of a method can be spelled with escapes; what
 * could be read in two ways (a key twice, bad UTF-8) is refused, since the server might read the other one. Whatever is
 * no call of a tool is passed on as it is.
 */
export function readHostLine(bytes: Uint8Array): HostMessage {
  if (isBlankLine(bytes)) return { kind: 'pass' };
  let message: JsonValue;
  try {
    message = readStrictJson(bytes, MCP_PROFILE);
  } catch {
    return refused('MCP_MESSAGE_UNREADABLE', null, 'The message cannot be read in only one way.');
  }
  if (Array.isArray(message)) return readBatch(message);
  if (!isJsonObject(message)) return refused('MCP_MESSAGE_UNREADABLE', null, 'A message is an object.');
  return readMessage(message);
}

/** A batch of the protocol of 2025-03-26 passes where it calls no tool. */
function readBatch(batch: readonly JsonValue[]): HostMessage {
  const messages = batch.map((one) => (isJsonObject(one) ? readMessage(one) : null));
  if (!messages.every((one) => one !== null && passes(one)))
    return refused('MCP_BATCH_REFUSED', null, 'Calls of tools are taken one at a time.');
  const cancels = messages.flatMap((one) => (one?.kind === 'cancel' ? [one.id] : []));
  const asks = messages.flatMap((one) => (one ? asksOf(one) : []));
  return {
    kind: 'pass',
    ...(asks.length === 0 ? {} : { asks }),
    ...(cancels.length === 0 ? {} : { cancels }),
  };
}

const passes = ({ kind }: HostMessage): boolean => kind !== 'call' && kind !== 'refused';

function readMessage(message: JsonObject): HostMessage {
  const id = idOf(message);
  if (OF_MESSAGE.some((name) => hasLikeName(message, name))) return refused('MCP_MESSAGE_UNREADABLE', id, ALIKE);
  const method = message['method'];
  if (method === undefined)
    return id === null ? { kind: 'pass' } : { kind: 'reply', id, result: objectAt(message, 'result') ?? null };
  if (typeof method !== 'string') return refused('MCP_MESSAGE_UNREADABLE', id, 'The method is a text.');
  if (method === CANCELLED) return readCancelled(message);
  if (method === INITIALIZE)
    return { kind: 'initialize', elicits: elicits(objectAt(objectAt(message, 'params'), 'capabilities')) };
  if (method === LIST && id !== null && objectAt(message, 'params')?.['cursor'] === undefined)
    return { kind: 'list', id };
  if (method === CALL) return readCall(message, id);
  return id === null ? { kind: 'pass' } : { kind: 'pass', asks: [id] };
}

/** A host that declares elicitation and names no modes means forms. */
function elicits(capabilities: JsonObject | undefined): boolean {
  const elicitation = objectAt(capabilities, 'elicitation');
  return elicitation !== undefined && (!Object.hasOwn(elicitation, 'url') || Object.hasOwn(elicitation, 'form'));
}

function readCancelled(message: JsonObject): HostMessage {
  const params = objectAt(message, 'params') ?? {};
  const id = idOf({ id: params['requestId'] ?? null });
  return id === null ? { kind: 'pass' } : { kind: 'cancel', id };
}

function readCall(message: JsonObject, id: RpcId | null): HostMessage {
  const params = objectAt(message, 'params');
  const name = params?.['name'];
  const args = params?.['arguments'] ?? {};
  if (id === null) return refused('MCP_MESSAGE_UNREADABLE', null, 'A call of a tool has an id.');
  if (!params || typeof name !== 'string' || name === '' || !isJsonObject(args))
    return refused('MCP_MESSAGE_UNREADABLE', id, 'A call names a tool, and its arguments are an object.');
  const meta = objectAt(params, '_meta') ?? {};
  if (OF_CALL.some((one) => hasLikeName(params, one))) return refused('MCP_MESSAGE_UNREADABLE', id, ALIKE);
  const key = Object.hasOwn(meta, IDEMPOTENCY_META_KEY) ? meta[IDEMPOTENCY_META_KEY] : null;
  if (key !== null && (typeof key !== 'string' || !KEY.test(key)))
    return refused('MCP_MESSAGE_UNREADABLE', id, `${IDEMPOTENCY_META_KEY} is a text of 1 to 200 visible characters.`);
  const state = params['requestState'];
  const continues = state !== undefined || params['inputResponses'] !== undefined;
  return {
    kind: 'call',
    id,
    name,
    arguments: args,
    meta,
    key: key ?? null,
    message,
    era: Object.hasOwn(meta, VERSION_KEY) ? 'stateless' : 'session',
    continues: continues
      ? { requestState: typeof state === 'string' ? state : null, responses: objectAt(params, 'inputResponses') ?? {} }
      : null,
    elicits: elicits(objectAt(meta, CAPABILITIES_KEY)),
    asTask: isJsonObject(params['task']),
  };
}

function refused(code: ErrorCode, id: RpcId | null, text: string): HostMessage {
  return { kind: 'refused', code, id, text };
}

function isBlankLine(bytes: Uint8Array): boolean {
  return bytes.byteLength <= 2 && bytes.every((byte) => byte === 0x0a || byte === 0x0d);
}
