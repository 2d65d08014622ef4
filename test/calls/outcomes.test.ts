import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { NotDone, outcomeForModel } from '../../src/index.ts';
import { Principal } from '../../src/operations/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

async function outcomeOf(t: TestContext, given: Parameters<typeof noteTool>[0]) {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool(given)] }).run('go');
  const outcome = run.view.calls[0]?.outcome;
  assert.ok(outcome);
  return { run, outcome };
}

const throwing = (error: Error) => () => {
  throw error;
};

check('a valid output is done, reported and not verified', async (t) => {
  const { run, outcome } = await outcomeOf(t, {});
  assert.deepEqual(outcome, { state: 'done', output: { ok: true }, verified: false, settledBy: null });
  assert.equal(run.status, 'completed');
});

for (const [what, receipt] of [
  ['record', (output: unknown) => ({ receiptId: String((output as { customer: string }).customer) })],
  ['request', () => ({ downstreamRequestId: 'the one request' })],
] as const)
  check(
    `two calls of which the other side tells one and the same ${what} are both done, and audited as sound`,
    async (t) => {
      const { holdfast } = await openDesk(t);
      const upsert = noteTool({ effect: 'idempotent', execute: () => ({ customer: 'c-1' }), receipt });
      const model = callsThenDone([{ note: 'milk' }], [{ note: 'bread' }]);
      const run = await holdfast.agent({ model, tools: [upsert] }).run('go');
      assert.equal(run.status, 'completed');
      assert.deepEqual(
        run.view.calls.map(({ outcome }) => outcome?.state),
        ['done', 'done'],
      );
      assert.equal((await holdfast.runtime.operations.audit()).passed, true);
      const { operations } = await holdfast.runtime.operations.list(new Principal('local', 'owner'), { now: 1 });
      const [second, first] = operations.map(({ receipt: kept }) => kept);
      const told = (kept: typeof first) => (what === 'record' ? kept?.receiptId : kept?.downstreamRequestId);
      assert.deepEqual(
        [told(first), told(second)?.startsWith(what === 'record' ? 'receipt-' : 'request-')],
        [what === 'record' ? 'c-1' : 'the one request', true],
      );
    },
  );

check('NotDone is not_done, and the run goes on with the reason', async (t) => {
  const { run, outcome } = await outcomeOf(t, { execute: throwing(new NotDone('the paper is out')) });
  assert.equal(outcome.state, 'not_done');
  assert.match(run.text, /NOT DONE .*the paper is out/);
});

check('any other throw of a writing tool is unknown, and the run stops there', async (t) => {
  const { run, outcome } = await outcomeOf(t, { execute: throwing(new Error('socket hang up')) });
  assert.equal(outcome.state, 'unknown');
  assert.equal(run.status, 'failed');
  assert.equal(run.view.outcome, 'unknown');
});

check('whatever a tool throws is one outcome: a message that is no text, or that throws when it is read', async (t) => {
  const hostile = Object.defineProperty(new Error('x'), 'message', { get: throwing(new Error('no message for you')) });
  const odd = Object.defineProperty(new Error('x'), 'message', { value: { code: 7 } });
  const veiled = new Proxy({}, { getPrototypeOf: throwing(new Error('no class either')) });
  for (const thrown of [hostile, odd, veiled, undefined, Symbol('s'), { toString: throwing(new Error('nor text')) }]) {
    const execute = () => {
      throw thrown;
    };
    const written = await outcomeOf(t, { execute });
    assert.equal(written.outcome.state, 'unknown');
    assert.equal('code' in written.outcome && written.outcome.code, 'TOOL_THREW');
    assert.equal(written.run.status, 'failed');
    assert.equal((await outcomeOf(t, { execute, effect: 'read' })).outcome.state, 'failed');
  }
});

check('a throw is not_done where the tool promises that by onError', async (t) => {
  const { outcome } = await outcomeOf(t, { execute: throwing(new Error('refused')), onError: 'not_done' });
  assert.equal(outcome.state, 'not_done');
});

check('a tool that never answers is unknown after its time-out', async (t) => {
  const { outcome } = await outcomeOf(t, { execute: () => new Promise(() => undefined), timeoutMs: 30 });
  assert.equal(outcome.state, 'unknown');
  assert.equal('code' in outcome && outcome.code, 'TOOL_TIMED_OUT');
});

for (const [what, output] of [
  ['larger than its limit', { text: 'x'.repeat(70_000) }],
  ['of 100 MB', 'x'.repeat(100 * 1024 * 1024)],
  ['no JSON', { at: () => undefined }],
  ['deeper than its limit', JSON.parse(`${'['.repeat(30)}1${']'.repeat(30)}`) as unknown],
] as const)
  check(`an output that is ${what} makes a write unknown and a read failed`, async (t) => {
    const written = await outcomeOf(t, { execute: () => output });
    assert.equal(written.outcome.state, 'unknown');
    assert.equal('code' in written.outcome && written.outcome.code, 'TOOL_OUTPUT_INVALID');
    const read = await outcomeOf(t, { execute: () => output, effect: 'read' });
    assert.equal(read.outcome.state, 'failed');
  });

check('an output with a secret field is not kept anywhere', async (t) => {
  const { run, outcome } = await outcomeOf(t, { execute: () => ({ pin: 'hunter2-pin' }), secretFields: ['pin'] });
  assert.equal(outcome.state, 'unknown');
  assert.ok(!JSON.stringify(run.view).includes('hunter2-pin'));
});

