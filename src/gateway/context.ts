import type { Runtime } from '../app/index.ts';
import type { Log } from '../core/index.ts';
import type { Connections } from './connections.ts';
import type { FeedPlaces } from './feed-places.ts';
import type { FeedWatcher } from './feed-watcher.ts';
import type { Metrics } from './metrics.ts';
import type { Pace } from './pace.ts';
import type { Rates } from './rates.ts';

/** What the routes need of the world; made once, when the gateway is opened. */
export interface GatewayContext {
  readonly runtime: Runtime;
  readonly log: Log;
  readonly rates: Rates;
  readonly metrics: Metrics;
  readonly feed: FeedWatcher;
  readonly places: FeedPlaces;
  readonly connections: Connections;
  readonly heartbeatMs: number;
  /** How slow packages may be on their way. */
  readonly pace: Pace;
  /** Aborted when the gateway stops: nothing new is taken, and event streams end. */
  readonly stopping: AbortSignal;
}
