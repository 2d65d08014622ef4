import { runDocument } from '../../src/app/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';

check('a run counts what was reported as done and what was verified apart', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const tool = noteTool({
    execute: () => {
      ran += 1;
      if (ran === 2) throw new Error('nobody knows');
      return { ran };
    },
  });
  const run = await holdfast.agent({ model: callsThenDone([{ note: 'a' }, { note: 'b' }]), tools: [tool] }).run('go');
  assert.deepEqual(run.view.summary, { calls: 2, reportedDone: 1, verified: 0, unknown: 1 });
  assert.deepEqual(runDocument(run.view)['summary'], { calls: 2, reported_done: 1, verified: 0, unknown: 1 });
});
