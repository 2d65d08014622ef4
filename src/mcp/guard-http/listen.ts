import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fail, LIMITS } from '../../core/index.ts';
import type { GuardOptions } from '../guard/call-desk.ts';
import { HttpGuard } from './http-guard.ts';
import { Upstream } from './upstream.ts';

export interface HttpGuardListener {
  /** Where hosts find the guarded server. */
  readonly url: string;
  /** Takes no more requests, waits a little for what is under way, and ends every connection. */
  close(): Promise<void>;
}

/**
 * Listens on this machine's own address, and stands between the hosts that come there and the server at `url`. Port 0
 * takes a free one. Throws `MCP_CONFIG_INVALID` for an address that is none, `MCP_CONNECT_FAILED` for a port that is
 * taken.
 */
export async function guardHttp(
  server: { readonly url: string; readonly port: number },
  options: GuardOptions,
): Promise<HttpGuardListener> {
  const url = URL.canParse(server.url) ? new URL(server.url) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username !== '' || url.hash !== '')
    throw fail('MCP_CONFIG_INVALID', "The MCP server's `url` must be an http or https address without a password.");
  const guard = new HttpGuard(options, new Upstream(url));
  const listener = createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    void guard.handle(request, response);
  });
  listener.maxConnections = LIMITS.guardHttpConnections;
  await new Promise<void>((resolve, reject) => {
    listener.once('error', (cause) => reject(fail('MCP_CONNECT_FAILED', 'The port cannot be listened on.', { cause })));
    listener.listen(server.port, '127.0.0.1', resolve);
  });
  guard.prepare();
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${url.pathname}`,
    close: async () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      await guard.end();
      listener.closeAllConnections();
      await closed;
    },
  };
}
