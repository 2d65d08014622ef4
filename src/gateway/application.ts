import { RequestError } from '@hono/node-server';
import { Hono } from 'hono';
import { fail, type HoldfastError, type JsonValue, LIMITS, systemClock } from '../core/index.ts';
import type { Token } from '../principals/index.ts';
import type { Principal } from '../sessions/index.ts';
import { requireRole, requireStillGood } from './authenticate.ts';
import type { GatewayContext } from './context.ts';
import { asKnown, errorResponse, SECURITY_HEADERS } from './envelope.ts';
import { admit, type Bindings, type Exchange, jsonOf, newExchange } from './exchange.ts';
import { answerKeyed, keyedRequest, keyedResponse } from './keyed-request.ts';
import { readJsonBody, readQuery } from './read-body.ts';
import type { RawAsked, Route } from './route.ts';
import { addOpenRoutes, OPEN_PATHS } from './open-routes.ts';
import { spanOfRequest } from './request-span.ts';
import { ROUTES } from './routes/index.ts';

export type Application = (request: Request, env?: Bindings) => Promise<Response>;

/** All of the gateway between a request and its response: it needs no server, and never throws. */
export function gatewayApplication(gateway: GatewayContext, version: string): Application {
  const exchanges = new WeakMap<Request, Exchange>();
  const exchangeOf = (request: Request): Exchange => exchanges.get(request) ?? newExchange({});
  const app = new Hono<{ Bindings: Bindings }>();
  addOpenRoutes(app, gateway, { version, exchangeOf });
  for (const route of ROUTES)
    app.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), (c) =>
      answer(gateway, route, { request: c.req.raw, params: c.req.param(), exchange: exchangeOf(c.req.raw) }),
    );
  app.notFound((c) => errorResponse(unknownRoute(c.req.path, c.req.method)));
  app.onError((error, c) => errorResponse(told(gateway, exchangeOf(c.req.raw), error)));
  const { telemetry } = gateway.runtime.calls;
  return async (request, env = {}) => {
    const exchange = newExchange(env);
    exchanges.set(request, exchange);
    gateway.connections.met(request, env.incoming);
    const began = systemClock.nowMs();
    const response = await spanOfRequest(telemetry, request, exchange, async () => app.fetch(request, env));
    return finish(gateway, exchange, { method: request.method, response, milliseconds: systemClock.nowMs() - began });
  };
}

/** The answer to what came where no request could be made of it, such as one whose address is none. */
export function unreadable(gateway: GatewayContext, error: unknown): Response {
  const exchange = newExchange({});
  const refusal =
    error instanceof RequestError
      ? fail('REQUEST_INVALID', 'The target of the request and its header Host make no address.', {
          details: { where: 'header host' },
        })
      : told(gateway, exchange, error);
  return finish(gateway, exchange, { method: 'none', response: errorResponse(refusal), milliseconds: 0 });
}

interface Arrived {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
}

async function answer(gateway: GatewayContext, route: Route, arrived: Arrived): Promise<Response> {
  const { request, params, exchange } = arrived;
  exchange.route = route.id;
  exchange.path = route.path;
  if (gateway.stopping.aborted) throw fail('GATEWAY_STOPPING', 'The gateway is stopping.');
  const token = await admit(gateway, request, exchange);
  requireRole(route, token);
  const url = new URL(request.url);
  const principal = { tenant: token.tenantId, subject: token.subjectId, roles: token.roles };
  await requireFree(gateway, route, principal, params);
  const body = route.body === null ? null : await bodyOf(gateway, request, token);
  const { requestId } = exchange;
  const raw = { principal, token, params, query: readQuery(url), body, request, requestId };
  return route.creates && route.takes === undefined
    ? answerCreating(gateway, route, raw, body)
    : jsonOf(await route.run(gateway, { ...raw, keep: neverKept }), route.status);
}

/** A body may be long on its way: whose token was revoked meanwhile decides nothing. */
async function bodyOf(gateway: GatewayContext, request: Request, token: Token): Promise<JsonValue> {
  const body = await readJsonBody(request);
  await requireStillGood(gateway, request, token);
  return body;
}

/** SESSION_QUARANTINED for a route that acts in a locked session: whatever else is wrong with the request. */
async function requireFree(
  gateway: GatewayContext,
  route: Route,
  principal: Principal,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  const place = await route.placeOf(gateway, principal, params);
  if (place !== null) await gateway.runtime.packages.requireTrusted(principal, place);
}

async function neverKept(): Promise<void> {}

async function answerCreating(
  gateway: GatewayContext,
  route: Route,
  raw: Omit<RawAsked, 'keep'>,
  body: JsonValue,
): Promise<Response> {
  const keyed = keyedRequest(route, raw.token, raw.request, { params: raw.params, body });
  return keyedResponse(await answerKeyed(gateway, keyed, route.status, (keep) => route.run(gateway, { ...raw, keep })));
}

const PATTERNS = [...ROUTES, ...OPEN_PATHS.map((path) => ({ method: 'GET', path }))].map(({ method, path }) => ({
  methods: method === 'GET' ? [method, 'HEAD'] : [method],
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

function unknownRoute(path: string, method: string): HoldfastError {
  const allowed = PATTERNS.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods);
  if (allowed.length === 0) return fail('ROUTE_NOT_FOUND', 'There is no such route.');
  const allow = [...new Set(allowed)].join(', ');
  return fail('METHOD_NOT_ALLOWED', `This route does not take ${method.slice(0, 16)}.`, { details: { allow } });
}

function told(gateway: GatewayContext, exchange: Exchange, thrown: unknown): HoldfastError {
  const error = asKnown(thrown);
  if (error.httpStatus >= 500)
    gateway.log.error('gateway.error', {
      request_id: exchange.requestId,
      route: exchange.route,
      error,
      cause: causeOf(error),
    });
  return error;
}

function causeOf(error: HoldfastError): Error | undefined {
  return error.cause instanceof Error ? error.cause : undefined;
}

interface Answered {
  readonly method: string;
  readonly response: Response;
  readonly milliseconds: number;
}

function finish(gateway: GatewayContext, exchange: Exchange, { method, response, milliseconds }: Answered): Response {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.headers.set(name, value);
  response.headers.set('x-request-id', exchange.requestId);
  if (gateway.stopping.aborted) response.headers.set('connection', 'close');
  const { route, token, requestId } = exchange;
  gateway.metrics.request(route, response.status, milliseconds);
  gateway.log.info('gateway.request', {
    request_id: requestId,
    method: method.slice(0, LIMITS.httpIdUnits),
    route,
    status: response.status,
    ms: milliseconds,
    token_id: token?.tokenId,
    tenant: token?.tenantId,
    subject: token?.subjectId,
  });
  return response;
}
