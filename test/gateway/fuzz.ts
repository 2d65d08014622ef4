import { connect } from 'node:net';
import { z } from 'zod';
import { ERROR_TABLE, type ErrorCode } from '../../src/core/index.ts';
import type { Route } from '../../src/gateway/route.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import { errorEnvelope } from '../../src/gateway/schemas/common.ts';
import { oracle } from '../archive/support/packages.ts';
import type { World } from './world.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly count: number;
}

/** A source of numbers that a seed fixes. */
function diceOf(seed: number) {
  let state = seed % 2147483647 || 1;
  const below = (most: number): number => {
    state = (state * 48271) % 2147483647;
    return state % most;
  };
  const one = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  return { below, one };
}

type Dice = ReturnType<typeof diceOf>;

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly pattern?: string;
  readonly minItems?: number;
}

const schemaOf = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;

/** A value that the schema lets through, as far as a schema can say. */
function valid(dice: Dice, schema: JsonSchema): unknown {
  if (schema.enum) return dice.one(schema.enum);
  if (schema.anyOf) return valid(dice, dice.one(schema.anyOf));
  switch (String(schema.type)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name) || dice.below(2) === 0)
          .map(([name, one]) => [name, valid(dice, one)]),
      );
    case 'array':
      return [valid(dice, schema.items ?? {})];
    case 'integer':
      return dice.one([1, 2, 50, 200]);
    case 'null':
      return null;
    case 'boolean':
      return true;
    default:
      if (schema.pattern?.includes('0-9a-f')) return 'a'.repeat(64);
      return schema.pattern?.includes('[1-9]') ? '7' : dice.one(['x', 'default', 'a b', 'é💡', 'f'.repeat(32)]);
  }
}

const ODD: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  9007199254740993n,
  '',
  ' ',
  '\u0000',
  '\u202e\u0007',
  'x'.repeat(70_000),
  '💡'.repeat(600),
  "'; DROP TABLE tokens; --",
  '../../etc/passwd',
  '__proto__',
  [],
  [[[]]],
  {},
  { __proto__x: 1, constructor: {}, toString: 1 },
];

function text(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(text).join(',')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}:${text(one)}`)
      .join(',')}}`;
  return JSON.stringify(value);
}

/** A body with something wrong with it, most of the time; as bytes. */
function bodyOf(dice: Dice, schema: JsonSchema): Uint8Array<ArrayBuffer> {
  const good = valid(dice, schema) as Record<string, unknown>;
  const names = [...Object.keys(schema.properties ?? {}), 'x'];
  const name = dice.one(names);
  const bytes = (value: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text(value));
  switch (dice.below(12)) {
    case 0:
      return bytes({ ...good, [name]: dice.one(ODD) });
    case 1: {
      const { [name]: _gone, ...rest } = good;
      return bytes(rest);
    }
    case 2:
      return bytes({ ...good, [dice.one(['__proto__', 'roles', 'tenant', '', 'ключ', 'x'.repeat(9000)])]: 1 });
    case 3:
      return bytes(dice.one(ODD));
    case 4:
      return new TextEncoder().encode('['.repeat(dice.one([65, 1000, 50_000])));
    case 5:
      return bytes(good).slice(0, -1);
    case 6:
      return Uint8Array.of(...bytes(good), 0xff, 0xfe, 0xc0);
    case 7:
      return Uint8Array.of(0xef, 0xbb, 0xbf, ...bytes(good));
    case 8:
      return new TextEncoder().encode(`{"a":"\\ud800"}`);
    case 9:
      return new TextEncoder().encode(
        dice.one(['', ' ', '{"a":01}', '{"a":NaN}', '{"a":1}{', '{"a":1,"a":2}', '//x\n{}']),
      );
    default:
      return bytes(good);
  }
}

/** A package, whole, cut, or with a byte changed; or no package at all. */
function packageOf(dice: Dice): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from(oracle(dice.one(['a-minimal', 'b-notebook', 'd2-deliveries'])));
  switch (dice.below(5)) {
    case 0:
      return bytes.subarray(0, dice.below(bytes.length));
    case 1:
      bytes[dice.below(bytes.length)] = dice.below(256);
      return bytes;
    case 2:
      return new TextEncoder().encode(dice.one(['', '{}', 'PK', 'x'.repeat(70_000)]));
    default:
      return bytes;
  }
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

const ODD_PARTS = [
  'x',
  'f'.repeat(32),
  '%00',
  '%FF',
  '%2e%2e%2f',
  '%',
  'é',
  'x'.repeat(600),
  '%20',
  'a;b',
  '%E2%80%AE',
];

function pathOf(dice: Dice, route: Route, ids: readonly string[]): string {
  const path = route.path.replace(/\{\w+\}/g, () => dice.one([...ids, ...ODD_PARTS]));
  if (dice.below(3) > 0) return path;
  const query = valid(dice, schemaOf(route.query)) as Record<string, unknown>;
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const odd = dice.one([
    '',
    'limit=0',
    'limit=1e3',
    'limit=99999999999',
    'after=%00',
    'after=',
    'x=1',
    'limit=1&limit=2',
    '&&=',
    '%',
  ]);
  return `${path}?${[...pairs, odd].join('&')}`;
}

/** A request as the description says it must be, with what is needed and no more. */
function plainRequest(dice: Dice, route: Route, token: string, ids: readonly string[]): Sent {
  const { takes, method } = route;
  const key = `plain-${dice.below(100)}`;
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, 'idempotency-key': key };
  const schema = route.body === null ? null : schemaOf(route.body);
  const needed = schema && { ...schema, properties: onlyRequired(schema) };
  const body = takes ? packageOf(dice) : needed && new TextEncoder().encode(text(valid(dice, needed)));
  if (body) headers['content-type'] = takes ?? 'application/json';
  return { method, path: route.path.replace(/\{\w+\}/g, () => dice.one(ids)), headers, body };
}

