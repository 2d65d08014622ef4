import { pause, unpause } from '../../src/app/index.ts';
import { type Policy, type PolicySet, putRule } from '../../src/approvals/index.ts';
import { isJsonObject } from '../../src/core/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

check('a writing tool that says nothing about approval waits for a person', async (t) => {
  const { holdfast } = await openDesk(t);
  const { needsApproval: _said, ...silent } = { needsApproval: undefined };
  const tool = noteTool({ ...silent, needsApproval: undefined as never });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  assert.equal(run.status, 'waiting_confirmation');
  assert.equal(run.pending.length, 1);
});

check('nothing of a reply runs while one of its calls waits, and order is kept afterwards', async (t) => {
  const { holdfast } = await openDesk(t);
  const ran: string[] = [];
  const note = (name: string, needsApproval: boolean) =>
    noteTool({ name, needsApproval, execute: ({ note: text }) => ({ at: ran.push(text) }) });
  const model = callsThenDone([
    { name: 'dangerous', note: 'first' },
    { name: 'safe', note: 'second' },
  ]);
  const run = await holdfast.agent({ model, tools: [note('dangerous', true), note('safe', false)] }).run('go');
  assert.deepEqual(ran, []);
  await run.approve(run.pending[0]);
  assert.deepEqual(ran, ['first', 'second']);
  assert.equal(run.status, 'completed');
});

check('what is decided first runs no sooner than the last call of its reply is decided', async (t) => {
  const { holdfast } = await openDesk(t);
  const ran: string[] = [];
  const tool = noteTool({ needsApproval: true, execute: ({ note: text }) => ({ at: ran.push(text) }) });
  const model = callsThenDone([{ note: 'first' }, { note: 'second' }]);
  const agent = holdfast.agent({ model, tools: [tool] });
  const run = await agent.run('go');
  const [first, second] = run.pending;
  await run.approve(first);
  await agent.resume(run.id).catch(() => undefined);
  assert.deepEqual([ran, (await run.refresh()).status], [[], 'waiting_confirmation']);
  await run.approve(second);
  assert.deepEqual([ran, run.status], [['first', 'second'], 'completed']);
});

check('a rejected call does not run, its neighbours do, and the model reads the reason', async (t) => {
  const { holdfast } = await openDesk(t);
  const ran: string[] = [];
  const note = (name: string, needsApproval: boolean) =>
    noteTool({ name, needsApproval, execute: ({ note: text }) => ({ at: ran.push(text) }) });
  const model = callsThenDone([
    { name: 'safe', note: 'second' },
    { name: 'dangerous', note: 'first' },
  ]);
  const run = await holdfast.agent({ model, tools: [note('dangerous', true), note('safe', false)] }).run('go');
  await run.reject(run.pending[0], 'not today');
  assert.deepEqual(ran, ['second']);
  assert.match(run.text, /NOT STARTED \(APPROVAL_DENIED\).*not today/);
});

check('what the business rule refuses is never asked of a person', async (t) => {
  const { holdfast } = await openDesk(t);
  const tool = noteTool({ needsApproval: true, precondition: () => ({ refused: 'closed on Sundays' }) });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go');
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.pending, []);
  assert.match(run.text, /closed on Sundays/);
});

check('a repeat of what is unknown is refused, naming what settles it', async (t) => {
  const { holdfast } = await openDesk(t);
  let sent = 0;
  const tool = noteTool({
    execute: () => {
      sent += 1;
      throw new Error('connection reset');
    },
  });
  const agent = holdfast.agent({ model: callsThenDone([{}], [{ id: 'again' }]), tools: [tool] });
  const first = await agent.run('go');
  assert.equal(first.view.outcome, 'unknown');
  const second = await agent.run('again', { rootFrameId: first.view.sessionId });
  const outcome = second.view.calls[0]?.outcome;
  assert.equal(outcome?.state, 'not_started');
  assert.equal('code' in outcome && outcome.code, 'UNRESOLVED_TWIN');
  assert.match(
    'resolve' in outcome ? outcome.resolve : '',
    /holdfast operations settle status_[0-9a-f]{32} --done\|--not-done --reason TEXT$/,
  );
  assert.equal(sent, 1);
});

