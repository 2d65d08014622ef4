import {
  abandonAttempts,
  allocateAttempt,
  finishAttempt,
  listAttempts,
  markAttempt,
  type NewAttempt,
} from '../../../src/sessions/index.ts';
import { endInstance, registerInstance } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
import {
  AGENT,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

const allocate = (world: SessionWorld, groupId: string, change: Partial<NewAttempt> = {}) =>
  world.store.write('t', (tx) =>
    allocateAttempt(tx, world.context, AGENT, { groupId, producingCellId: 'cell-1', ...change }),
  );
const mark = (world: SessionWorld, id: string, milestone: 'started' | 'response' | 'capture') =>
  world.store.write('t', (tx) => markAttempt(tx, world.context, AGENT, id, milestone));
const finish = (world: SessionWorld, id: string, terminalState: string) =>
  world.store.write('t', (tx) => finishAttempt(tx, world.context, AGENT, id, { terminalState }));

check('an attempt passes its milestones in order, once each, and ends once', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const first = await allocate(world, groupId);
  const second = await allocate(world, groupId);
  assert.deepEqual([first.attemptOrdinal, second.attemptOrdinal, first.stateRevision], [0, 1, 1]);
  const id = first.attemptId;
  const out = 'ATTEMPT_OUT_OF_ORDER';
  assert.equal((await refusal(mark(world, id, 'response'))).code, out);
  await mark(world, id, 'started');
  assert.equal((await refusal(mark(world, id, 'started'))).code, out);
  assert.equal((await refusal(finish(world, id, 'completed'))).code, out);
  await mark(world, id, 'response');
  await mark(world, id, 'capture');
  const ended = await finish(world, id, 'completed');
  assert.deepEqual([ended.terminalState, ended.stateRevision], ['completed', 5]);
  assert.equal((await refusal(finish(world, id, 'failed'))).code, out);
  assert.equal((await finish(world, second.attemptId, 'failed')).terminalState, 'failed');
  assert.equal((await world.store.read('t', (tx) => listAttempts(tx, OWNER, groupId))).length, 2);
});

check('attempts of a stranger, and of no group, are not found', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const { attemptId } = await allocate(world, groupId);
  assert.equal((await refusal(allocate(world, 'none'))).code, 'ACTION_GROUP_NOT_FOUND');
  const stranger = world.store.write('t', (tx) => markAttempt(tx, world.context, STRANGER, attemptId, 'started'));
  assert.equal((await refusal(stranger)).code, 'ATTEMPT_NOT_FOUND');
});

check('only what belongs to no live instance is abandoned', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  await world.store.write('t', async (tx) => {
    for (const instanceId of ['live', 'ended']) await registerInstance(tx, world.clock, { instanceId, leaseMs: 1000 });
    await endInstance(tx, world.clock, 'ended');
  });
  for (const ownerInstanceId of ['live', 'ended', 'unheard-of', 'me'])
    await allocate(world, groupId, { ownerInstanceId, attemptId: ownerInstanceId });
  await allocate(world, groupId, { attemptId: 'nobody' });
  assert.equal(await world.store.write('t', (tx) => abandonAttempts(tx, world.context, 'me')), 3);
  const attempts = await world.store.read('t', (tx) => listAttempts(tx, OWNER, groupId));
  assert.deepEqual(
    attempts.filter((one) => one.terminalState === null).map((one) => one.attemptId),
    ['live', 'me'],
  );
  world.clock.advance(1000);
  assert.equal(await world.store.write('t', (tx) => abandonAttempts(tx, world.context, 'me')), 1);
});