check('a read that fails is failed, and the run goes on', async (t) => {
  const { run, outcome } = await outcomeOf(t, { execute: throwing(new Error('no such page')), effect: 'read' });
  assert.equal(outcome.state, 'failed');
  assert.equal(run.status, 'completed');
  assert.match(run.text, /FAILED .*no such page/);
});

check('after a lost answer the tool is asked at once, and what it says happened is done', async (t) => {
  const { run, outcome } = await outcomeOf(t, {
    effect: 'reconcilable',
    execute: throwing(new Error('connection reset')),
    status: () => ({ state: 'happened', output: { ok: true } }),
  });
  assert.deepEqual(outcome, { state: 'done', output: { ok: true }, verified: false, settledBy: 'status_query' });
  assert.equal(run.status, 'completed');
});

check('a tool that says "not happened" while its lease runs settles nothing', async (t) => {
  const { outcome } = await outcomeOf(t, {
    effect: 'reconcilable',
    execute: throwing(new Error('connection reset')),
    status: () => ({ state: 'not_happened' }),
  });
  assert.equal(outcome.state, 'unknown');
});

check('a precondition, a right and a schema refuse before anything is written, each with its code', async (t) => {
  const refusals = [
    [{ precondition: () => ({ refused: 'the shop is closed' }) }, 'BUSINESS_RULE_VIOLATION', /the shop is closed/],
    [{ authorize: () => false }, 'CALL_NOT_AUTHORIZED', /may not call/],
    [{ authorize: throwing(new Error('directory down')) }, 'CALL_NOT_AUTHORIZED', /may not call/],
  ] as const;
  for (const [given, code, text] of refusals) {
    let ran = 0;
    const { outcome } = await outcomeOf(t, { ...given, execute: () => void (ran += 1) });
    assert.equal(outcome.state, 'not_started');
    assert.equal('code' in outcome && outcome.code, code);
    assert.match(outcomeForModel(outcome), text);
    assert.equal(ran, 0);
  }
});

check('nothing behind an unknown outcome is started', async (t) => {
  const { holdfast } = await openDesk(t);
  const ran: string[] = [];
  const tool = noteTool({
    execute: ({ note }) => {
      ran.push(note);
      if (note === 'second') throw new Error('gone');
      return { ok: true };
    },
  });
  const model = callsThenDone([{ note: 'first' }, { note: 'second' }, { note: 'third' }]);
  const run = await holdfast.agent({ model, tools: [tool] }).run('go');
  assert.deepEqual(ran, ['first', 'second']);
  assert.deepEqual(
    run.view.calls.map((call) => call.outcome?.state ?? null),
    ['done', 'unknown', null],
  );
  assert.equal(run.status, 'failed');
});

check('a stop leaves what had started unknown, and starts nothing more', async (t) => {
  const { holdfast } = await openDesk(t);
  const started = Promise.withResolvers<string>();
  const tool = noteTool({
    execute: async (_input, call) => {
      started.resolve(call.runId ?? '');
      await sleep(60_000, undefined, { signal: call.signal }).catch(() => undefined);
      return { ok: true };
    },
  });
  const running = holdfast.agent({ model: callsThenDone([{}, { id: 'never' }]), tools: [tool] }).run('go');
  await holdfast.runtime.runs.stop(holdfast.runtime.principal, await started.promise);
  const run = await running;
  assert.equal(run.view.outcome, 'unknown');
  assert.deepEqual(
    run.view.calls.map((call) => call.outcome?.state ?? null),
    ['unknown', null],
  );
});

check('a reason is one sentence of what the model is told, whoever wrote it', () => {
  const told = (reason: string) =>
    outcomeForModel({ state: 'not_started', code: 'CALL_PAUSED', reason, resolve: 'Wait.' });
  assert.equal(told('an operator paused it'), 'NOT STARTED (CALL_PAUSED): an operator paused it. Nothing was run.');
  assert.equal(told('It is paused.'), 'NOT STARTED (CALL_PAUSED): It is paused. Nothing was run.');
});

check(
  'what `status` and `observe` answer may throw when it is read: it settles nothing, and proves nothing',
  async (t) => {
    const hostile = () =>
      Object.defineProperty({ coverage: 'full' }, 'state', { get: throwing(new Error('not to be read')) });
    const asked = await outcomeOf(t, {
      effect: 'reconcilable',
      execute: throwing(new Error('lost')),
      status: hostile as never,
    });
    assert.equal(asked.outcome.state, 'unknown');
    assert.equal(asked.run.status, 'failed');
    const veiled = () => new Proxy([], { get: throwing(new Error('not to be read')) });
    const seen = await outcomeOf(t, { execute: () => ({ ok: true }), observe: veiled as never });
    assert.deepEqual([seen.outcome.state, 'verified' in seen.outcome && seen.outcome.verified], ['done', false]);
  },
);

check(
  'a sign of life that is none, or that comes when the call is over, is shown to nobody and harms no call',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const shown: unknown[] = [];
    let late = (): void => undefined;
    const unreadable = new Proxy({}, { get: () => assert.fail('not to be read') });
    const tool = noteTool({
      execute: (_input, call) => {
        const odd = [null, 5, {}, { done: '1' }, unreadable];
        for (const update of [...odd, { done: 1, total: 'all', text: 7 }, { done: 2, total: 3, text: 'half', more: 1 }])
          call.progress(update as never);
        late = () => call.progress({ done: 3 });
        return { ok: true };
      },
    });
    const listener = { onProgress: (_callId: string, update: unknown) => void shown.push(update) };
    const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [tool] }).run('go', { listener });
    late();
    assert.equal(run.view.calls[0]?.outcome?.state, 'done');
    assert.deepEqual(shown, [{ done: 1 }, { done: 2, total: 3, text: 'half' }]);
  },
);
