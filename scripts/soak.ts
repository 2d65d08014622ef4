// Long runs of what the tests do shortly: npm run soak -- NAME [--seed N] [--count N]
// The seed is printed first, so that a fault can be made again. A fault ends with exit code 1.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface SoakOptions {
  readonly seed: number;
  /** How many rounds, where the default is not wanted. */
  readonly count?: number;
  readonly log: (line: string) => void;
}

/** Runs for a while; gives one line for each fault, naming the seed that shows it. */
export type Soak = (options: SoakOptions) => Promise<readonly string[]>;

/** One a line: what is soaked, and the module that exports `soak`. */
const SOAKS: Readonly<Record<string, () => Promise<{ readonly soak: Soak }>>> = {
  archive: () => import('../test/soak/archive.ts'),
  guard: () => import('../test/soak/guard.ts'),
  'gateway-fuzz': () => import('../test/soak/gateway-fuzz.ts'),
  'gateway-load': () => import('../test/soak/gateway-load.ts'),
  'gateway-streams': () => import('../test/soak/gateway-streams.ts'),
  workspace: () => import('../test/soak/workspace.ts'),
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: 'string' }, count: { type: 'string' } },
  });
  const name = positionals[0] ?? '';
  const load = SOAKS[name];
  if (!load) {
    console.error(
      `npm run soak -- NAME [--seed N] [--count N], where NAME is one of: ${Object.keys(SOAKS).join(', ')}`,
    );
    return 2;
  }
  const seed = values.seed === undefined ? randomInt(0, 2 ** 31) : Number(values.seed);
  console.log(`soak ${name}, seed ${seed}`);
  const { soak } = await load();
  const faults = await soak({ seed, log: console.log, ...(values.count ? { count: Number(values.count) } : {}) });
  for (const fault of faults) console.error(fault);
  console.log(faults.length === 0 ? 'no fault' : `${faults.length} faults`);
  return faults.length === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = await main();
