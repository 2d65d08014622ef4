import { assert, check, movedClock } from '../support/index.ts';
import { elsewhere, guardWorld, OPEN_POLICY, outcomeOf } from './guard-world.ts';

check('an edit by the approver is what is passed on in each round of an exchange', async (t) => {
  const policy = { ...OPEN_POLICY, tools: { asks: { effect: 'once', editable: ['a'] } }, rules: [] };
  const world = await guardWorld(t, { policy });
  await world.call('asks', { a: 1, b: 1.5 }, 1);
  await elsewhere(world.dataDir, async ({ runtime }) => {
    const [one] = (await runtime.approvals.pending(runtime.principal)).items;
    assert.ok(one);
    const { requestId, digest } = one;
    const said = { requestId, digest, decision: 'approve', editedArguments: { a: 2, b: 1.5 } } as const;
    await runtime.approvals.decide(runtime.principal, [said]);
  });
  const first = await world.call('asks', { a: 1, b: 1.5 }, 2);
  assert.equal((first['result'] as { resultType: string }).resultType, 'input_required');
  const answers = { requestState: 'round-1', inputResponses: {} };
  assert.match(JSON.stringify(await world.call('asks', { a: 1, b: 1.5 }, 3, answers)), /done after a question/);
  assert.deepEqual(world.effects(), [{ a: 2, b: 1.5 }]);
});

check('a later round that comes when the time of its call is over, as after a sleep, is not passed on', async (t) => {
  const clock = movedClock();
  const world = await guardWorld(t, { clock });
  const first = await world.call('asks', { a: 1 }, 1);
  assert.equal((first['result'] as { resultType: string }).resultType, 'input_required');
  clock.advance(3_600_000);
  const second = await world.call('asks', { a: 1 }, 2, { requestState: 'round-1', inputResponses: {} });
  assert.equal(outcomeOf(second)?.outcome, 'unknown', JSON.stringify(second));
  assert.deepEqual(world.effects(), [], 'whoever took the call up since may have sent it, or settled it');
});
