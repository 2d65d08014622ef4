import { type Run, ValidationError } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';

/** What somebody might give by mistake, and for which of these it is right. */
const VALUES = { null: null, number: 7, text: 'some text', flag: false, list: [], object: {}, nothing: undefined };
type Kind = keyof typeof VALUES;

const wrongFor = (...right: readonly Kind[]): readonly unknown[] =>
  Object.entries(VALUES).flatMap(([kind, value]) => (right.includes(kind as Kind) ? [] : [value]));

async function assertRefused(name: string, values: readonly unknown[], decide: (value: unknown) => Promise<unknown>) {
  for (const value of values)
    await assert.rejects(
      decide(value),
      (error: unknown) =>
        error instanceof ValidationError &&
        error.code === 'INVALID_VALUE' &&
        error.message.includes(`\`${name}\``) &&
        !error.message.includes('some text'),
      `${name} as ${String(value)}`,
    );
}

check('a decision of a wrong shape is refused by the name of what is wrong, and nothing is decided', async (t) => {
  const { holdfast } = await openDesk(t);
  let ran = 0;
  const execute = () => ({ ran: (ran += 1) });
  const tools = [noteTool({ needsApproval: true, editable: ['note'], execute })];
  const run = await holdfast.agent({ name: 'clerk', model: callsThenDone([{}]), tools }).run('go');
  const [request] = run.pending;
  assert.ok(request);
  const { requestId, digest } = request;
  const { approvals, principal } = holdfast.runtime;
  const said = { requestId, digest, decision: 'approve' };
  const decide = (field: string) => (value: unknown) =>
    approvals.decide(principal, [{ ...said, [field]: value }] as never);
  await assertRefused('editedArguments', wrongFor('object', 'nothing'), decide('editedArguments'));
  await assertRefused('message', wrongFor('text', 'nothing'), decide('message'));
  await assertRefused('decision', wrongFor(), decide('decision'));
  await assertRefused('requestId', wrongFor('text'), decide('requestId'));
  await assertRefused('digest', wrongFor('text'), decide('digest'));
  await assertRefused('decisions', wrongFor('list'), (value) => approvals.decide(principal, value as never));
  await assertRefused('approvals.decide', wrongFor('object'), (value) => approvals.decide(principal, [value] as never));

  const approve = (edit: unknown) => run.approve(request, edit as never);
  await assertRefused('edit.editedArguments', wrongFor('object'), (value) => approve({ editedArguments: value }));
  await assertRefused('edit.editedArguments', [{}, { arguments: { note: 'tea' } }], approve);
  await assertRefused('edit', wrongFor('object', 'nothing'), approve);
  await assertRefused('message', wrongFor('text', 'nothing'), (value) => run.reject(request, value as never));
  for (const verb of ['approve', 'reject'] as const) {
    const of = (value: unknown): Promise<Run> => run[verb](value as never);
    await assertRefused('request', wrongFor('object', 'nothing'), of);
    await assertRefused('request.requestId', [{ digest }], of);
    await assertRefused('request.digest', [{ requestId, digest: null }], of);
  }
  await run.refresh();
  assert.deepEqual([run.pending.length, ran], [1, 0]);
  await run.approve(request, { editedArguments: { note: 'tea' }, decision: 'reject' } as never);
  assert.deepEqual([run.status, ran], ['completed', 1]);
});
