import { setTimeout as sleep } from 'node:timers/promises';
import { pause } from '../../src/app/index.ts';
import { NotDone, type ToolDefinition } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, type noteSchema, noteTool, openDesk } from './desk.ts';

type Execute = ToolDefinition<typeof noteSchema>['execute'];

/** Throws so many times before it answers; `keys` are those that it was given. */
function failing(times: number, error: () => Error = () => new Error('busy')) {
  const keys: string[] = [];
  const execute: Execute = (_input, { idempotencyKey }) => {
    keys.push(idempotencyKey);
    if (keys.length <= times) throw error();
    return { ok: true };
  };
  return { keys, execute };
}

const retry = { most: 3, pauseMs: 1 };
const model = () => callsThenDone([{}]);

for (const effect of ['read', 'idempotent'] as const) {
  check(`a ${effect} that declares it is invoked again under one key, counted and told`, async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const { keys, execute } = failing(2);
    const heard: unknown[] = [];
    const listener = { onCallRetry: (...told: unknown[]) => void heard.push(told.slice(0, 3)) };
    const tools = [noteTool({ effect, retry, execute })];
    const run = await holdfast.agent({ model: model(), tools, listener }).run('go');
    assert.equal(run.status, 'completed');
    assert.equal(new Set(keys).size, 1);
    assert.equal(keys.length, 3);
    const name = 'take_note';
    assert.deepEqual(heard, [
      ['call-0-0', name, 1],
      ['call-0-0', name, 2],
    ]);
    assert.equal(run.view.calls[0]?.retries, 2);
    await holdfast.close();
    const { holdfast: later } = await openDesk(t, { dataDir });
    const agent = later.agent({ model: model(), tools });
    await assert.rejects(agent.resume(run.id), { code: 'RUN_ENDED' });
  });

  check(
    `a ${effect} is invoked no more often than it declares, and not at all again without a declaration`,
    async (t) => {
      const { holdfast } = await openDesk(t);
      for (const [name, declared, times] of [
        ['declared', { retry }, 4],
        ['silent', {}, 1],
      ] as const) {
        const { keys, execute } = failing(9);
        const agent = holdfast.agent({
          name,
          model: callsThenDone([{ name }]),
          tools: [noteTool({ name, effect, execute, ...declared })],
        });
        const run = await agent.run('go');
        assert.equal(keys.length, times);
        const outcome = run.view.calls[0]?.outcome;
        assert.equal(outcome?.state, effect === 'read' ? 'failed' : 'unknown');
        if (times > 1) assert.match(outcome && 'reason' in outcome ? outcome.reason : '', /tried 4 times/);
      }
    },
  );
}

check(
  'what says that it was not done is not invoked again, and after a throw that is no proof for the throw',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const sure = failing(9, () => new NotDone('There is no such customer.'));
    const first = noteTool({ name: 'sure', effect: 'idempotent', retry, execute: sure.execute });
    const run = await holdfast.agent({ name: 'a', model: callsThenDone([{ name: 'sure' }]), tools: [first] }).run('go');
    assert.equal(sure.keys.length, 1);
    assert.equal(run.view.calls[0]?.outcome?.state, 'not_done');
    let asked = 0;
    const execute: Execute = () => {
      throw (asked += 1) === 1 ? new Error('busy') : new NotDone('Not this time.');
    };
    const unsure = noteTool({ name: 'unsure', effect: 'idempotent', retry, execute });
    const other = await holdfast
      .agent({ name: 'b', model: callsThenDone([{ name: 'unsure' }]), tools: [unsure] })
      .run('go');
    assert.equal(other.view.calls[0]?.outcome?.state, 'unknown');
    const promised = noteTool({
      name: 'promised',
      effect: 'idempotent',
      retry,
      onError: 'not_done',
      execute: failing(9).execute,
    });
    const third = await holdfast
      .agent({ name: 'c', model: callsThenDone([{ name: 'promised' }]), tools: [promised] })
      .run('go');
    assert.equal(third.view.calls[0]?.outcome?.state, 'not_done');
  },
);

check('one that gives no answer in time is invoked again; any answer, a wrong one too, is not', async (t) => {
  const { holdfast } = await openDesk(t);
  let asked = 0;
  const execute: Execute = async (_input, { signal }) => {
    if ((asked += 1) === 1) await sleep(60_000, undefined, { signal });
    return { ok: asked };
  };
  const slow = noteTool({ name: 'slow', effect: 'idempotent', retry, timeoutMs: 30, execute });
  const run = await holdfast.agent({ name: 'a', model: callsThenDone([{ name: 'slow' }]), tools: [slow] }).run('go');
  assert.match(run.text, /"ok":2/);
  let answered = 0;
  const outputSchema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] };
  const wrong = noteTool({ name: 'wrong', effect: 'idempotent', retry, outputSchema, execute: () => (answered += 1) });
  const second = await holdfast
    .agent({ name: 'b', model: callsThenDone([{ name: 'wrong' }]), tools: [wrong] })
    .run('go');
  assert.equal(second.view.calls[0]?.outcome?.state, 'unknown');
  assert.equal(answered, 1);
});

