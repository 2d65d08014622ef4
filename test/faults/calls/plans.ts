// Many crashes, a few at a time, against one other side, and what was wrong with them.
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../support/index.ts';
import { type Crash, crashOnce, type Death, startOtherSide } from './crash.ts';

const AT_ONCE = 3;
/** Passed only while a new database is made: each step has its own test. */
const OF_MIGRATIONS = ['migration-step'];

/** One kill, or two: the second falls on the process that opens what the first one left. */
export type Plan = readonly [death: Death | null, recovery?: Death | null];

export async function all(t: TestContext, plans: readonly Plan[]): Promise<readonly Crash[]> {
  const other = await startOtherSide(join(await temporaryFolder(t), 'log.jsonl'));
  t.after(() => other.stop());
  const crashes: Crash[] = [];
  const left = [...plans.entries()];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [i, [death, recovery]] = next;
      crashes[i] = await crashOnce(death, other.book(`book-${i}`), recovery);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return crashes;
}

/** The points of the store: passed once a group of commits, the call's own and those around them. */
export const OF_GROUPS: readonly string[] = ['group-begun', 'group-about-to-commit', 'group-committed'];
/** Passed whenever a third of the lease is over, whatever the calls do: how often depends on the machine. */
export const OF_TIME: readonly string[] = ['lease-renewed'];
/** From one commit to the beginning of the next group nothing is written: that death would be the same one twice. */
const EACH_FIFTH = 'group-begun';

/** A death at every arrival at every point that a process which lived came by. */
export function everywhere({ passed }: Crash): { readonly point: string; readonly at: number }[] {
  return Object.entries(passed ?? {}).flatMap(([point, times]) =>
    OF_MIGRATIONS.includes(point)
      ? []
      : Array.from({ length: times }, (_, i) => ({ point, at: i + 1 })).filter(
          ({ at }) => point !== EACH_FIFTH || at % 5 === 1,
        ),
  );
}

/** The heartbeat of an instance commits too, so that how often a group is passed depends on the machine. */
export function missed(deaths: ReturnType<typeof everywhere>, crashes: readonly Crash[]): string[] {
  return deaths.flatMap(({ point, at }, i) => {
    const { killed, passed } = crashes[i] ?? { killed: false, passed: null };
    return killed || (passed?.[point] ?? at) < at ? [] : [`${point} ${at}`];
  });
}

export const wrong = (crashes: readonly Crash[]) => crashes.flatMap((crash) => crash.violations);