const onlyRequired = ({ properties = {}, required = [] }: JsonSchema) =>
  Object.fromEntries(Object.entries(properties).filter(([name]) => required.includes(name)));

function requestOf(dice: Dice, tokens: readonly string[], ids: readonly string[]): { route: Route; sent: Sent } {
  const route = dice.one(ROUTES);
  if (dice.below(4) === 0) return { route, sent: plainRequest(dice, route, tokens[0] ?? '', ids) };
  const headers: Record<string, string> = {};
  const token =
    dice.below(8) === 0 ? dice.one(['x', '', 'hf_', `hf_${'0'.repeat(32)}_${'A'.repeat(43)}`]) : dice.one(tokens);
  if (dice.below(20) > 0) headers['authorization'] = `Bearer ${token}`;
  if (dice.below(6) > 0) headers['idempotency-key'] = dice.one(['k', String(dice.below(1e6)), 'a b', 'x'.repeat(300)]);
  if (dice.below(6) === 0) headers['last-event-id'] = dice.one(['0', '-1', 'x', '9'.repeat(30)]);
  const { takes } = route;
  const body = takes ? packageOf(dice) : route.body === null ? null : bodyOf(dice, schemaOf(route.body));
  if (body)
    headers['content-type'] =
      dice.below(10) > 0 ? (takes ?? 'application/json') : dice.one(['text/plain', 'application/json;x', '']);
  const method =
    dice.below(20) > 0 ? route.method : dice.one(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'POST', 'GET']);
  const takesBody = method !== 'GET' && method !== 'HEAD';
  return { route, sent: { method, path: pathOf(dice, route, ids), headers, body: takesBody ? body : null } };
}

/** Sends so many odd requests to every route in turn, from their own schemas; one line for each answer that is wrong. */
export async function fuzz(
  world: World,
  { seed, count }: FuzzOptions,
): Promise<{ faults: string[]; statuses: Map<number, number> }> {
  const dice = diceOf(seed);
  const own = await world.token(['agent', 'approver', 'admin']);
  const other = await world.token(['agent', 'approver', 'admin'], { tenant: 'other' });
  const tokens = [own, own, own, other, await world.token(['agent']), await world.token(['approver'])];
  const faults: string[] = [];
  const statuses = new Map<number, number>();
  const ids: string[] = ['default'];
  for (let round = 0; round < count; round += 1) {
    const { route, sent } = requestOf(dice, tokens, ids.slice(-40));
    if (dice.below(50) === 0) await cut(world, sent, dice);
    const fault = await sendOne(world, route, sent, { ids, statuses, tokens });
    if (fault) faults.push(`seed ${seed}, round ${round}, ${sent.method} ${sent.path.slice(0, 80)}: ${fault}`);
  }
  return { faults, statuses };
}

interface Seen {
  readonly ids: string[];
  /** Those that are sent with: to revoke them would end the fuzz. */
  readonly tokens: readonly string[];
  readonly statuses: Map<number, number>;
}

async function sendOne(
  world: World,
  route: Route,
  sent: Sent,
  { ids, statuses, tokens }: Seen,
): Promise<string | null> {
  const { method, headers, body } = sent;
  const response = await fetch(`${world.url}${sent.path}`, { method, headers, ...(body ? { body } : {}) });
  statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
  if (route.media !== undefined && response.headers.get('content-type')?.startsWith(route.media)) {
    await response.body?.cancel();
    return null;
  }
  const answer = await response.text();
  if (method === 'HEAD' && answer === '') return null;
  const document = JSON.parse(answer) as unknown;
  for (const [, id = ''] of answer.matchAll(
    /"(?:run_id|session_id|root_frame_id|decision_id|token_id|status_ref|project_id)":"([^"]+)"/g,
  ))
    if (!tokens.some((token) => token.includes(id))) ids.push(encodeURIComponent(id));
  if (response.ok)
    return method === route.method && response.status === route.status ? wrongReply(route, document) : null;
  return wrongRefusal(response.status, document);
}

function wrongReply(route: Route, document: unknown): string | null {
  const issue = route.reply.safeParse(document).error?.issues[0];
  return issue ? `a reply that its schema does not know: ${issue.path.join('.')} ${issue.message}` : null;
}

function wrongRefusal(status: number, document: unknown): string | null {
  const read = errorEnvelope.safeParse(document);
  if (!read.success) return `a refusal that is no envelope: ${JSON.stringify(document).slice(0, 200)}`;
  const { code, message } = read.data.error;
  const entry = ERROR_TABLE[code as ErrorCode];
  if (!entry || entry.http !== status) return `${code} with status ${status}`;
  if (/\/(?:tmp|src|node_modules)\/|SQLITE|SELECT /.test(message)) return `a message that tells too much: ${message}`;
  return status >= 500 ? `${code}: ${message}` : null;
}

/** Sends part of a request by hand and goes away. */
function cut(world: World, sent: Sent, dice: Dice): Promise<void> {
  const head = Object.entries(sent.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = `content-length: ${(sent.body?.byteLength ?? 0) + 10}\r\n`;
  const bytes = Buffer.from(`${sent.method} ${sent.path} HTTP/1.1\r\nhost: x\r\n${head.join('')}${length}\r\n`);
  return new Promise((settle) => {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1', () => {
      socket.write(bytes.subarray(0, 1 + dice.below(bytes.length)));
      setTimeout(() => socket.destroy(), 2);
    });
    socket.on('error', () => undefined).on('close', () => settle());
  });
}
