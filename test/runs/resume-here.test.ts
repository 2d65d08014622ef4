import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

check('a run of another tenant is not there to be resumed, also while this process carries it out', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs } = holdfast.runtime;
  const other = { tenant: 'other', subject: 'somebody', roles: [] };
  const met: unknown[] = [];
  const look = noteTool({
    name: 'look',
    effect: 'read',
    execute: async (_input, call) => {
      const runId = call.runId ?? '';
      await assert.rejects(runs.resume(other, runId), { code: 'RUN_NOT_FOUND' });
      met.push(await runs.resume(holdfast.runtime.principal, runId));
      return { ok: true };
    },
  });
  const agent = holdfast.agent({ model: callsThenDone([{ name: 'look' }]), tools: [look] });
  const run = await agent.run('go');
  assert.deepEqual([run.status, met.length], ['completed', 1]);
});

check('and while somebody of its own tenant takes it up', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal } = holdfast.runtime;
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  const { id } = await agent.run('go');
  const own = runs.resume(principal, id);
  await assert.rejects(runs.resume({ tenant: 'other', subject: 'somebody', roles: [] }, id), { code: 'RUN_NOT_FOUND' });
  const again = await runs.resume(principal, id);
  assert.equal((await (await own).ended).state.status, 'waiting_confirmation');
  await again.ended;
});
