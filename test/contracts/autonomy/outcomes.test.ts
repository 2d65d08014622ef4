import { abandonAttempts } from '../../../src/sessions/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import {
  acted,
  activate,
  allocate,
  type AutonomyWorld,
  behind,
  bind,
  boundRepair,
  completeRepair,
  consume,
  group,
  line,
  markStarted,
  openAutonomyWorld,
  projected,
  rawRow,
  request,
  requestOf,
  resolve,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal } from '../../support/session-world.ts';
import { conflict } from './fixture.ts';

const ARGUMENTS = [{ path: 'result.txt', content: 'repaired' }];

const sealedAt = (world: AutonomyWorld) => rawRow(world, 'SELECT sealed_at FROM repair_execution_groups')['sealed_at'];

/** A bound group with a proposed write that a person must decide. */
async function waiting(world: AutonomyWorld): Promise<string> {
  const groupId = await boundRepair(world);
  await line(world, groupId, 'proposed', 'repair-action');
  const action = { groupId, actionId: 'repair-action', toolCallId: 'repair-action', arguments: ARGUMENTS };
  await request(world, 'repair-decision', action);
  return groupId;
}

const unknown = (world: AutonomyWorld, groups: readonly string[], key = 'repair-1:unknown') =>
  completeRepair(world, groups, { key, status: 'outcome_unknown', afterVersionIds: [] });

const failed = (world: AutonomyWorld, groups: readonly string[], afterVersionIds: readonly string[] = []) =>
  completeRepair(world, groups, { key: 'repair-1:failed', status: 'failed', afterVersionIds });

contract('AUT-85 AUT-86 AUT-87 AUT-88', 'no repair ends over an open decision, and nothing is half done', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await waiting(world);
  await conflict(unknown(world, [groupId]), /pending permission/);
  behind(world, (db) => {
    // Who could still be inside would hold the write lock.
    assert.doesNotThrow(() => db.exec('BEGIN IMMEDIATE'));
    db.exec('ROLLBACK');
  });
  assert.equal((await requestOf(world, 'repair-decision')).status.state, 'pending');
  assert.equal(sealedAt(world), null);
});

contract('AUT-89 AUT-90', 'a denial alone proves that the repair failed and left nothing', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await waiting(world);
  await conflict(unknown(world, [groupId]), /pending permission/);
  await resolve(world, 'repair-decision', 'denied');
  assert.equal((await failed(world, [groupId])).status, 'failed');
  assert.equal((await requestOf(world, 'repair-decision')).status.state, 'denied');
});

/** What a dead process leaves: a write allowed after a restart, begun in an attempt that never ended. */
async function interrupted(world: AutonomyWorld): Promise<string> {
  const groupId = await waiting(world);
  await resolve(world, 'repair-decision', 'allowed', 'after_restart');
  await activate(world, 'repair-decision');
  const { attemptId } = await allocate(world, groupId, 'repair-unknown-cell', 'old-daemon');
  await markStarted(world, attemptId);
  return groupId;
}

contract(
  'AUT-91 AUT-92 AUT-93 AUT-94',
  'an unknown outcome pauses the run and takes the continuation back',
  async () => {
    await using world = await openAutonomyWorld();
    const groupId = await interrupted(world);
    assert.equal((await unknown(world, [groupId])).status, 'outcome_unknown');
    const run = await projected(world);
    assert.deepEqual([run?.['status'], run?.['terminal_reason']], ['paused', 'outcome_unknown']);
    assert.equal(rawRow(world, 'SELECT continuation_required FROM permission_requests')['continuation_required'], 0);
    assert.equal(await consume(world, ARGUMENTS), null);
  },
);

contract(
  'AUT-95 AUT-96 AUT-97',
  'the attempt is unknown, nothing is left to sweep, and the end is replayed',
  async () => {
    await using first = await openAutonomyWorld();
    const groupId = await interrupted(first);
    await unknown(first, [groupId]);
    const world = await first.reopen();
    assert.equal(rawRow(world, 'SELECT terminal_state FROM execution_attempts')['terminal_state'], 'outcome_unknown');
    const swept = await world.store.write('test.sweep', (tx) => abandonAttempts(tx, world.context, 'new-daemon'));
    assert.equal(swept, 0);
    assert.equal((await unknown(world, [groupId])).created, false);
    await world.close();
  },
);

contract('AUT-98 AUT-99 AUT-100', 'what never started cannot be called unknown', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await boundRepair(world);
  await line(world, groupId, 'proposed', 'never-started');
  await allocate(world, groupId, 'never-started-cell');
  await conflict(unknown(world, [groupId]), /uncertain side-effect/);
  assert.equal(rawRow(world, 'SELECT terminal_state FROM execution_attempts')['terminal_state'], null);
  assert.equal(sealedAt(world), null);
});

async function secondGroup(world: AutonomyWorld): Promise<string> {
  const groupId = await group(world);
  await bind(world, groupId);
  return groupId;
}

const FAILURE = { status: 'failed', is_error: true, output_committed: false };

contract(
  'AUT-101 AUT-102',
  'a failure is looked for in all groups together, and the run may be repaired again',
  async () => {
    await using world = await openAutonomyWorld();
    const read = await boundRepair(world);
    const write = await secondGroup(world);
    await acted(world, read, 'read-action', { status: 'completed' }, 'read_only');
    await acted(world, write, 'write-action', FAILURE);
    assert.equal((await failed(world, [read, write])).status, 'failed');
    assert.equal((await projected(world))?.['status'], 'candidate');
  },
);

async function partlyDone(world: AutonomyWorld): Promise<[string, string]> {
  const committed = await boundRepair(world);
  const lost = await secondGroup(world);
  await acted(world, committed, 'committed-write', { status: 'completed', output_committed: true });
  await acted(world, lost, 'failed-write', FAILURE);
  return [committed, lost];
}

contract('AUT-103 AUT-104', 'a failure that left something pauses the run', async () => {
  await using world = await openAutonomyWorld();
  const groups = await partlyDone(world);
  assert.equal((await failed(world, groups, ['version-partial'])).status, 'failed');
  const run = await projected(world);
  assert.deepEqual([run?.['status'], run?.['terminal_reason']], ['paused', 'repair_partial_commit']);
});

contract('AUT-105 AUT-106', 'a paused run is not repaired again, and its end is replayed', async () => {
  await using world = await openAutonomyWorld();
  const groups = await partlyDone(world);
  await failed(world, groups, ['version-partial']);
  const retry = world.autonomy.startRepair(OWNER, 'run-1', {
    repairRunId: 'repair-retry-forbidden',
    key: 'repair:retry:forbidden',
    findingIds: ['finding-1'],
    beforeVersionIds: ['version-partial'],
    checkpointId: 'checkpoint-repair-1',
  });
  await conflict(retry, /terminal/);
  assert.equal((await failed(world, groups, ['version-partial'])).created, false);
});

check('a continuation in a sealed group is neither activated nor used', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await interrupted(world);
  await unknown(world, [groupId]);
  assert.equal((await refusal(activate(world, 'repair-decision'))).code, 'AUTO_WRONG_PHASE');
});
