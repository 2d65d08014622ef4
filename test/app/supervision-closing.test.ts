import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { viewOfRun } from '../../src/app/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { openSupervised } from '../support/supervised-world.ts';

check('a repair whose write is under way when its process closes keeps what the write came to', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const repairs = Promise.withResolvers<void>();
  let writes = 0;
  const beforeWrite = async (): Promise<void> => {
    if ((writes += 1) !== 2) return;
    repairs.resolve();
    await sleep(300);
  };
  const world = await openSupervised({ dataDir, beforeWrite, toolIs: { effect: 'once' } });
  const { principal, runs } = world.holdfast.runtime;
  const begun = world.agent.run('Write the total.');
  await repairs.promise;
  const [run] = (await runs.list(principal, { limit: 10 })).items.filter(({ parent }) => parent === null);
  await Promise.allSettled([world.holdfast.close(), begun]);
  const again = await openSupervised({ dataDir });
  t.after(() => again.holdfast.close());
  const { summary } = await viewOfRun(again.holdfast.runtime, principal, run?.runId ?? '');
  assert.deepEqual([summary.reportedDone, summary.unknown, writes], [2, 0, 2]);
});
