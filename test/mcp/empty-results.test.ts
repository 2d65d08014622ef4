import { assert, check } from '../support/index.ts';
import { guardWorld, OPEN_POLICY, outcomeOf } from './guard-world.ts';

// Answers that are no error and say nothing, or say it in a way that no host takes.

const POLICY = {
  ...OPEN_POLICY,
  tools: { answers: { effect: 'once', on_error: 'not_done' }, read_answers: { effect: 'read' } },
  rules: [{ id: 'all', tools: ['answers', 'read*'], decision: 'allow' }],
};

const NOTHING: readonly object[] = [
  { result: {} },
  { result: { tools: [] } },
  { result: { content: 'done' } },
  { result: { content: null, structuredContent: { ok: true } } },
  { result: { content: [{ type: 'text', text: 'done' }] }, method: 'ping' },
];

check('an answer to a writing call that says nothing of it, or is no answer to its host, is unknown', async (t) => {
  const world = await guardWorld(t, { policy: POLICY });
  for (const [n, message] of NOTHING.entries()) {
    const told = await world.call('answers', { message }, n);
    assert.equal(outcomeOf(told)?.outcome, 'unknown', JSON.stringify(message));
  }
  const fine = { result: { structuredContent: { ok: true } } };
  assert.deepEqual((await world.call('answers', { message: fine }, 20))['result'], fine.result);
});
