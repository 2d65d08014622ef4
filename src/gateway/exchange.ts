import type { HttpBindings } from '@hono/node-server';
import { canonicalJson, fail, type JsonValue, systemIds } from '../core/index.ts';
import type { Token } from '../principals/index.ts';
import { authenticate } from './authenticate.ts';
import type { GatewayContext } from './context.ts';

/** What a request is besides its content: who sent it, and which route took it. */
export interface Exchange {
  readonly requestId: string;
  readonly address: string;
  /** Headers that were sent more than once. */
  readonly repeated: readonly string[];
  route: string;
  /** The path of the route as it is described; null where no route took the request. */
  path: string | null;
  token: Token | null;
}

export type Bindings = Partial<HttpBindings>;
const SINGLE_HEADERS = [
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'last-event-id',
];

export function newExchange({ incoming }: Bindings): Exchange {
  return {
    // Also while the runtime's clock, and so its ids, are refused: that has to be told.
    requestId: systemIds.next(),
    address: incoming?.socket.remoteAddress ?? 'unknown',
    repeated: SINGLE_HEADERS.filter((name) => (incoming?.headersDistinct[name]?.length ?? 0) > 1),
    route: 'none',
    path: null,
    token: null,
  };
}

/** The token of a request that may go on: good, not repeated, not too often. */
export async function admit(gateway: GatewayContext, request: Request, exchange: Exchange): Promise<Token> {
  const [repeated] = exchange.repeated;
  if (repeated !== undefined)
    throw fail('REQUEST_INVALID', 'A header is given twice.', { details: { where: `header ${repeated}` } });
  const token = await authenticate(gateway, request.headers.get('authorization'), exchange.address);
  exchange.token = token;
  // A principal with many tokens may ask no more often than one with one.
  gateway.rates.take(JSON.stringify([token.tenantId, token.subjectId]));
  return token;
}

export function jsonOf(document: JsonValue | Response, status: number): Response {
  if (document instanceof Response) return document;
  return new Response(canonicalJson(document), { status, headers: { 'content-type': 'application/json' } });
}
