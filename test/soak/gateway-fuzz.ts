import type { Soak } from '../../scripts/soak.ts';
import { fuzz } from '../gateway/fuzz.ts';
import { openWorld } from '../gateway/world.ts';
import { endings } from './endings.ts';

/** Odd requests to every route of the gateway; 20,000 unless told. */
export const soak: Soak = async ({ seed, count = 20_000, log }) => {
  await using ending = endings();
  const world = await openWorld(ending);
  const { faults, statuses } = await fuzz(world, { seed, count });
  log(`answered: ${JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))}`);
  return faults;
};
