import { assert, check } from '../support/index.ts';
import { noteTool, openDesk } from '../calls/desk.ts';

check('once a stop is committed elsewhere, no write begins, however soon after it the run comes to it', async (t) => {
  const here = await openDesk(t);
  const there = await openDesk(t, { dataDir: here.dataDir });
  let runId = '';
  let posted = 0;
  const look = noteTool({
    name: 'look',
    effect: 'read',
    execute: async (_input, call) => {
      runId = call.runId ?? '';
      await there.holdfast.runtime.runs.stop(there.holdfast.runtime.principal, runId);
      return { ok: true };
    },
  });
  const post = noteTool({ execute: () => ({ at: (posted += 1) }) });
  const calls = ['look', 'take_note'].map((toolName) => ({ callId: toolName, toolName, arguments: { note: 'x' } }));
  const model = () => ({ calls });
  const run = await here.holdfast.agent({ model, tools: [look, post] }).run('go');
  assert.deepEqual([posted, run.status, run.id], [0, 'stopped', runId]);
});
