// A stop says the truth wherever it meets a run: in a pause, before its first line, in the middle of a reply, in a tool.
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../src/core/index.ts';
import { type Holdfast, type Model, type ModelEvent, type ModelFunction } from '../../src/index.ts';
import { listTickets } from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

async function newest({ runtime }: Holdfast): Promise<string> {
  const { items } = await runtime.runs.list(runtime.principal, { limit: 1 });
  return items[0]?.runId ?? '';
}

const stop = async (by: Holdfast, runId: string) => by.runtime.runs.stop(by.runtime.principal, runId);

check('in the pause before a failing model is asked again: stopped at once, and asked no more', async (t) => {
  const { holdfast } = await openDesk(t);
  const pausing = Promise.withResolvers<void>();
  let asked = 0;
  const model: Model = {
    id: 'failing',
    async *turn(): AsyncGenerator<ModelEvent> {
      asked += 1;
      yield { type: 'text', text: 'half' };
      throw fail('MODEL_FAILED', 'No.');
    },
  };
  const retries = { most: 3, pauseMs: 60_000 };
  const going = holdfast.agent({ model, retries, listener: { onRetry: () => pausing.resolve() } }).run('go');
  await pausing.promise;
  assert.equal((await stop(holdfast, await newest(holdfast))).state.status, 'stopped');
  const run = await going;
  assert.equal(run.status, 'stopped');
  assert.equal(run.text, '');
  assert.equal(asked, 1);
});

check(
  'while it waits for its session’s pen: stopped with nothing begun, and its place in the queue given back',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const { histories, principal, store } = holdfast.runtime;
    let asked = 0;
    const agent = holdfast.agent({ model: () => String((asked += 1)) });
    const first = await agent.run('go');
    const rootFrameId = first.view.sessionId;
    const { holdfast: other } = await openDesk(t, { dataDir });
    for (const by of [holdfast, other]) {
      const held = Promise.withResolvers<void>();
      const holding = histories.pen.hold(
        principal,
        rootFrameId,
        { owner: 'a test', reason: 'a test' },
        () => held.promise,
      );
      await sleep(50);
      const going = agent.run('again', { rootFrameId });
      while ((await newest(holdfast)) === first.id) await sleep(10);
      const runId = await newest(holdfast);
      await stop(by, runId);
      assert.equal((await going).status, 'stopped');
      const tickets = await store.read('test', (tx) => listTickets(tx, principal, rootFrameId));
      assert.deepEqual(
        tickets.map(({ owner }) => owner),
        ['a test'],
      );
      held.resolve();
      await holding;
    }
    assert.equal(asked, 1);
  },
);

check(
  'in the middle of a reply: what was heard of it is not kept, whether or not the model heeds the stop',
  async (t) => {
    for (const heeds of [true, false]) {
      const { holdfast } = await openDesk(t);
      const heard = Promise.withResolvers<void>();
      const model: Model = {
        id: 'streaming',
        async *turn({ signal }): AsyncGenerator<ModelEvent> {
          yield { type: 'text', text: 'half of ' };
          await sleep(heeds ? 60_000 : 1500, undefined, heeds ? { signal } : {});
          yield { type: 'text', text: 'it' };
          yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
        },
      };
      const going = holdfast.agent({ model, listener: { onText: () => heard.resolve() } }).run('go');
      await heard.promise;
      assert.equal((await stop(holdfast, await newest(holdfast))).state.status, 'stopped');
      const run = await going;
      assert.deepEqual([run.status, run.text, run.view.turnsUsed], ['stopped', '', 0]);
      await assert.rejects(run.resume(), { code: 'RUN_ENDED' });
    }
  },
);

/** A tool that has begun and goes on for ever, or until it is told; deaf to the stop. */
function deaf() {
  const begun = Promise.withResolvers<void>();
  const end = Promise.withResolvers<{ ok: boolean }>();
  const execute = (): Promise<{ ok: boolean }> => {
    begun.resolve();
    return end.promise;
  };
  return { begun: begun.promise, end: () => end.resolve({ ok: true }), execute };
}

check('in a tool: a write is unknown and stays so when its late answer comes, a read is stopped', async (t) => {
  for (const [effect, status, outcome, state] of [
    ['once', 'failed', 'unknown', 'unknown'],
    ['idempotent', 'failed', 'unknown', 'unknown'],
    ['read', 'stopped', null, 'failed'],
  ] as const) {
    const { holdfast } = await openDesk(t);
    const { begun, end, execute } = deaf();
    const going = holdfast.agent({ model: callsThenDone([{}, {}]), tools: [noteTool({ effect, execute })] }).run('go');
    await begun;
    await stop(holdfast, await newest(holdfast));
    const run = await going;
    assert.deepEqual([run.status, run.view.outcome], [status, outcome]);
    assert.equal(run.view.calls[0]?.outcome?.state, state);
    end();
    await sleep(50);
    await run.refresh();
    assert.equal(run.view.calls[0]?.outcome?.state, state);
    if (effect !== 'read') assert.equal(run.view.calls[1]?.outcome ?? null, null, 'nothing behind it was started');
  }
});

check('in a tool that can be asked: the stop asks, and tells what happened', async (t) => {
  for (const [answer, status, state] of [
    ['happened', 'stopped', 'done'],
    ['not_happened', 'failed', 'unknown'],
  ] as const) {
    const { holdfast } = await openDesk(t);
    const { begun, execute } = deaf();
    const said =
      answer === 'happened' ? ({ state: answer, output: { ok: true } } as const) : ({ state: answer } as const);
    const tools = [noteTool({ effect: 'reconcilable', execute, status: () => said })];
    const going = holdfast.agent({ model: callsThenDone([{}]), tools }).run('go');
    await begun;
    await stop(holdfast, await newest(holdfast));
    const run = await going;
    assert.equal(run.status, status);
    assert.equal(run.view.calls[0]?.outcome?.state, state);
  }
});

check(
  'of calls side by side each is told as it is, and a run of another instance stops at its next step',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const { begun, execute } = deaf();
    let seen = 0;
    const tools = [
      noteTool({ name: 'quick', effect: 'read', execute: () => ({ seen: (seen += 1) }) }),
      noteTool({ name: 'slow', effect: 'read', execute }),
    ];
    const model: ModelFunction = callsThenDone([{ name: 'quick' }, { name: 'slow' }]);
    const going = holdfast.agent({ model, tools }).run('go');
    await begun;
    const { holdfast: other } = await openDesk(t, { dataDir });
    assert.equal((await stop(other, await newest(holdfast))).state.status, 'running', 'it was only asked');
    const run = await going;
    assert.equal(run.status, 'stopped');
    assert.deepEqual(
      run.view.calls.map(({ outcome }) => outcome?.state),
      ['done', 'failed'],
    );
    assert.equal(seen, 1);
  },
);