check('a stop in the pause is obeyed: nothing is sent again, and the outcome is what is known', async (t) => {
  for (const [effect, state] of [
    ['read', 'failed'],
    ['idempotent', 'unknown'],
  ] as const) {
    const { holdfast } = await openDesk(t);
    const { keys, execute } = failing(9);
    const pausing = Promise.withResolvers<void>();
    const tools = [noteTool({ effect, retry: { most: 3, pauseMs: 60_000 }, execute })];
    const agent = holdfast.agent({ model: model(), tools, listener: { onCallRetry: () => pausing.resolve() } });
    const going = agent.run('go');
    await pausing.promise;
    const { runs, principal } = holdfast.runtime;
    const [record] = (await runs.list(principal, { limit: 1 })).items;
    const stopped = await runs.stop(principal, record?.runId ?? '');
    assert.equal(stopped.state.status, effect === 'read' ? 'stopped' : 'failed');
    const run = await going;
    assert.equal(run.view.calls[0]?.outcome?.state, state);
    assert.equal(run.view.outcome, effect === 'read' ? null : 'unknown');
    assert.equal(keys.length, 1);
  }
});

check('nothing is sent again while writes are paused, or once whoever asked may no longer', async (t) => {
  const { holdfast } = await openDesk(t);
  let may = true;
  const gone = failing(9);
  const tool = noteTool({
    effect: 'idempotent',
    retry,
    authorize: () => may,
    execute: (input, call) => {
      may = false;
      return gone.execute(input, call);
    },
  });
  const run = await holdfast.agent({ name: 'a', model: model(), tools: [tool] }).run('go');
  assert.equal(gone.keys.length, 1);
  assert.equal(run.view.calls[0]?.outcome?.state, 'unknown');
  const paused = failing(9);
  const { store } = holdfast.runtime;
  const other = noteTool({
    name: 'other',
    effect: 'idempotent',
    retry,
    execute: async (input, call) => {
      await pause(store, 'a test');
      return paused.execute(input, call);
    },
  });
  await holdfast.agent({ name: 'b', model: callsThenDone([{ name: 'other' }]), tools: [other] }).run('go');
  assert.equal(paused.keys.length, 1);
});

check('retries are refused where a repetition could do it twice, and beyond their bounds', () => {
  for (const given of [
    { effect: 'once', retry },
    { effect: 'reconcilable', retry, status: () => ({ state: 'unknown' }) },
    { effect: 'read', retry: { most: 0 } },
    { effect: 'read', retry: { most: 11 } },
    { effect: 'read', retry: { most: 1, pauseMs: 60_001 } },
    { effect: 'read', retry: { pauseMs: 1 } },
    { effect: 'read', retry: { most: 1, more: 1 } },
    { effect: 'read', retry: { most: 10 }, timeoutMs: 100_000 },
  ])
    assert.throws(() => noteTool(given as never), { code: 'TOOL_INVALID' });
  assert.deepEqual(noteTool({ effect: 'read', retry: { most: 10 } }).retry, { most: 10, pauseMs: 200 });
});

check('nothing is sent again once another process has stopped the run, however soon', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { holdfast: other } = await openDesk(t, { dataDir });
  const { keys, execute } = failing(9);
  const tool = noteTool({
    effect: 'idempotent',
    retry,
    execute: async (input, call) => {
      await other.runtime.runs.stop(other.runtime.principal, call.runId ?? '');
      return execute(input, call);
    },
  });
  const run = await holdfast.agent({ model: model(), tools: [tool] }).run('go');
  assert.equal(keys.length, 1);
  assert.equal(run.view.calls[0]?.outcome?.state, 'unknown');
});

check('what a listener throws while a call is under way takes nothing of the call with it', async (t) => {
  const { holdfast } = await openDesk(t);
  const { execute, keys } = failing(1);
  const listener = {
    onProgress: () => {
      throw new Error('nobody looks any more');
    },
    onCallRetry: () => {
      throw new Error('nobody looks any more');
    },
  };
  const told: Execute = (input, call) => {
    call.progress({ done: 1 });
    return execute(input, call);
  };
  const tools = [noteTool({ effect: 'idempotent', retry, execute: told })];
  const run = await holdfast.agent({ model: model(), tools, listener }).run('go');
  assert.deepEqual([run.view.calls[0]?.outcome?.state, keys.length], ['done', 2]);
});
