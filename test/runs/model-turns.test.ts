import { fail } from '../../src/core/index.ts';
import { functionModel, type Model, type ModelEvent, type ModelFunction } from '../../src/index.ts';
import { assert, check } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const retries = { most: 3, pauseMs: 1 };

/** Fails so many times in each turn before it answers; `asked` counts every attempt. */
function failing(times: number, answer: ModelFunction, error: () => Error = () => fail('MODEL_FAILED', 'No.')) {
  const seen = { asked: 0 };
  let left = times;
  const model: Model = {
    id: 'failing',
    async *turn(request): AsyncGenerator<ModelEvent> {
      seen.asked += 1;
      yield { type: 'text', text: 'half a ' };
      if (left > 0) {
        left -= 1;
        throw error();
      }
      left = times;
      yield* functionModel(answer).turn(request);
    },
  };
  return { model, seen };
}

check('a model that fails is asked again, its half reply is not kept, and no call is made twice', async (t) => {
  const { holdfast } = await openDesk(t);
  const { model, seen } = failing(3, callsThenDone([{}]));
  const heard: (number | string)[] = [];
  let ran = 0;
  const tool = noteTool({ execute: () => ({ ran: (ran += 1) }) });
  const listener = { onRetry: (attempt: number) => void heard.push(attempt) };
  const run = await holdfast.agent({ model, tools: [tool], retries, listener }).run('go');
  assert.equal(run.status, 'completed');
  assert.equal(run.text, 'half a told: {"ran":1}');
  assert.deepEqual(heard, [1, 2, 3, 1, 2, 3]);
  assert.equal(seen.asked, 8);
  assert.equal(run.view.turnsUsed, 2);
});

check('after its retries a failing model ends the run as failed, to be resumed', async (t) => {
  const { holdfast } = await openDesk(t);
  const { model, seen } = failing(4, () => 'hello');
  const run = await holdfast.agent({ model, retries }).run('go');
  assert.equal(run.status, 'failed');
  assert.equal(seen.asked, 4);
  await run.resume();
  assert.equal(run.status, 'completed');
});

check(
  'a request that the provider calls wrong is not asked again, and a connection that failed or broke is',
  async (t) => {
    const { holdfast } = await openDesk(t);
    for (const [statusCode, asked] of [
      [400, 1],
      [401, 1],
      [429, 4],
      [503, 4],
      // A connection that was refused, and a stream that broke after its head: AI SDK errors have both fields all the same.
      [undefined, 4],
      [200, 4],
    ] as const) {
      const refuse = (): Error => fail('MODEL_FAILED', 'No.', { cause: Object.assign(new Error('x'), { statusCode }) });
      const { model, seen } = failing(9, () => 'hello', refuse);
      const run = await holdfast.agent({ name: `a${statusCode}`, model, retries }).run('go');
      assert.equal(run.status, 'failed');
      assert.equal(seen.asked, asked, String(statusCode));
    }
  },
);

check('text is heard as it comes, before the turn has ended', async (t) => {
  const { holdfast } = await openDesk(t);
  const heard: string[] = [];
  const goOn = Promise.withResolvers<void>();
  const model: Model = {
    id: 'streaming',
    async *turn(): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'one ' };
      await goOn.promise;
      yield { type: 'text', text: 'two' };
      yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const onText = (text: string): void => {
    heard.push(text);
    goOn.resolve();
  };
  const run = await holdfast.agent({ model, listener: { onText } }).run('go');
  assert.deepEqual(heard, ['one ', 'two']);
  assert.equal(run.text, 'one two');
});

check('a reply whose text cannot be kept ends the run as failed, with its code, and keeps nothing of it', async (t) => {
  const { holdfast } = await openDesk(t);
  for (const text of ['half a pair \ud800', 'a\0b']) {
    const name = `odd-${text.length}`;
    const run = await holdfast.agent({ name, model: () => ({ text, calls: [] }), tools: [] }).run('go');
    assert.equal(run.status, 'failed');
    assert.match(run.view.reason, /its text has NUL or a lone surrogate/);
    assert.deepEqual([run.view.text, run.view.calls], ['', []]);
  }
});
