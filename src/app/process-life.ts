import { fail } from '../core/index.ts';
import { type Heartbeat, type HeartbeatOptions, startHeartbeat, type Store } from '../store/index.ts';

/** How this process is known to the others that have the data folder open. */
export interface ProcessLife {
  /** Under which it begins and takes runs now; see `comeBack`. */
  readonly instanceId: string;
  /** Every id that it has had. What it had begun under an earlier one is still its own until another process takes it. */
  readonly ids: readonly string[];
  /** Settles once its heartbeat has found this process taken for dead, as while its machine slept; never before. */
  readonly lost: Promise<void>;
  /** Leaves an id that is over for a new one, once whoever asks, and answers the one that it has then; the other is ended. */
  readonly comeBack: (from: string) => Promise<string>;
  stop(): Promise<void>;
}

/** Registers the process and keeps telling that it lives. */
export async function beginLife(store: Store, options: HeartbeatOptions): Promise<ProcessLife> {
  const { promise: lost, resolve: onLost } = Promise.withResolvers<void>();
  const beat = (): Promise<Heartbeat> => startHeartbeat(store, { ...options, onLost });
  let heartbeat = await beat();
  const ids = [heartbeat.instanceId];
  let coming: Promise<string> | undefined;
  let stopped = false;
  const anew = async (): Promise<string> => {
    if (stopped) throw fail('INSTANCE_ENDED', 'The lease of this process has ended, and it is being closed.');
    const before = heartbeat;
    heartbeat = await beat();
    ids.push(heartbeat.instanceId);
    await before.stop();
    return heartbeat.instanceId;
  };
  return {
    get instanceId() {
      return heartbeat.instanceId;
    },
    ids,
    lost,
    comeBack: async (from) => {
      if (coming === undefined && from !== heartbeat.instanceId) return heartbeat.instanceId;
      return (coming ??= anew().finally(() => (coming = undefined)));
    },
    stop: async () => {
      stopped = true;
      await coming?.catch(() => undefined);
      await heartbeat.stop();
    },
  };
}