check(
  'a repeat of what an approver edited, and nobody knows of, is refused as it was proposed and as it ran',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const sent: unknown[] = [];
    const execute = (input: unknown) => {
      sent.push(input);
      throw new Error('connection reset');
    };
    const tool = noteTool({ needsApproval: true, editable: ['note'], execute });
    const model: ModelFunction = (request) =>
      callsThenDone([{ note: request.messages.find(({ role }) => role === 'user')?.text ?? '' }])(request);
    const agent = holdfast.agent({ model, tools: [tool] });
    const asked = (note: string) => agent.run(note);
    const first = await asked('milk');
    await first.approve(first.pending[0], { editedArguments: { note: 'oat milk' } });
    const [unknown] = first.view.calls;
    assert.equal(unknown?.outcome?.state, 'unknown');
    const again = async (note: string, edited?: string) => {
      const run = await asked(note);
      await run.approve(run.pending[0], edited === undefined ? undefined : { editedArguments: { note: edited } });
      const outcome = run.view.calls[0]?.outcome;
      return outcome && 'code' in outcome ? outcome.code : outcome?.state;
    };
    assert.equal(await again('milk'), 'UNRESOLVED_TWIN', 'as it was proposed');
    assert.equal(await again('oat milk'), 'UNRESOLVED_TWIN', 'as it ran');
    assert.equal(await again('milk', 'soy milk'), 'UNRESOLVED_TWIN', 'edited otherwise');
    assert.equal(await again('tea', 'milk'), 'UNRESOLVED_TWIN', 'edited into it');
    assert.deepEqual(sent, [{ note: 'oat milk' }]);
    assert.equal(await again('tea'), 'TOOL_THREW', 'another call');
  },
);

check('no write starts while writes are paused, reads go on, and unpausing lets them start', async (t) => {
  const { holdfast } = await openDesk(t);
  await pause(holdfast.runtime.store, 'the books are being closed');
  const read = noteTool({ name: 'look', effect: 'read' });
  const model = callsThenDone([{ name: 'look' }, { id: 'write' }], [{ id: 'later' }]);
  const agent = holdfast.agent({ model, tools: [noteTool(), read] });
  const run = await agent.run('go');
  assert.deepEqual(
    run.view.calls.map((call) => call.outcome && 'code' in call.outcome && call.outcome.code),
    [false, 'CALL_PAUSED', 'CALL_PAUSED'],
  );
  await unpause(holdfast.runtime.store);
  const after = await holdfast.agent({ name: 'later', model: callsThenDone([{}]), tools: [] }).run('go');
  assert.equal(after.status, 'completed');
});

check(
  'a deny rule beats the tool that allows itself; an allow by a person for that exact tool lowers its ask',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const { runtime } = holdfast;
    const rule = (tool: string, decision: 'allow' | 'deny') =>
      runtime.store.write('test.rule', (tx) =>
        putRule(tx, runtime.calls.sessions, runtime.principal, { scope: 'global', tool, pattern: '**', decision }),
      );
    await rule('free', 'deny');
    await rule('asking', 'allow');
    const tools = [noteTool({ name: 'free', needsApproval: false }), noteTool({ name: 'asking', needsApproval: true })];
    const model = callsThenDone([{ name: 'free' }, { name: 'asking' }]);
    const run = await holdfast.agent({ model, tools }).run('go');
    assert.deepEqual(
      run.view.calls.map((call) => call.outcome?.state),
      ['not_started', 'done'],
    );
  },
);

for (const [said, decision, given, code] of [
  ['denies a call that a person has approved', 'deny', true, 'POLICY_DENIED'],
  ['denies a call that nobody had to approve', 'deny', false, 'POLICY_DENIED'],
  ['holds a call that nobody had to approve', 'ask', false, 'APPROVAL_REQUIRED'],
] as const)
  check(`a rule that is made after a call was let through ${said}, as long as it has not begun`, async (t) => {
    const { holdfast } = await openDesk(t);
    const { runtime } = holdfast;
    const ran: string[] = [];
    const rule = { scope: 'global', tool: 'late', pattern: '**', decision } as const;
    const first = noteTool({
      name: 'first',
      execute: async () => {
        await runtime.store.write('test.rule', (tx) => putRule(tx, runtime.calls.sessions, runtime.principal, rule));
        return { ok: true };
      },
    });
    const late = noteTool({ name: 'late', needsApproval: given, execute: ({ note }) => ({ at: ran.push(note) }) });
    const model = callsThenDone([{ name: 'first' }, { name: 'late' }]);
    const run = await holdfast.agent({ model, tools: [first, late] }).run('go');
    if (given) await run.approve(run.pending[0]);
    const outcome = run.view.calls[1]?.outcome;
    assert.deepEqual([ran, run.view.calls[0]?.outcome?.state, outcome?.state], [[], 'done', 'not_started']);
    assert.equal(outcome && 'code' in outcome && outcome.code, code);
  });

