import { assert, check, contract } from '../../support/index.ts';
import {
  acted,
  allocate,
  type AutonomyWorld,
  behind,
  bind,
  boundRepair,
  captured,
  checkpoint,
  completeRepair,
  countOf,
  finished,
  group,
  issueReview,
  line,
  openAutonomyWorld,
  rawRow,
  start,
  startRepair,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal } from '../../support/session-world.ts';
import { conflict, integrityError, integrityThrown } from './fixture.ts';

async function reviewed(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  await issueReview(world);
  await captured(world, 'checkpoint-repair-1');
  return world;
}

contract('AUT-59 AUT-60', 'a repair of an open finding starts once, from the captured head of its branch', async () => {
  await using world = await reviewed();
  const repair = await startRepair(world);
  assert.equal(repair.created, true);
  const replay = await startRepair(world, { id: 'ignored-on-replay' });
  assert.deepEqual([replay.created, replay.repair_run_id], [false, 'repair-1']);
});

contract('AUT-61 AUT-62', 'a group of another turn is not bound', async () => {
  await using world = await reviewed();
  await startRepair(world);
  await conflict(bind(world, await group(world, 'another-turn')), /another action scope/);
  const row = rawRow(world, "SELECT status FROM repair_runs WHERE repair_run_id = 'repair-1'");
  assert.equal(row['status'], 'started');
});

contract(
  'AUT-63 AUT-64 AUT-65',
  'an empty group of the turn is bound once, and proves nothing while it is empty',
  async () => {
    await using world = await reviewed();
    await startRepair(world);
    const groupId = await group(world);
    assert.equal((await bind(world, groupId)).created, true);
    assert.equal((await bind(world, groupId)).created, false);
    await conflict(completeRepair(world, [groupId]), /not terminal/);
  },
);

/** A bound group with one finished write and one finished attempt, in a store that was opened again. */
async function acting(): Promise<{ world: AutonomyWorld; groupId: string; attemptId: string }> {
  const world = await openAutonomyWorld();
  const groupId = await boundRepair(world);
  await acted(world, groupId, 'repair-action-1');
  const attemptId = await finished(world, groupId, 'repair-cell-1');
  return { world: await world.reopen(), groupId, attemptId };
}

contract('AUT-66 AUT-67 AUT-68', 'a repair outlives its process and is finished from its ledger', async () => {
  const { world, groupId } = await acting();
  const [repair] = (await world.autonomy.exportProjection(OWNER, world.root)).repair_runs;
  assert.equal(repair?.['status'], 'started');
  assert.deepEqual(repair?.['execution_group_ids'], [groupId]);
  assert.equal((await completeRepair(world, [groupId])).status, 'completed');
  await world.close();
});

async function sealed() {
  const acted_ = await acting();
  await completeRepair(acted_.world, [acted_.groupId]);
  return acted_;
}

contract('AUT-69 AUT-70', 'the seal counts the events and holds the digest of the whole ledger', async () => {
  const { world } = await sealed();
  const row = rawRow(world, 'SELECT ledger_event_count, ledger_sha256, sealed_at FROM repair_execution_groups');
  assert.equal(row['ledger_event_count'], 2);
  assert.match(String(row['ledger_sha256']), /^[0-9a-f]{64}$/);
  assert.notEqual(row['sealed_at'], null);
  await world.close();
});

contract('AUT-71 AUT-72', 'a sealed group takes neither event nor attempt', async () => {
  const { world, groupId } = await sealed();
  const late = line(world, groupId, 'result', 'repair-action-late', { status: 'late' });
  await integrityError(late, /ledger is sealed/);
  await integrityError(allocate(world, groupId, 'late-repair-cell'), /ledger is sealed/);
  await world.close();
});

contract('AUT-73 AUT-74', 'nothing of a sealed group is deleted around the program', async () => {
  const { world, groupId, attemptId } = await sealed();
  behind(world, (db) => {
    const event = db.prepare("DELETE FROM action_events WHERE group_id = ? AND type = 'result'");
    integrityThrown(() => event.run(groupId), /ledger is sealed/);
    const attempt = db.prepare('DELETE FROM execution_attempts WHERE attempt_id = ?');
    integrityThrown(() => attempt.run(attemptId), /ledger is sealed/);
  });
  await world.close();
});

