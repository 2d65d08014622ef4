import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { AutonomyTerms } from '../../src/autonomy/index.ts';
import { fail, type JsonObject } from '../../src/core/index.ts';
import { functionModel, type Model } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import {
  authorOf,
  honestReviewer,
  openSupervised,
  type SupervisedSetting,
  WRONG,
  writes,
} from '../support/supervised-world.ts';

check('a wrong result is found, repaired, reviewed afresh and verified', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { holdfast, agent, report } = await openSupervised({ dataDir });
  const run = await agent.run('Write the total.');
  assert.equal(run.status, 'completed');
  assert.equal(report(), 'total 42');
  const { supervision } = run;
  assert.equal(supervision?.status, 'verified');
  assert.deepEqual([supervision?.reviews, supervision?.repairs], [2, 1]);
  assert.deepEqual(
    supervision?.findings.map(({ severity, claim, status }) => [severity, claim, status]),
    [['major', WRONG.claim, 'addressed_pending_review']],
  );
  const { principal, autonomy } = holdfast.runtime;
  const exported = await autonomy.exportProjection(principal, run.view.sessionId);
  assert.deepEqual(
    exported.events.map(({ type }) => type),
    [
      'auto_run_started',
      'candidate_ready',
      'auto_audit_started',
      'auto_audit_completed',
      'repair_started',
      'repair_started',
      'repair_completed',
      'candidate_ready',
      'auto_audit_started',
      'auto_audit_completed',
      'auto_run_terminal',
    ],
  );
  await holdfast.close();
});

/** How a supervised run ended: its status, why, the limit that was reached, and how much was reviewed and repaired. */
async function ends(t: TestContext, setting: Omit<SupervisedSetting, 'dataDir'>) {
  const dataDir = join(await temporaryFolder(t), 'data');
  const world = await openSupervised({ dataDir, ...setting });
  const run = await world.agent.run('Write the total.');
  const { status, reason, stopReason, reviews, repairs } = run.supervision ?? {};
  await world.holdfast.close();
  return [status, reason, stopReason, reviews, repairs];
}

const saying = (document: unknown): Model =>
  functionModel(() => (typeof document === 'string' ? document : JSON.stringify(document)), 'saying');

check('a right result is verified at once', async (t) => {
  const end = await ends(t, { author: authorOf('total 42') });
  assert.deepEqual(end, ['verified', 'independent_review_passed', null, 1, 0]);
});

check('repairs end with their budget, and what is found twice is a loop', async (t) => {
  const wrong = authorOf('total 1', 'total 2', 'total 3', 'total 4');
  const budgets = { max_repair_rounds: 2, repeated_finding_limit: 9 };
  assert.deepEqual(await ends(t, { author: wrong, terms: { budgets } }), [
    'completed_with_issues',
    'findings',
    'budget_exhausted: max_repair_rounds',
    3,
    2,
  ]);
  assert.deepEqual(await ends(t, { author: wrong }), [
    'completed_with_issues',
    'findings',
    'loop_detected: repeated_finding_limit',
    2,
    1,
  ]);
});

check('a repair that leaves every byte as it was verifies nothing, whatever the next review says', async (t) => {
  let asked = 0;
  const fickle = functionModel(() => {
    asked += 1;
    return JSON.stringify(
      asked === 1 ? { verdict: 'issues', findings: [WRONG] } : { verdict: 'pass', summary: 'Fine.' },
    );
  }, 'fickle');
  const end = await ends(t, { author: authorOf('total 41'), reviewer: fickle });
  assert.deepEqual(end, ['completed_with_issues', 'reviews_disagree', null, 2, 1]);
});

check('only what a reviewer can be held to counts: anything else is no review', async (t) => {
  const unavailable = (review: number) => [
    'review_unavailable',
    'reviewer_unavailable',
    'budget_exhausted: max_review_rounds',
    review,
    0,
  ];
  const failing = functionModel(() => {
    throw new Error('down');
  }, 'down');
  assert.deepEqual(await ends(t, { reviewer: failing }), unavailable(2));
  for (const answer of [
    'It is fine.',
    '{"verdict":"fine"}',
    { verdict: 'issues', findings: {} },
    { verdict: 'issues', findings: [{ ...WRONG, evidence: [] }] },
    { verdict: 'issues', findings: [{ ...WRONG, evidence: ['elsewhere.txt'] }] },
    { verdict: 'issues', findings: [{ ...WRONG, severity: 'awful' }] },
    '{"verdict":"pass","verdict":"pass"}',
  ])
    assert.deepEqual(await ends(t, { reviewer: saying(answer) }), unavailable(2), JSON.stringify(answer));
  const contradiction = saying({ verdict: 'pass', findings: [WRONG] });
  const [status, reason] = await ends(t, { reviewer: contradiction });
  assert.deepEqual([status, reason], ['completed_with_issues', 'findings']);
});

check('an author may not review itself, under whatever name', async (t) => {
  const same = authorOf('total 42');
  const open = async (terms: Partial<AutonomyTerms>) =>
    openSupervised({ dataDir: join(await temporaryFolder(t), 'data'), author: same, terms });
  const refused = { code: 'AUTO_SELF_REVIEW' };
  await assert.rejects(open({ reviewer: { model: honestReviewer(), profileId: 'writer' } }), refused);
  await assert.rejects(open({ reviewer: { model: same, prompt: 'Write the report.' } }), refused);
  const permissionReviewer = { model: same, prompt: 'Write the report.' };
  await assert.rejects(open({ reviewer: { model: honestReviewer() }, permissionReviewer }), refused);
  // The same model with a prompt of its own is another reviewer, and so is the same prompt for another model.
  for (const reviewer of [{ model: same }, { model: honestReviewer(), prompt: 'Write the report.' }])
    await (await open({ reviewer })).holdfast.close();
});

