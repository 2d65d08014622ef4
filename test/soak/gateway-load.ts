import type { Soak } from '../../scripts/soak.ts';
import { load, percentile } from '../gateway/load.ts';
import { endings } from './endings.ts';

/** 64 clients that decide and read at once; 10,000 decisions unless told, each sent twice. */
export const soak: Soak = async ({ count = 10_000, log }) => {
  await using ending = endings();
  const { faults, times, approved, cpuMs } = await load(ending, { clients: 64, decisions: count, callsPerRun: 100 });
  const at = (share: number): number => percentile(times, share);
  log(`${cpuMs.toFixed(2)} ms of the gateway's processor a decision, reads included`);
  log(`${times.length} decisions sent, ${approved} approved; ms p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}`);
  return faults;
};
