import type { FunctionReply, ModelFunction } from '../../../src/index.ts';
import { assert, check } from '../../support/index.ts';
import { APPROVE, DANGER, desk, SAFE, statusOf, TOOLS } from './agents.ts';

const TRACE = 'stopped-midway';

/** A run that another runner on its folder stops while its model answers with this. */
async function stoppedWhileAsked(t: Parameters<typeof desk>[0], reply: FunctionReply) {
  let stop = async (): Promise<unknown> => undefined;
  const model: ModelFunction = async () => {
    await stop();
    return reply;
  };
  const at = await desk(t, { model });
  stop = async () => at.again().stop(TRACE);
  const result = await at.runner.run([{ role: 'user', content: 'go' }], { ...TOOLS, traceId: TRACE });
  return { ...at, result };
}

check('nothing waits in a run that is stopped elsewhere while its model asks for what a person decides', async (t) => {
  const at = await stoppedWhileAsked(t, { calls: [DANGER, SAFE] });
  const batch = await at.home.batches.get(TRACE);
  assert.deepEqual([at.result.status, await statusOf(at, TRACE), batch?.status], ['stopped', 'stopped', 'cancelled']);
  await assert.rejects(at.runner.decide(TRACE, batch?.batchId ?? '', APPROVE), { httpStatus: 409 });
  assert.deepEqual(at.effects, []);
});

check('and what needs nobody is not begun', async (t) => {
  const at = await stoppedWhileAsked(t, { calls: [SAFE] });
  assert.deepEqual([at.result.status, await statusOf(at, TRACE), at.effects], ['stopped', 'stopped', []]);
});

check('what waits is cancelled also while its process still has the run', async (t) => {
  const at = await desk(t);
  const { traceId } = await at.runner.run([{ role: 'user', content: 'go' }], TOOLS);
  const hold = await at.home.holds.acquire(traceId, 0);
  await at.again().stop(traceId);
  hold?.release();
  assert.deepEqual(
    [await statusOf(at, traceId), (await at.home.batches.get(traceId))?.status],
    ['stopped', 'cancelled'],
  );
});

check('a budget of tokens holds for a model that counts none', async (t) => {
  let asked = 0;
  const model: ModelFunction = () => ({
    text: 'x'.repeat(4000),
    calls: [{ ...SAFE, callId: `safe-${(asked += 1)}` }],
  });
  const at = await desk(t, { model });
  const spend = (budgets: Partial<typeof TOOLS.budgets>) =>
    at.runner.run([{ role: 'user', content: 'go' }], {
      ...TOOLS,
      maxIterations: 30,
      budgets: { ...TOOLS.budgets, ...budgets },
    });
  assert.match((await spend({ maxTokens: 3000 })).errorMessage ?? '', /its budget of 3000 tokens/);
  assert.equal(asked, 2, 'a thousand for each reply, and a thousand for having read the first');
});
