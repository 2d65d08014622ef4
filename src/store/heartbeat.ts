import { type Clock, type FaultPoints, HoldfastError, type Ids, noFaults } from '../core/index.ts';
import { beatInstance, endInstance, forgetOldInstances, registerInstance } from './instances.ts';
import type { Store } from './port.ts';

export interface Heartbeat {
  /** The id under which this process holds what it works on. */
  readonly instanceId: string;
  /** Whether the lease ended: the process must not go on under this id. */
  lost(): boolean;
  /** Ends the instance, so that others need not wait for its lease. */
  stop(): Promise<void>;
}

export interface HeartbeatOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** How long the process counts as living after its last beat, in milliseconds: 1 to 600,000, else 30,000. */
  readonly leaseMs?: number;
  /** Called once, when a beat found the lease ended. */
  readonly onLost?: () => void;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
}

const LEASE_MS = 30_000;
const BEATS_PER_LEASE = 3;

/** The one heartbeat of a process: registers an instance and renews its lease three times a lease. */
export async function startHeartbeat(store: Store, options: HeartbeatOptions): Promise<Heartbeat> {
  const { clock, ids, leaseMs = LEASE_MS, onLost, faults = noFaults } = options;
  const instance = { instanceId: ids.next(), leaseMs };
  await store.write('instances.register', async (tx) => {
    await registerInstance(tx, clock, instance);
    await forgetOldInstances(tx, clock);
  });
  let lost = false;
  let beating: Promise<void> | undefined;
  const beat = async (): Promise<void> => {
    try {
      await store.write('instances.beat', (tx) => beatInstance(tx, clock, instance));
      await faults.reach('lease-renewed');
    } catch (error) {
      // A busy or failing store is tried again at the next beat; the lease itself decides when it is too late.
      if (!(error instanceof HoldfastError) || error.code !== 'INSTANCE_ENDED') return;
      lost = true;
      clearInterval(timer);
      onLost?.();
    }
  };
  const tick = () => {
    // One that its store holds up is not asked again for each time that passes meanwhile.
    beating ??= beat().finally(() => (beating = undefined));
  };
  const timer = setInterval(tick, Math.max(1, Math.floor(leaseMs / BEATS_PER_LEASE)));
  timer.unref();
  return {
    instanceId: instance.instanceId,
    lost: () => lost,
    async stop() {
      clearInterval(timer);
      await beating;
      if (!lost) await store.write('instances.end', (tx) => endInstance(tx, clock, instance.instanceId));
    },
  };
}
