import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Holdfast } from '../app/index.ts';
import { checkOptions, fail, LIMITS, type Log, noLog, systemClock } from '../core/index.ts';
import { gatewayApplication, unreadable } from './application.ts';
import { Connections } from './connections.ts';
import type { GatewayContext } from './context.ts';
import { FeedPlaces } from './feed-places.ts';
import { FeedWatcher } from './feed-watcher.ts';
import { checkTimes, GATEWAY_OPTIONS } from './gateway-options.ts';
import { Metrics } from './metrics.ts';
import { type RateRule, Rates } from './rates.ts';

export interface GatewayOptions {
  /** The runtime that is served. Closing the gateway leaves it open. */
  readonly holdfast: Holdfast;
  /** Default 127.0.0.1: only this machine. */
  readonly host?: string;
  /** Default 0: any that is free. */
  readonly port?: number;
  /** JSON lines: one a request, and what went wrong. Default: none. */
  readonly log?: Log;
  /** How often one principal may ask, with all of its tokens. Default 100 a second, 200 at once. */
  readonly rate?: RateRule;
  /** How often an event stream shows that it lives and its token is looked at again. Milliseconds, default 15,000. */
  readonly heartbeatMs?: number;
  /** How long a request's head, and all of it, may take to come. Milliseconds, default 10,000 and 30,000. */
  readonly headMs?: number;
  readonly requestMs?: number;
  /**
   * A package may take longer than `requestMs`, as long as it moves: the longest that nothing comes or is taken, and the
   * longest for the whole. Milliseconds, default 30,000 and 1,800,000.
   */
  readonly packageIdleMs?: number;
  readonly packageMs?: number;
  /** What the description says of the program. */
  readonly version?: string;
}

export interface Gateway {
  /** Where it listens, without a slash at the end. */
  readonly url: string;
  /** Takes nothing new, ends event streams, lets what was begun end, for `graceMs` at most (10,000 unless told). */
  close(graceMs?: number): Promise<void>;
}

const RATE: RateRule = { perSecond: 100, burst: 200 };
const GRACE_MS = 10_000;
/** A head that takes longer, or a whole request, is cut off: slow senders hold nothing for long. */
const HEAD_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECKS = 10;
const HEARTBEAT_MS = 15_000;
const MOST_HEADER_BYTES = 16 * 1024;

/**
 * Opens the gateway of a runtime: people and programs supervise its agents over HTTP. Every route but `/healthz`,
 * `/readyz` and `/openapi.json` needs a token of a principal. Throws GATEWAY_ADDRESS_TAKEN, and INVALID_VALUE
 * for an option of a wrong shape, by its name.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  checkOptions('openGateway', options, GATEWAY_OPTIONS);
  const { holdfast, host = '127.0.0.1', port = 0, log = noLog, rate = RATE, version = '0' } = options;
  const { headMs = HEAD_MS, requestMs = REQUEST_MS, heartbeatMs = HEARTBEAT_MS } = options;
  checkTimes({ headMs, requestMs });
  const { packageIdleMs = LIMITS.packageIdleMs, packageMs = LIMITS.packageTransferMs } = options;
  const { runtime } = holdfast;
  const stop = new AbortController();
  const gateway: GatewayContext = {
    runtime,
    log,
    rates: new Rates(systemClock, rate),
    metrics: new Metrics(),
    feed: new FeedWatcher(runtime.store, log),
    places: new FeedPlaces(runtime),
    connections: new Connections(),
    heartbeatMs,
    pace: { idleMs: packageIdleMs, totalMs: packageMs },
    stopping: stop.signal,
  };
  const application = gatewayApplication(gateway, version);
  // The server speaks HTTP/1.1, so these are its bindings.
  const answer = getRequestListener((request, bindings) => application(request, bindings as HttpBindings), {
    errorHandler: (error) => unreadable(gateway, error),
    overrideGlobalObjects: false,
  });
  const times = {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.max(1, Math.floor(headMs / CHECKS)),
  };
  const server = createServer({ ...times, maxHeaderSize: MOST_HEADER_BYTES }, (incoming, outgoing) => {
    void answer(incoming, outgoing);
  });
  gateway.connections.watch(server);
  const address = await listen(server, { host, port, log });
  const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${shownHost}:${address.port}`,
    close: async (graceMs = GRACE_MS) => {
      gateway.connections.closeWhenAnswered();
      stop.abort();
      await closeServer(server, graceMs);
    },
  };
}

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly log: Log;
}

function listen(server: Server, { host, port, log }: Listening): Promise<AddressInfo> {
  return new Promise((settle, refuse) => {
    const taken = (cause: Error): void =>
      refuse(fail('GATEWAY_ADDRESS_TAKEN', 'The gateway cannot listen at this address and port.', { cause }));
    server.once('error', taken);
    server.listen(port, host, () => {
      server.off('error', taken);
      // One connection that the system did not give: an error that nobody hears would end the process.
      server.on('error', (error) => log.warn('gateway.not_accepted', { error }));
      settle(server.address() as AddressInfo);
    });
  });
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((settle) => {
    const late = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(late);
      settle();
    });
    server.closeIdleConnections();
  });
}
