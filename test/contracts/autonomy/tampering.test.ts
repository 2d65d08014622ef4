import { canonicalJson, type JsonObject, sha256Hex } from '../../../src/core/index.ts';
import { assert, contract } from '../../support/index.ts';
import {
  type AutonomyWorld,
  assessed,
  audits,
  behind,
  candidate,
  completeAssessment,
  openAutonomyWorld,
  passReview,
  projected,
  rawRow,
  start,
  startReview,
} from '../../support/autonomy-world.ts';
import { OWNER } from '../../support/session-world.ts';
import { assertSafeRow, conflict, integrityThrown } from './fixture.ts';

const BROKEN = /permission assessment proof|export projection integrity/;

const exported = ({ autonomy, root }: AutonomyWorld) => autonomy.exportProjection(OWNER, root, root);

async function deniedThenEdited(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  await assessed(world, 'proof');
  await completeAssessment(world, 'proof');
  behind(world, (db) =>
    db.exec(
      "UPDATE permission_review_assessments SET outcome = 'allow_once', risk = 'low' WHERE assessment_id = 'assessment-proof'",
    ),
  );
  return world;
}

contract(
  'AUT-27 AUT-28 AUT-29',
  'an edited advice is neither replayed nor exported, and listed as failed',
  async () => {
    await using world = await deniedThenEdited();
    await conflict(completeAssessment(world, 'proof'), /permission assessment proof/);
    await conflict(exported(world), BROKEN);
    assertSafeRow(await audits(world), 'outcome');
  },
);

contract('AUT-30 AUT-31', 'the action of a request cannot be edited while its guard stands', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await assessed(world, 'tamper');
  behind(world, (db) => {
    const edit = () =>
      db.exec("UPDATE permission_requests SET target = 'other.txt' WHERE decision_id = 'decision-tamper'");
    integrityThrown(edit, /action identity is immutable/);
  });
  const row = rawRow(world, "SELECT target FROM permission_requests WHERE decision_id = 'decision-tamper'");
  assert.equal(row['target'], 'result.txt');
});

async function actionEdited(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  await assessed(world, 'tamper');
  behind(world, (db) => {
    db.exec('DROP TRIGGER trg_permission_action_immutable');
    db.prepare('UPDATE permission_requests SET canonical_arguments_sha256 = ?').run('0'.repeat(64));
  });
  return world;
}

contract('AUT-32 AUT-33', 'an allow about an action that was edited without its guard is refused', async () => {
  await using world = await actionEdited();
  const allow = completeAssessment(world, 'tamper', { outcome: 'allow_once', risk: 'low' });
  await conflict(allow, /permission assessment proof/);
  const row = rawRow(world, 'SELECT status, completion_idempotency_key FROM permission_review_assessments');
  assert.deepEqual(row, { status: 'started', completion_idempotency_key: null });
});

contract('AUT-34 AUT-35', 'a merely started audit is proved too', async () => {
  await using world = await actionEdited();
  assertSafeRow(await audits(world), 'outcome');
  await conflict(exported(world), BROKEN);
});

contract('AUT-36', 'an event that was edited with its digest publishes nothing', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await assessed(world, 'event');
  await completeAssessment(world, 'event');
  behind(world, (db) => {
    const row = db
      .prepare("SELECT event_id, payload_json FROM auto_mode_events WHERE type = 'auto_audit_completed'")
      .get() as { event_id: string; payload_json: string };
    const payload = { ...(JSON.parse(row.payload_json) as JsonObject), outcome: 'allow_once', risk: 'low' };
    const text = canonicalJson(payload);
    db.prepare('UPDATE auto_mode_events SET payload_json = ?, payload_sha256 = ? WHERE event_id = ?').run(
      text,
      sha256Hex(text),
      row.event_id,
    );
  });
  assertSafeRow(await audits(world), 'outcome');
});

async function ownerMissing(kind: 'result_review' | 'permission_review'): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  if (kind === 'result_review') {
    await candidate(world);
    await startReview(world);
    await passReview(world);
    behind(world, (db) => db.exec('DELETE FROM review_runs'));
  } else {
    await assessed(world, 'missing');
    await completeAssessment(world, 'missing', { outcome: 'allow_once', risk: 'low' });
    behind(world, (db) => db.exec('DELETE FROM permission_review_assessments'));
  }
  return world;
}

contract(
  'AUT-37 AUT-38 AUT-39',
  'a review whose row is gone fails the run and is listed without its verdict',
  async () => {
    await using world = await ownerMissing('result_review');
    const run = await projected(world);
    assert.deepEqual([run?.['status'], run?.['terminal_reason']], ['failed', 'safety_boundary']);
    assert.equal(run?.['source_claimed_status'], 'candidate');
    assertSafeRow(await audits(world, { subjectKind: 'result_review' }), 'verdict');
  },
);

contract(
  'AUT-40 AUT-41 AUT-42',
  'an assessment whose row is gone fails the run and is listed without its outcome',
  async () => {
    await using world = await ownerMissing('permission_review');
    const run = await projected(world);
    assert.deepEqual([run?.['status'], run?.['terminal_reason']], ['failed', 'safety_boundary']);
    assert.equal(run?.['source_claimed_status'], 'running');
    assertSafeRow(await audits(world, { subjectKind: 'permission_review' }), 'outcome');
  },
);
