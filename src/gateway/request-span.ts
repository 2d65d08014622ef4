import { stopwatch, type Telemetry } from '../core/index.ts';
import type { Exchange } from './exchange.ts';

/** Headers that are nobody's business but the gateway's. */
const KEPT_BACK: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization', 'idempotency-key']);

/** Answers a request as a span named after its route; of the request, only the method, route and status stand on it. */
export function spanOfRequest(
  telemetry: Telemetry,
  request: Request,
  exchange: Exchange,
  body: () => Promise<Response>,
): Promise<Response> {
  const method = METHODS.has(request.method) ? request.method : '_OTHER';
  const attributes = {
    'http.request.method': method,
    'url.scheme': 'http',
    'holdfast.request.id': exchange.requestId,
  };
  const carrier = () => Object.fromEntries([...request.headers].filter(([name]) => !KEPT_BACK.has(name)));
  return telemetry.within({ name: method, kind: 'server', attributes, carrier }, async (span) => {
    const seconds = stopwatch();
    const response = await body();
    const { path } = exchange;
    const seen = {
      'http.response.status_code': response.status,
      ...(path === null ? {} : { 'http.route': path }),
      ...(response.status >= 500 ? { 'error.type': String(response.status) } : {}),
    };
    if (path !== null) span.rename(`${method} ${path}`);
    span.set({ ...seen, 'holdfast.tenant.id': exchange.token?.tenantId, 'enduser.id': exchange.token?.subjectId });
    if (response.status >= 500) span.failed(String(response.status));
    const labels = { 'http.request.method': method, 'url.scheme': 'http', ...seen };
    telemetry.record('http.server.request.duration', seconds(), labels);
    return response;
  });
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
