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

check('a run that is under way here is not resumed under another definition, and that is said', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal } = holdfast.runtime;
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const model = () => {
    asked.resolve();
    return answer.promise;
  };
  const going = holdfast.agent({ model }).run('go');
  await asked.promise;
  const [run] = (await runs.list(principal, { limit: 1 })).items;
  await assert.rejects(runs.resume(principal, run?.runId ?? '', {}, { adopt: true }), { code: 'RUN_BUSY' });
  answer.resolve('done');
  assert.equal((await going).status, 'completed');
});
