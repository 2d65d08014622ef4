import { type HeartbeatOptions, startHeartbeat, type Store } from '../store/index.ts';

/** How this process is known to the others that have the data folder open. */
export interface ProcessLife {
  /** Under which its runs began; see `comeBack`. */
  readonly instanceId: string;
  /** Goes on under a new id, and answers it; the one before is ended. */
  readonly comeBack: () => Promise<string>;
  stop(): Promise<void>;
}

/** Registers the process and keeps telling that it lives. */
export async function beginLife(store: Store, options: HeartbeatOptions): Promise<ProcessLife> {
  let heartbeat = await startHeartbeat(store, options);
  return {
    instanceId: heartbeat.instanceId,
    comeBack: async () => {
      const before = heartbeat;
      heartbeat = await startHeartbeat(store, options);
      await before.stop();
      return heartbeat.instanceId;
    },
    stop: () => heartbeat.stop(),
  };
}
