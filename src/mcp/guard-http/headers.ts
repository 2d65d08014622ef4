import type { ToolCallMessage } from '../wire/message.ts';

/** Headers as they came, names and values in turn. */
export type RawHeaders = readonly string[];

/** Belong to one connection (RFC 9110, 7.6.1), or are said anew on the next one. */
const OF_ONE_CONNECTION = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

function without(headers: RawHeaders, left: (name: string) => boolean): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    if (!OF_ONE_CONNECTION.has(name.toLowerCase()) && !left(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

/** The host's headers as the server gets them. Answers must come uncompressed, or nothing could be seen in them. */
export function headersForServer(headers: RawHeaders, host: string, bodyBytes: number | null): string[] {
  const said = new Set(['host', 'content-length', 'accept-encoding']);
  const kept = without(headers, (name) => said.has(name));
  const length = bodyBytes === null ? [] : ['Content-Length', String(bodyBytes)];
  return ['Host', host, ...kept, 'Accept-Encoding', 'identity', ...length];
}

/** A host's headers for a call of the guard's own: where they name a tool, they name this one, and no parameter. */
export function headersForQuestion(headers: RawHeaders, tool: string): string[] {
  const kept = without(headers, (name) => name === 'mcp-name' || name.startsWith('mcp-param-'));
  const named = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'mcp-name');
  return named ? [...kept, 'Mcp-Name', encoded(tool)] : kept;
}

/** The server's headers as the host gets them, for a body that passes as it is. */
export function headersForHost(headers: RawHeaders): string[] {
  return without(headers, () => false);
}

/** The same for a body of the guard's own, of this type. */
export function headersForOwnBody(headers: RawHeaders, type: string): string[] {
  const said = new Set(['content-type', 'content-length', 'content-encoding', 'etag', 'content-range', 'content-md5']);
  return [...without(headers, (name) => said.has(name)), 'Content-Type', type];
}

export function mediaTypeOf(value: string | undefined): string {
  return (value ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Whether a request was meant for this machine: a page elsewhere that resolves to it has another name. */
export function isLocalRequest(host: string | undefined, origin: string | undefined): boolean {
  if (host === undefined || !LOOPBACK.test(host)) return false;
  return origin === undefined || LOOPBACK.test(origin.replace(/^https?:\/\//i, ''));
}

/** A type whose one word about characters, where it has any, is UTF-8. */
const IN_UTF8 = /^(?!.*charset).*$|^[^;"]*;\s*charset=(?:utf-?8|"utf-?8")\s*$/i;

/**
 * Whether the body can be read in only one way: it is not coded, and no header says twice, or in some way that two could
 * understand differently, how its characters are.
 */
export function isPlainJson(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  raw: RawHeaders,
): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return false;
  const types = raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === 'content-type');
  return types.length <= 1 && types.every((type) => IN_UTF8.test(type));
}

/**
 * From 2026-07-28 a request says its method and its tool in headers too. What they say is what the body says, or some
 * server between here and the tool would read another call. `message` is null where the body is no call of a tool.
 */
export function headersAgree(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  message: ToolCallMessage | null,
): boolean {
  const { 'mcp-method': method, 'mcp-name': name } = headers;
  if (message === null) return method !== 'tools/call';
  return (
    (method === undefined || method === 'tools/call') && (name === undefined || decoded(String(name)) === message.name)
  );
}

const encoded = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;

/** A name that no header can carry travels as `=?base64?…?=`. */
function decoded(name: string): string {
  const coded = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/i.exec(name)?.[1];
  return coded === undefined ? name : Buffer.from(coded, 'base64').toString('utf8');
}
