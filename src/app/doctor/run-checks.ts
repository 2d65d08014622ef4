import { systemClock } from '../../core/index.ts';
import { Operations } from '../../operations/index.ts';
import { findDamagedRuns } from '../../runs/index.ts';
import type { Store } from '../../store/index.ts';
import { failed, type HealthCheck, ok } from './check.ts';

/** So many are named; how many there are is always said. */
const NAMED = 5;
/** What is proved here needs no tool: the digests that were taken when an operation was reserved are enough. */
const NO_TOOLS = { current: () => undefined, retired: () => undefined };

/** Whether every run whose process is dead can be recovered: what its recovery would read is read and proved here. */
export async function checkRuns(store: Store): Promise<HealthCheck> {
  const operations = new Operations({ store, tools: NO_TOOLS, verdicts: true });
  const damaged = await findDamagedRuns({ store, clock: systemClock, operations });
  if (damaged.length === 0) return ok('runs', 'every run that a dead process left can be recovered');
  const named = damaged.slice(0, NAMED).map(({ runId, code }) => `${runId} (${code})`);
  const more = damaged.length > NAMED ? `, and ${damaged.length - NAMED} more` : '';
  return failed(
    'runs',
    `${damaged.length} left as they are, since a record of them is damaged: ${named.join(', ')}${more}`,
    'See what is damaged: `holdfast audit`. Mend it, or restore a backup; the next start recovers the run.',
  );
}