check('a call that rests on an allow which is dropped before it begins is held after all', async (t) => {
  const { holdfast } = await openDesk(t);
  const { rules } = holdfast;
  const ran: string[] = [];
  const { ruleId } = await rules.put({ decision: 'allow', tool: 'late' });
  const first = noteTool({
    name: 'first',
    execute: async () => {
      await rules.drop(ruleId);
      return { ok: true };
    },
  });
  const late = noteTool({ name: 'late', needsApproval: true, execute: ({ note }) => ({ at: ran.push(note) }) });
  const model = callsThenDone([{ name: 'first' }, { name: 'late' }], [{ name: 'late', id: 'again' }]);
  const run = await holdfast.agent({ model, tools: [first, late] }).run('go');
  const outcome = run.view.calls[1]?.outcome;
  assert.equal(outcome && 'code' in outcome && outcome.code, 'APPROVAL_REQUIRED');
  assert.deepEqual([ran, run.status, run.pending.length], [[], 'waiting_confirmation', 1]);
});

check('five hundred, malformed, unknown and doubled calls: each a clear code, nothing run', async (t) => {
  const { holdfast } = await openDesk(t);
  const tools = [noteTool()];
  const endings = [
    [Array.from({ length: 500 }, (_, i) => ({ id: `c-${i}` })), /MODEL_REPLY_TOO_LARGE/],
    [[{ id: 'same' }, { id: 'same' }], /MODEL_REPLY_INVALID/],
  ] as const;
  for (const [i, [reply, code]] of endings.entries()) {
    const run = await holdfast
      .agent({ name: `a${i}`, model: callsThenDone(reply), tools: i === 0 ? tools : tools })
      .run('go');
    assert.equal(run.status, 'failed');
    assert.match(JSON.stringify(await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id)), code);
  }
  const odd = await holdfast
    .agent({
      name: 'odd',
      tools,
      model: ({ messages }) =>
        messages.some((message) => message.role === 'tool')
          ? 'done'
          : {
              calls: [
                { callId: 'a', toolName: 'take_note', arguments: '{"note": ' },
                { callId: 'b', toolName: 'no_such_tool', arguments: {} },
                { callId: 'c', toolName: 'take_note', arguments: `{"note":"${'x'.repeat(80_000)}"}` },
              ],
            },
    })
    .run('go');
  assert.deepEqual(
    odd.view.calls.map((call) => call.outcome && 'code' in call.outcome && call.outcome.code),
    ['TOOL_ARGUMENTS_INVALID', 'TOOL_UNKNOWN', 'TOOL_ARGUMENTS_INVALID'],
  );
});

check('a policy that changes what it was shown changes nothing of the call', async (t) => {
  const seen: unknown[] = [];
  const decide: Policy['decide'] = ({ arguments: shown }) => {
    if (!isJsonObject(shown)) return 'deny';
    seen.push(shown['note']);
    shown['note'] = 'poison';
    return 'allow';
  };
  const policies: PolicySet = { policies: [{ name: 'rude', revision: '1', decide }], mode: 'enforce' };
  const { holdfast } = await openDesk(t, { policies });
  const taken: string[] = [];
  const tool = noteTool({ execute: ({ note }) => ({ at: taken.push(note) }) });
  const { view } = await holdfast.agent({ model: callsThenDone([{ note: 'milk' }]), tools: [tool] }).run('go');
  assert.ok(seen.length > 0);
  assert.deepEqual([new Set(seen), taken], [new Set(['milk']), ['milk']]);
  assert.deepEqual(
    view.calls.map(({ argumentsText, outcome }) => [argumentsText, outcome?.state]),
    [['{"note":"milk"}', 'done']],
  );
});
