import http from 'node:http';
import https from 'node:https';
import { NotDone } from '../../tools/index.ts';
import { headersForServer, type RawHeaders } from './headers.ts';

/** What is passed on to the server. */
export interface PassedRequest {
  readonly method: string;
  /** What stands after `?` in the host's request; empty where nothing does. */
  readonly query: string;
  readonly headers: RawHeaders;
  readonly body: Uint8Array | null;
  /** Whether it may travel on a connection that was used before: one that closes just then leaves its fate unknown. */
  readonly reuse: boolean;
}

/** The server behind its address. */
export class Upstream {
  readonly #url: URL;
  readonly #agent: http.Agent;
  readonly #client: typeof http | typeof https;

  constructor(url: URL) {
    this.#url = url;
    this.#client = url.protocol === 'https:' ? https : http;
    this.#agent = new this.#client.Agent({ keepAlive: true });
  }

  get path(): string {
    return this.#url.pathname;
  }

  /**
   * Passes a request on and settles with the head of its answer. Throws `NotDone` where no connection came about, so
   * that nothing was passed on; any other error leaves open what became of it.
   */
  send(request: PassedRequest, signal: AbortSignal): Promise<http.IncomingMessage> {
    const { method, query, headers, body, reuse } = request;
    const search = [this.#url.search.slice(1), query].filter(Boolean).join('&');
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    const sending = this.#client.request(
      {
        protocol: this.#url.protocol,
        hostname: this.#url.hostname.replace(/^\[|\]$/g, ''),
        ...(this.#url.port === '' ? {} : { port: this.#url.port }),
        path: `${this.#url.pathname}${search === '' ? '' : `?${search}`}`,
        method,
        headers: headersForServer(headers, this.#url.host, body?.byteLength ?? null),
        agent: reuse ? this.#agent : false,
        signal,
      },
      resolve,
    );
    let connected = false;
    sending.once('socket', (socket) => {
      // One that was used before is connected already.
      connected = !socket.connecting;
      if (!connected)
        socket.once(this.#url.protocol === 'https:' ? 'secureConnect' : 'connect', () => (connected = true));
    });
    sending.on('error', (cause) => {
      const open = new Error('The server’s connection broke before it answered.', { cause });
      reject(connected ? open : new NotDone('The server could not be reached; nothing was passed on.', { cause }));
    });
    sending.end(body ?? undefined);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}