check('what changes while it is reviewed is not verified: it is a candidate of its own', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const file = join(dataDir, '..', 'workspace', 'report.txt');
  let asked = 0;
  const reviewer = functionModel(() => {
    asked += 1;
    if (asked === 1) writeFileSync(file, 'total 13');
    return JSON.stringify(asked < 3 ? { verdict: 'pass' } : { verdict: 'issues', findings: [WRONG] });
  }, 'slow');
  const { holdfast, agent } = await openSupervised({ dataDir, author: authorOf('total 42'), reviewer });
  const run = await agent.run('Write the total.');
  assert.deepEqual([run.supervision?.status, asked], ['verified', 2]);
  const { principal, autonomy } = holdfast.runtime;
  const { events } = await autonomy.exportProjection(principal, run.view.sessionId);
  const candidates = events.filter(({ type }) => type === 'candidate_ready');
  const digests = candidates.map(({ payload }) => (payload as JsonObject)['artifact_set_sha256']);
  assert.equal(new Set(digests).size, 2);
  await holdfast.close();
});

check('a repair that does nothing, and one that leaves half of it, say so', async (t) => {
  const idle = functionModel(({ messages }) => {
    const repairs = messages.filter(({ role }) => role === 'user').length > 1;
    return !repairs && messages.at(-1)?.role === 'user' ? writes('total 41') : 'Nothing to do.';
  }, 'idle');
  assert.deepEqual(await ends(t, { author: idle, terms: { budgets: { max_repair_rounds: 2 } } }), [
    'completed_with_issues',
    'findings',
    'budget_exhausted: max_repair_rounds',
    1,
    2,
  ]);
  const half = functionModel(({ messages }) => {
    if (messages.at(-1)?.role !== 'user') return 'Done.';
    const repairs = messages.filter(({ role }) => role === 'user').length > 1;
    const { calls } = writes(repairs ? 'total 42' : 'total 41');
    return { calls: repairs ? [...calls, { toolName: 'delete_everything', arguments: {} }] : calls };
  }, 'half');
  assert.deepEqual(await ends(t, { author: half }), ['paused', 'repair_partial_commit', null, 1, 1]);
});

check('a repair stays within its turns and its calls', async (t) => {
  const busy = functionModel(({ messages }) => {
    const repairs = messages.filter(({ role }) => role === 'user').length > 1;
    if (!repairs && messages.at(-1)?.role !== 'user') return 'Done.';
    return writes(`total ${messages.length}`);
  }, 'busy');
  const turns = { repair_turns_per_round: 2, max_repair_rounds: 1, repeated_finding_limit: 9 };
  const spent = ['completed_with_issues', 'findings', 'budget_exhausted: max_repair_rounds', 2, 1];
  assert.deepEqual(await ends(t, { author: busy, terms: { budgets: turns } }), spent);
  const cells = { max_extra_cells: 3, repeated_finding_limit: 9, max_repair_rounds: 9 };
  const [, , stop, , repairs] = await ends(t, { author: busy, terms: { budgets: cells } });
  assert.deepEqual([stop, repairs], ['budget_exhausted: max_extra_cells', 1]);
});

check('calls of one reply beyond the budget are refused, and what stands is not tried again', async (t) => {
  const many = functionModel(({ messages }) => {
    if (messages.at(-1)?.role !== 'user') return 'Done.';
    const repairs = messages.filter(({ role }) => role === 'user').length > 1;
    return { calls: [1, 2, 3].slice(0, repairs ? 3 : 1).flatMap((n) => writes(`total ${n}`).calls) };
  }, 'many');
  const terms = { budgets: { max_extra_cells: 2 } };
  assert.deepEqual(await ends(t, { author: many, terms }), ['paused', 'repair_partial_commit', null, 1, 1]);
});

check('without a folder what is found is handed back: nothing could be put back', async (t) => {
  const reviewer = saying({ verdict: 'issues', findings: [{ ...WRONG, evidence: ['call_2_0'] }] });
  const [status, reason] = await ends(t, { noWorkspace: true, reviewer });
  assert.deepEqual([status, reason], ['completed_with_issues', 'repair_needs_workspace']);
});

check('presets: reviewed only, advised only, or left alone', async (t) => {
  const only = { preset: 'off', resultReviewMode: 'review_only' } as const;
  assert.deepEqual(await ends(t, { terms: only }), ['completed_with_issues', 'findings', null, 1, 0]);
  const advised = { preset: 'off', approvalsReviewer: 'auto_review' } as const;
  assert.deepEqual(await ends(t, { terms: advised }), ['review_unavailable', 'review_off', null, 0, 0]);
  const none = [undefined, undefined, undefined, undefined, undefined];
  assert.deepEqual(await ends(t, { terms: { preset: 'off' } }), none);
});

check('a run that fails has its supervision ended with it', async (t) => {
  const broken = functionModel(() => {
    throw fail('MODEL_REPLY_INVALID', 'broken');
  }, 'broken');
  assert.deepEqual(await ends(t, { author: broken }), ['failed', 'MODEL_REPLY_INVALID', null, 0, 0]);
});
