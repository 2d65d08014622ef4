import { listRules } from '../../../src/approvals/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import {
  type AutonomyWorld,
  assessed,
  completeAssessment,
  countOf,
  FAR,
  openAutonomyWorld,
  rawRow,
  request,
  requestOf,
  resolve,
  start,
  startAssessment,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal } from '../../support/session-world.ts';
import { conflict, valueError } from './fixture.ts';

const stateOf = async (world: AutonomyWorld, id: string) => (await requestOf(world, id)).status.state;

const owner = (world: AutonomyWorld, name: string) =>
  rawRow(
    world,
    'SELECT status, completion_idempotency_key FROM permission_review_assessments WHERE assessment_id = ?',
    `assessment-${name}`,
  );

contract('AUT-13 AUT-14', 'a request whose time is over is not assessed, though nobody decided it', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await request(world, 'decision-expired', { expiresAt: 1 });
  await conflict(startAssessment(world, 'expired'), /exact pending action scope/);
  assert.equal(await stateOf(world, 'decision-expired'), 'pending');
  assert.equal(countOf(world, 'permission_review_assessments'), 0);
});

contract('AUT-15 AUT-16 AUT-17', 'advice that a decision overtook is refused and uses nothing up', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  assert.equal((await assessed(world, 'race')).status, 'started');
  await resolve(world, 'decision-race', 'denied');
  const late = completeAssessment(world, 'race', { outcome: 'allow_once', risk: 'low' });
  await conflict(late, /no longer pending/);
  assert.deepEqual(owner(world, 'race'), { status: 'started', completion_idempotency_key: null });
});

contract('AUT-18 AUT-19 AUT-20', 'overtaken advice ends as failed, decides nothing, and never allows', async () => {
  await using first = await openAutonomyWorld();
  await start(first);
  await assessed(first, 'race');
  await resolve(first, 'decision-race', 'denied');
  const world = await first.reopen();
  await conflict(completeAssessment(world, 'race', { outcome: 'allow_once', risk: 'low' }), /no longer pending/);
  const closed = await completeAssessment(world, 'race', { key: 'permission:race:failed', status: 'failed' });
  assert.equal(closed.status, 'failed');
  assert.equal(await stateOf(world, 'decision-race'), 'denied');
  const rewrite = { key: 'permission:race:rewrite', status: 'failed', outcome: 'allow', risk: 'low' } as const;
  await valueError(completeAssessment(world, 'race', rewrite), /cannot allow/);
  await world.close();
});

contract('AUT-21 AUT-22 AUT-23 AUT-24', 'an assessment starts once and ends once, whoever repeats it', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  assert.equal((await assessed(world, '1')).created, true);
  const { action } = await requestOf(world, 'decision-1');
  const replay = await world.autonomy.startAssessment(OWNER, 'run-1', {
    assessmentId: 'ignored-on-replay',
    auditId: 'ignored-on-replay',
    decisionId: 'decision-1',
    actionDigest: action.actionDigest,
    policyVersion: 'guardian-v1',
    key: 'permission:1:start',
  });
  assert.deepEqual([replay.created, replay.assessment_id], [false, 'assessment-1']);
  const completed = await completeAssessment(world, '1');
  const replayed = await completeAssessment(world, '1');
  assert.deepEqual([completed.created, replayed.created], [true, false]);
  assert.equal(replayed.event_id, completed.event_id);
});

contract('AUT-25 AUT-26', 'advice decides nothing and leaves no rule and no grant behind', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await assessed(world, '1');
  await completeAssessment(world, '1', { outcome: 'allow_once', risk: 'low' });
  const { status } = await requestOf(world, 'decision-1');
  assert.deepEqual(status, { state: 'pending' });
  const rules = await world.store.read('test.rules', (tx) => listRules(tx, OWNER, 'conversation', world.root));
  assert.deepEqual(rules, []);
  assert.equal(countOf(world, 'permission_rules'), 0);
  assert.equal(countOf(world, 'permission_requests WHERE continuation_required = 1'), 0);
});

check('a request is assessed once, in its own turn, with the digest of its action', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await assessed(world, '1');
  assert.equal((await refusal(startAssessment(world, '2', 'decision-1'))).code, 'AUTO_ID_TAKEN');
  await request(world, 'decision-3', { expiresAt: world.clock.nowMs() });
  assert.equal((await refusal(startAssessment(world, '3'))).code, 'AUTO_PERMISSION_SCOPE');
  const wrong = { assessmentId: 'a', auditId: 'b', decisionId: 'decision-1', policyVersion: 'v1', key: 'k' };
  const other = world.autonomy.startAssessment(OWNER, 'run-1', { ...wrong, actionDigest: '0'.repeat(64) });
  assert.equal((await refusal(other)).code, 'AUTO_PERMISSION_SCOPE');
  const spelled = { ...wrong, actionDigest: '0'.repeat(64), policyVersion: ' v1' };
  assert.equal((await refusal(world.autonomy.startAssessment(OWNER, 'run-1', spelled))).code, 'INVALID_VALUE');
});

check('the deadline is judged by our clock when the advice is completed', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await request(world, 'decision-1', { expiresAt: world.clock.nowMs() + 10 });
  await startAssessment(world, '1');
  world.clock.advance(10);
  assert.equal((await refusal(completeAssessment(world, '1'))).code, 'AUTO_PERMISSION_DECIDED');
  const open = { key: 'end', status: 'failed', reason: 'none' } as const;
  assert.equal((await refusal(world.autonomy.terminateRun(OWNER, 'run-1', open))).code, 'AUTO_PHASE_OPEN');
  await completeAssessment(world, '1', { status: 'unavailable', outcome: 'unavailable', risk: 'unknown' });
  assert.equal((await world.autonomy.terminateRun(OWNER, 'run-1', open)).status, 'failed');
  await request(world, 'decision-2', { expiresAt: FAR });
  assert.equal((await refusal(startAssessment(world, '2'))).code, 'AUTO_RUN_TERMINAL');
});
