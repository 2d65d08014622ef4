import { assert, check, contract } from '../../support/index.ts';
import {
  type AutonomyWorld,
  candidate,
  countOf,
  finding,
  issueReview,
  openAutonomyWorld,
  passReview,
  projected,
  rawRow,
  start,
  startReview,
} from '../../support/autonomy-world.ts';
import { OWNER, refusal } from '../../support/session-world.ts';
import { valueError } from './fixture.ts';

async function started(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  await candidate(world);
  await startReview(world);
  return world;
}

const contradict = (world: AutonomyWorld, status: 'unavailable' | 'failed' | 'completed', severity?: string) =>
  world.autonomy.completeReview(OWNER, 'review-pass', {
    key: 'review-pass:complete',
    status,
    verdict: 'pass',
    assessment: { public_summary: 'Contradictory pass claim.' },
    findings: severity === undefined ? [] : [finding(`finding-${severity}`, severity)],
  });

const CASES = [
  ['AUT-43', 'unavailable', undefined, /non-completed review cannot pass/i],
  ['AUT-44', 'failed', undefined, /non-completed review cannot pass/i],
  ['AUT-45', 'completed', 'material', /pass review cannot contain a material finding/],
  ['AUT-46', 'completed', 'high', /pass review cannot contain a material finding/],
] as const;

for (const [id, status, severity, words] of CASES)
  contract(
    `${id} AUT-47 AUT-48 AUT-49`,
    `a pass as ${status} with ${severity ?? 'nothing'} leaves no trace`,
    async () => {
      await using world = await started();
      await valueError(contradict(world, status, severity), words);
      const row = rawRow(
        world,
        "SELECT status, completion_idempotency_key FROM review_runs WHERE review_run_id = 'review-pass'",
      );
      assert.deepEqual(row, { status: 'started', completion_idempotency_key: null });
      assert.equal(countOf(world, "auto_mode_events WHERE type = 'auto_audit_completed'"), 0);
      assert.equal(countOf(world, 'review_findings'), 0);
    },
  );

contract('AUT-50', 'a completed review answers with its findings, open', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  const review = await issueReview(world);
  assert.equal(review.findings[0]?.status, 'open');
  assert.equal(review.findings.length, 1);
});

check('a run is verified by a fresh pass of exactly its candidate, and reopened it still is', async () => {
  await using first = await started();
  const verify = { key: 'verified', status: 'verified', reason: 'review_passed' } as const;
  const { autonomy } = first;
  assert.equal((await refusal(autonomy.terminateRun(OWNER, 'run-1', verify))).code, 'AUTO_PHASE_OPEN');
  await passReview(first);
  assert.equal((await autonomy.terminateRun(OWNER, 'run-1', verify)).status, 'verified');
  assert.equal((await autonomy.terminateRun(OWNER, 'run-1', verify)).created, false);
  const world = await first.reopen();
  assert.equal((await projected(world))?.['status'], 'verified');
  await world.close();
});

check(
  'a newer review that does not pass beats an older pass, and a candidate recorded again needs a new review',
  async () => {
    await using world = await started();
    await passReview(world);
    await startReview(world, 'second');
    await world.autonomy.completeReview(OWNER, 'review-second', {
      key: 'review-second:complete',
      status: 'unavailable',
      verdict: 'review_unavailable',
      assessment: { summary: 'The reviewer did not answer.' },
    });
    const verify = { key: 'verified', status: 'verified', reason: 'review_passed' } as const;
    assert.equal((await refusal(world.autonomy.terminateRun(OWNER, 'run-1', verify))).code, 'AUTO_NOT_VERIFIED');
    await startReview(world, 'third');
    await passReview(world, 'third');
    await candidate(world, 'candidate:again');
    assert.equal((await refusal(world.autonomy.terminateRun(OWNER, 'run-1', verify))).code, 'AUTO_NOT_VERIFIED');
  },
);

check('a finding against the candidate stands against a later pass', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  await issueReview(world);
  await startReview(world, 'later');
  await passReview(world, 'later');
  const verify = { key: 'verified', status: 'verified', reason: 'review_passed' } as const;
  assert.equal((await refusal(world.autonomy.terminateRun(OWNER, 'run-1', verify))).code, 'AUTO_NOT_VERIFIED');
});
