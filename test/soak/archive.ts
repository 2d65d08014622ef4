// Twenty thousand archives, taken apart and put together wrongly. See test/archive/support/fuzz.ts for what must hold.
import { fuzz } from '../archive/support/fuzz.ts';
import { filesOf } from '../archive/support/packages.ts';
import type { Soak } from '../../scripts/soak.ts';

export const soak: Soak = async ({ seed, count = 20_000, log }) => {
  const files = await filesOf('a-minimal');
  const { outcomes, faults } = await fuzz(seed, count, files, (done) => log(`${done} archives`));
  for (const [outcome, times] of [...outcomes].sort((a, b) => b[1] - a[1]))
    log(`${String(times).padStart(7)} ${outcome}`);
  return faults;
};
