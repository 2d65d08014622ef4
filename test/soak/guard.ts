import type { Soak } from '../../scripts/soak.ts';
import { killOnce, type Victim } from '../faults/mcp/guard-kills.ts';
import { httpKillOnce } from '../faults/mcp/http-guard-kills.ts';

const VICTIMS: readonly Victim[] = ['guard', 'server', 'host'];

/** Kills guard, server or host at random moments of their work. */
export const soak: Soak = async ({ seed, count = 200, log }) => {
  const faults: string[] = [];
  const seen = { success: 0, unknown: 0, nothing: 0 };
  let state = seed % 2147483647 || 1;
  for (let round = 0; round < count; round += 1) {
    state = (state * 48271) % 2147483647;
    const kill = { victim: VICTIMS[state % 3] as Victim, afterMs: Math.floor(state / 3) % 300 };
    // Every fourth one over HTTP.
    const report = await (round % 4 === 3 ? httpKillOnce(kill) : killOnce(kill));
    for (const key of ['success', 'unknown', 'nothing'] as const) seen[key] += report.told[key];
    for (const fault of report.faults) faults.push(`seed ${seed}, round ${round}, ${JSON.stringify(kill)}: ${fault}`);
  }
  log(`${count} kills; told before: ${JSON.stringify(seen)}`);
  if (seen.success === 0 || seen.unknown + seen.nothing === 0) faults.push('the kills hit nothing worth looking at');
  return faults;
};
