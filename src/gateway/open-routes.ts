import type { Hono } from 'hono';
import { canonicalJson, fail } from '../core/index.ts';
import type { GatewayContext } from './context.ts';
import { OF_THE_HOUSE } from './authenticate.ts';
import { admit, type Bindings, type Exchange, jsonOf } from './exchange.ts';
import { openApiDocument } from './openapi.ts';
import { ROUTES } from './routes/index.ts';

/** Beside the routes of the application; each takes GET alone. */
export const OPEN_PATHS = ['/healthz', '/readyz', '/openapi.json', '/metrics'] as const;

/** What is asked by those who look after the process: whether it lives, is ready, what it is, and its counts. */
export function addOpenRoutes(
  app: Hono<{ Bindings: Bindings }>,
  gateway: GatewayContext,
  given: { readonly version: string; readonly exchangeOf: (request: Request) => Exchange },
): void {
  // Anybody may ask for it, as often as they like: its text is made once.
  const description = canonicalJson(openApiDocument(ROUTES, given.version));
  const open = (
    path: (typeof OPEN_PATHS)[number],
    answer: (request: Request, exchange: Exchange) => Response | Promise<Response>,
  ): void => {
    app.get(path, (c) => {
      const exchange = given.exchangeOf(c.req.raw);
      exchange.path = path;
      return answer(c.req.raw, exchange);
    });
  };
  open('/healthz', () => jsonOf({ status: 'alive' }, 200));
  open('/readyz', async () => {
    if (gateway.stopping.aborted) throw fail('GATEWAY_STOPPING', 'The gateway is stopping.');
    await gateway.runtime.store.read('gateway.ready', (tx) => tx.get('SELECT 1'));
    return jsonOf({ status: 'ready' }, 200);
  });
  open('/openapi.json', () => new Response(description, { headers: { 'content-type': 'application/json' } }));
  open('/metrics', async (request, exchange) => {
    const { tenantId, roles } = await admit(gateway, request, exchange);
    // The counts are of the whole process.
    if (!roles.includes('admin') || tenantId !== gateway.runtime.principal.tenant)
      throw fail('ROLE_NOT_ALLOWED', 'The counts are for an admin of the tenant that runs the gateway.', {
        resolve: OF_THE_HOUSE,
      });
    return new Response(gateway.metrics.text, {
      headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
    });
  });
}
