import { type HeartbeatOptions, startHeartbeat, type Store } from '../store/index.ts';

/** How this process is known to the others that have the data folder open. */
export interface ProcessLife {
  /** Under which its runs began; see `comeBack`. */
  readonly instanceId: string;
  /** Settles once this process was found to be taken for dead, as while its machine slept; never before. */
  readonly lost: Promise<void>;
  /** Goes on under a new id, and answers it; the one before is ended. */
  readonly comeBack: () => Promise<string>;
  stop(): Promise<void>;
}

/** Registers the process and keeps telling that it lives. */
export async function beginLife(store: Store, options: HeartbeatOptions): Promise<ProcessLife> {
  const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
  let heartbeat = await startHeartbeat(store, { ...options, onLost });
  return {
    instanceId: heartbeat.instanceId,
    lost,
    comeBack: async () => {
      const before = heartbeat;
      heartbeat = await startHeartbeat(store, options);
      await before.stop();
      return heartbeat.instanceId;
    },
    stop: () => heartbeat.stop(),
  };
}
