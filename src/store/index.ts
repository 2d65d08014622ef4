import { feedSchema } from './feed.ts';
import { instancesSchema } from './instances.ts';
import type { ContextSchema } from './migration.ts';
import { storeRootsSchema } from './roots.ts';

export { appendFeed, type FeedEntry, feedHead, type FeedPage, feedSchema, readFeed, readWholeFeed } from './feed.ts';
export { type Heartbeat, type HeartbeatOptions, startHeartbeat } from './heartbeat.ts';
export {
  beatInstance,
  endInstance,
  forgetInstance,
  type Instance,
  instancesSchema,
  isInstanceLive,
  listDeadInstances,
  registerInstance,
} from './instances.ts';
export type { ContextSchema, Migration } from './migration.ts';
export { countingObserver, type StoreCounts, type StoreEvent, type StoreObserver } from './observer.ts';
export type { ReadTx, Row, RunResult, Sql, SqlParams, SqlValue, Store, Tx } from './port.ts';
export { LOCAL_PRINCIPAL, type PrincipalRef } from './principal.ts';
export {
  addProject,
  ensureTenant,
  findProject,
  listProjects,
  type Project,
  removeProject,
  renameProject,
  requireProject,
  storeRootsSchema,
} from './roots.ts';
export { checkOneOf } from './table-checks.ts';

/** The tables that belong to the store itself in the composed system. */
export const STORE_SCHEMAS: readonly ContextSchema[] = [storeRootsSchema, instancesSchema, feedSchema];
