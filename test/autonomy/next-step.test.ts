import {
  budgetsOf,
  goesInCircles,
  noRepair,
  noReview,
  overspent,
  type Spent,
} from '../../src/autonomy/supervise/budgets.ts';
import { nextStep } from '../../src/autonomy/supervise/next-step.ts';
import type { Standing } from '../../src/autonomy/supervise/standing.ts';
import { assert, check } from '../support/index.ts';

const BUDGETS = budgetsOf({});
const NOTHING: Spent = {
  reviewsOfCandidate: 0,
  repairs: 0,
  cells: 0,
  sinceCandidateMs: 0,
  authorTokens: 0,
  extraTokens: 0,
  repeatedFinding: 0,
};

check('each budget stops exactly where it is reached, and is named', () => {
  const stops = (spent: Partial<Spent>, of = noRepair) => of(BUDGETS, { ...NOTHING, ...spent })?.limit ?? null;
  assert.deepEqual([stops({ repairs: 1 }), stops({ repairs: 2 })], [null, 'max_repair_rounds']);
  assert.deepEqual([stops({ cells: 29 }), stops({ cells: 30 })], [null, 'max_extra_cells']);
  assert.deepEqual([stops({ repeatedFinding: 1 }), stops({ repeatedFinding: 2 })], [null, 'repeated_finding_limit']);
  assert.deepEqual(
    [stops({ reviewsOfCandidate: 1 }, noReview), stops({ reviewsOfCandidate: 2 }, noReview)],
    [null, 'max_review_rounds'],
  );
  const wall = [899_999, 900_000].map((sinceCandidateMs) => stops({ sinceCandidateMs }, overspent));
  assert.deepEqual(wall, [null, 'wall_time_s']);
  const tokens = (authorTokens: number, extraTokens: number) => stops({ authorTokens, extraTokens }, overspent);
  assert.deepEqual([tokens(0, 50_000), tokens(0, 50_001)], [null, 'extra_token_multiplier']);
  assert.deepEqual([tokens(20_000, 100_000), tokens(20_000, 100_001)], [null, 'extra_token_multiplier']);
});

check('a repair that repeats itself, or writes nothing, goes in circles', () => {
  const turn = (call: string, wrote = true) => ({ wrote, calls: [call] });
  const limit = (...turns: ReturnType<typeof turn>[]) => goesInCircles(BUDGETS, turns)?.limit ?? null;
  assert.equal(limit(), null);
  assert.equal(limit(turn('a'), turn('a')), null);
  assert.equal(limit(turn('a'), turn('a'), turn('a')), 'same_action_no_delta_limit');
  assert.equal(limit(turn('a'), turn('a'), turn('b'), turn('a')), null);
  const idle = ['a', 'b', 'c', 'd', 'e'].map((call) => turn(call, false));
  assert.equal(limit(...idle.slice(1)), null);
  assert.equal(limit(...idle), 'no_progress_turn_limit');
  assert.equal(limit(...idle, turn('f')), null);
});

check('budgets are whole, known and bounded', () => {
  const wrong = { code: 'INVALID_VALUE' };
  for (const given of [
    { max_repair_rounds: -1 },
    { wall_time_s: 0.5 },
    { max_review_rounds: 0 },
    { wall_time_s: Number.NaN },
  ])
    assert.throws(() => budgetsOf(given), wrong);
  assert.throws(() => budgetsOf({ max_review_attempts: 2 } as object), wrong);
  assert.equal(budgetsOf({ extra_token_multiplier: 1.5 }).extra_token_multiplier, 1.5);
});

/** A candidate with the reviews that were made of it, the oldest first. */
function standing(...reviews: readonly { readonly verdict: string; readonly severity?: string }[]): Standing {
  const run = { status: 'candidate', mode: 'auto_fix', candidate_id: 'c' };
  const rows = reviews.map(({ verdict }, at) => {
    return {
      review_run_id: `r${at}`,
      candidate_id: 'c',
      status: 'completed',
      verdict,
      start_idempotency_key: `k${at}`,
    };
  });
  const findings = reviews.flatMap(({ severity }, at) =>
    severity === undefined ? [] : [{ review_run_id: `r${at}`, candidate_id: 'c', severity, status: 'open' }],
  );
  const events = reviews.map((_, at) => ({ idempotency_key: `k${at}`, event_cursor: at + 1 }));
  return { run, reviews: rows, findings, events, repairs: [], assessments: [] } as unknown as Standing;
}

check('a pass is verified only where no review of these bytes found anything material', () => {
  const next = (of: Standing) => {
    const step = nextStep({ status: 'completed', text: '', finishedAt: 1 }, of, BUDGETS, NOTHING);
    return step.step === 'end' ? `${step.status} ${step.reason}` : step.step;
  };
  assert.equal(next(standing()), 'review');
  assert.equal(next(standing({ verdict: 'pass' })), 'verify');
  assert.equal(next(standing({ verdict: 'pass', severity: 'minor' })), 'verify');
  assert.equal(next(standing({ verdict: 'issues', severity: 'major' })), 'repair');
  assert.equal(next(standing({ verdict: 'issues' })), 'completed_with_issues no_finding_to_repair');
  const disagree = standing({ verdict: 'issues', severity: 'major' }, { verdict: 'pass' });
  assert.equal(next(disagree), 'completed_with_issues reviews_disagree');
});