contract(
  'AUT-75 AUT-76 AUT-77',
  'other groups of the turn go on, and nothing is moved into the sealed one',
  async () => {
    const { world, groupId } = await sealed();
    const source = await group(world);
    const event = await line(world, source, 'proposed', 'source-action');
    const attempt = await allocate(world, source, 'source-cell');
    assert.deepEqual([event.sequence, attempt.groupId], [0, source]);
    behind(world, (db) => {
      const moveEvent = db.prepare('UPDATE action_events SET group_id = ? WHERE event_id = ?');
      integrityThrown(() => moveEvent.run(groupId, event.id), /ledger is sealed/);
      const moveAttempt = db.prepare('UPDATE execution_attempts SET group_id = ? WHERE attempt_id = ?');
      integrityThrown(() => moveAttempt.run(groupId, attempt.attemptId), /ledger is sealed/);
    });
    await world.close();
  },
);

contract('AUT-78 AUT-79', 'a sealed event that was deleted without its guard fails replay and export', async () => {
  const { world, groupId } = await sealed();
  behind(world, (db) => {
    db.exec('DROP TRIGGER trg_repair_event_delete_sealed');
    db.exec('PRAGMA foreign_keys = OFF');
    db.prepare("DELETE FROM action_events WHERE group_id = ? AND type = 'result'").run(groupId);
  });
  await conflict(completeRepair(world, [groupId]), /repair ledger proof/);
  const exported = world.autonomy.exportProjection(OWNER, world.root, world.root);
  await conflict(exported, /repair ledger proof|export projection integrity/);
  await world.close();
});

contract('AUT-80 AUT-81 AUT-82 AUT-83', 'a completed repair proves nothing by itself', async () => {
  const { world } = await sealed();
  const [run] = (await world.autonomy.exportProjection(OWNER, world.root)).runs;
  assert.equal(run?.status, 'running');
  assert.ok(run !== undefined && 'candidate_id' in run && run.candidate_id === null);
  const found = rawRow(world, "SELECT status FROM review_findings WHERE finding_id = 'finding-1'");
  assert.equal(found['status'], 'addressed_pending_review');
  const verify = { key: 'terminal:verified', status: 'verified', reason: 'repair_self_attestation' } as const;
  await conflict(world.autonomy.terminateRun(OWNER, 'run-1', verify), /candidate/);
  await world.close();
});

contract('AUT-84', 'a completion that was made after a restart is replayed', async () => {
  const { world, groupId } = await sealed();
  const replay = await completeRepair(world, [groupId]);
  assert.deepEqual([replay.created, replay.status], [false, 'completed']);
  await world.close();
});

check('a repair starts only from the head of its branch, with a workspace that can be read whole', async () => {
  await using world = await reviewed();
  await checkpoint(world, { checkpointId: 'checkpoint-later' });
  assert.equal((await refusal(startRepair(world))).code, 'AUTO_CHECKPOINT_UNFIT');
  const later = { repairRunId: 'r', key: 'k', findingIds: ['finding-1'], beforeVersionIds: ['version-before'] };
  const bare = world.autonomy.startRepair(OWNER, 'run-1', { ...later, checkpointId: 'checkpoint-later' });
  assert.equal((await refusal(bare)).code, 'AUTO_CHECKPOINT_UNFIT');
  await captured(world, 'checkpoint-last');
  const fit = { ...later, checkpointId: 'checkpoint-last' };
  const versions = world.autonomy.startRepair(OWNER, 'run-1', { ...fit, beforeVersionIds: ['other'] });
  assert.equal((await refusal(versions)).code, 'AUTO_VERSIONS_MISMATCH');
  const unknown = world.autonomy.startRepair(OWNER, 'run-1', { ...fit, findingIds: ['finding-2'] });
  assert.equal((await refusal(unknown)).code, 'AUTO_FINDING_NOT_OPEN');
  assert.equal(countOf(world, 'repair_runs'), 0);
  assert.equal((await world.autonomy.startRepair(OWNER, 'run-1', fit)).created, true);
});

check('a group is bound once, empty, and named in order at the end', async () => {
  await using world = await openAutonomyWorld();
  const first = await boundRepair(world);
  assert.equal((await refusal(bind(world, first, 'again'))).code, 'AUTO_GROUP_SCOPE');
  const second = await group(world);
  await line(world, second, 'proposed', 'early');
  assert.equal((await refusal(bind(world, second))).code, 'AUTO_GROUP_SCOPE');
  const third = await group(world);
  await bind(world, third);
  for (const id of [first, third]) await acted(world, id, `write-${id}`);
  assert.equal((await refusal(completeRepair(world, [third, first]))).code, 'AUTO_GROUPS_MISMATCH');
  assert.equal((await refusal(completeRepair(world, [first]))).code, 'AUTO_GROUPS_MISMATCH');
  assert.equal((await completeRepair(world, [first, third])).status, 'completed');
  assert.equal((await refusal(bind(world, await group(world)))).code, 'AUTO_WRONG_PHASE');
});
