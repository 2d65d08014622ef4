import { deleteSession } from '../../../src/sessions/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import {
  acted,
  activate,
  allocate,
  type AutonomyWorld,
  behind,
  boundRepair,
  candidate,
  checkpoint,
  completeRepair,
  countOf,
  line,
  markStarted,
  openAutonomyWorld,
  projected,
  rawRow,
  request,
  resolve,
  secondRun,
  start,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal } from '../../support/session-world.ts';
import { conflict } from './fixture.ts';

/** A branch taken back to a checkpoint that hides no auto event, while a repair acts. */
async function reverted(world: AutonomyWorld) {
  const groupId = await boundRepair(world);
  const cursor = await world.autonomy.eventCursor(OWNER, world.root);
  const cursors = { autoEvent: cursor };
  await checkpoint(world, { checkpointId: 'checkpoint-after-bind', cursors });
  await acted(world, groupId, 'effect-before-revert');
  await line(world, groupId, 'proposed', 'late-result');
  const { attemptId } = await allocate(world, groupId, 'post-target-cell');
  assert.equal(await world.autonomy.eventCursor(OWNER, world.root), cursor);
  await checkpoint(world, { checkpointId: 'checkpoint-revert-undo', reason: 'before_revert', cursors });
  await checkpoint(world, {
    checkpointId: 'checkpoint-revert-applied',
    reason: 'revert_continue',
    cursors,
    metadata: {
      reverted_to: 'checkpoint-after-bind',
      undo_checkpoint_id: 'checkpoint-revert-undo',
      history_projection: {
        version: 1,
        base_checkpoint_id: 'checkpoint-after-bind',
        resume_cursors: { auto_event_cursor: cursor },
      },
    },
  });
  return { groupId, attemptId };
}

contract('AUT-107', 'a revert marks the active run in the transaction that moves the head', async () => {
  await using world = await openAutonomyWorld();
  await reverted(world);
  const row = rawRow(world, "SELECT abandoned_by_checkpoint_id FROM auto_mode_runs WHERE run_id = 'run-1'");
  assert.equal(row['abandoned_by_checkpoint_id'], 'checkpoint-revert-applied');
});

contract('AUT-108 AUT-109 AUT-110', 'after a revert nothing new begins in the bound group', async () => {
  await using world = await openAutonomyWorld();
  const { groupId, attemptId } = await reverted(world);
  await conflict(line(world, groupId, 'proposed', 'new-effect-after-revert'), /abandoned branch tail/);
  await conflict(allocate(world, groupId, 'new-cell-after-revert'), /abandoned branch tail/);
  await conflict(markStarted(world, attemptId), /abandoned branch tail/);
});

contract('AUT-111', 'the result of what had begun is still recorded', async () => {
  await using world = await openAutonomyWorld();
  const { groupId } = await reverted(world);
  const result = { status: 'failed', output_committed: false };
  const late = await line(world, groupId, 'result', 'late-result', result);
  const row = rawRow(world, 'SELECT type FROM action_events WHERE event_id = ?', late.id);
  assert.equal(row['type'], 'result');
});

check('an abandoned run takes no step and is not replayed, and another starts', async () => {
  await using world = await openAutonomyWorld();
  await reverted(world);
  for (const step of [() => start(world), () => candidate(world), () => candidate(world, 'another')])
    assert.equal((await refusal(step())).code, 'AUTO_RUN_ABANDONED');
  assert.equal((await start(world, secondRun)).created, true);
  assert.equal((await projected(world))?.['run_id'], 'run-2');
});

check('clearing the mark around the program gives the run no authority back', async () => {
  await using world = await openAutonomyWorld();
  const { groupId } = await reverted(world);
  behind(world, (db) => db.exec('UPDATE auto_mode_runs SET abandoned_at = NULL, abandoned_by_checkpoint_id = NULL'));
  await conflict(line(world, groupId, 'proposed', 'new-effect'), /abandoned branch tail/);
  assert.equal((await refusal(candidate(world, 'another'))).code, 'AUTO_RUN_ABANDONED');
});

check('a revert takes back the continuations of the bound groups', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await boundRepair(world);
  await line(world, groupId, 'proposed', 'write');
  await request(world, 'd', { groupId, actionId: 'write', toolCallId: 'write' });
  await resolve(world, 'd', 'allowed', 'after_restart');
  await activate(world, 'd');
  const target = await checkpoint(world);
  await checkpoint(world, { metadata: { reverted_to: target.checkpointId } });
  assert.equal(rawRow(world, 'SELECT continuation_required AS c FROM permission_requests')['c'], 0);
  assert.equal((await refusal(activate(world, 'd'))).code, 'AUTO_RUN_ABANDONED');
});

check('a session that is deleted takes its runs along, sealed ledgers included', async () => {
  await using world = await openAutonomyWorld();
  const groupId = await boundRepair(world);
  await acted(world, groupId, 'write');
  await completeRepair(world, [groupId]);
  await world.store.write('test.delete', (tx) => deleteSession(tx, world.context, OWNER, world.root));
  for (const table of ['auto_mode_runs', 'auto_mode_events', 'review_findings', 'repair_execution_groups'])
    assert.equal(countOf(world, table), 0, table);
  assert.equal(countOf(world, 'action_events'), 0);
});

check('a branch goes back also where the row of its supervised run cannot be read', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  const cursors = { autoEvent: await world.autonomy.eventCursor(OWNER, world.root) };
  await checkpoint(world, { checkpointId: 'checkpoint-before', cursors });
  await checkpoint(world, { checkpointId: 'checkpoint-undo', reason: 'before_revert', cursors });
  behind(world, (db) => db.exec("UPDATE auto_mode_runs SET budgets_json = '{ }'"));
  const metadata = { reverted_to: 'checkpoint-before', undo_checkpoint_id: 'checkpoint-undo' };
  await checkpoint(world, { checkpointId: 'checkpoint-back', reason: 'revert_continue', cursors, metadata });
  const row = rawRow(world, 'SELECT abandoned_by_checkpoint_id FROM auto_mode_runs');
  assert.equal(row['abandoned_by_checkpoint_id'], 'checkpoint-back');
});
