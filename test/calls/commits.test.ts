import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

const writesOf = (events: readonly { kind: string; names?: readonly string[]; wrote?: boolean }[]): string[] =>
  events.flatMap((event) => (event.kind === 'committed' && event.wrote ? (event.names ?? []) : []));

check('a writing call costs exactly two commits of its own: one before the tool runs, one after', async (t) => {
  const { holdfast, counts } = await openDesk(t);
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool()] });
  counts.reset();
  const run = await agent.run('go');
  assert.equal(run.status, 'completed');
  const own = writesOf(counts.events).filter((name) => name.startsWith('calls.'));
  assert.deepEqual(own, ['calls.begin', 'calls.finish']);
});

check('a reading call costs no commit: its result goes with the next reply', async (t) => {
  const { holdfast, counts } = await openDesk(t);
  const agent = holdfast.agent({
    model: callsThenDone([{}, { id: 'other' }]),
    tools: [noteTool({ effect: 'read' })],
  });
  counts.reset();
  const run = await agent.run('go');
  assert.equal(run.view.calls.filter((call) => call.outcome?.state === 'done').length, 2);
  assert.deepEqual(
    writesOf(counts.events).filter((name) => name.startsWith('calls.')),
    [],
  );
});

check('the tool is invoked between the two commits, with the operation already on disk', async (t) => {
  const { holdfast, counts } = await openDesk(t);
  let committedBefore: readonly string[] = [];
  const model = callsThenDone([{}]);
  const spy = noteTool({
    execute: () => {
      committedBefore = writesOf(counts.events);
      return { ok: true };
    },
  });
  await holdfast.agent({ model, tools: [spy] }).run('go');
  assert.ok(committedBefore.includes('calls.begin'));
  assert.ok(!committedBefore.includes('calls.finish'));
});

check('a dispatch stays within a bounded number of statements', async (t) => {
  const { holdfast, counts } = await openDesk(t);
  await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool()] }).run('go');
  assert.ok(counts.statementsOf('calls.begin').length <= 11, String(counts.statementsOf('calls.begin').length));
  assert.ok(counts.statementsOf('calls.finish').length <= 9, String(counts.statementsOf('calls.finish').length));
});
