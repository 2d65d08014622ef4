import { fail, type JsonObject } from '../../core/index.ts';

/** What the supervision of one run may spend beyond the author's own turns. */
export interface AutonomyBudgets {
  /** Reviews of one candidate, the first included. Default 2. */
  readonly max_review_rounds: number;
  /** Repairs in all. Default 2. */
  readonly max_repair_rounds: number;
  /** Model turns of one repair. Default 12. */
  readonly repair_turns_per_round: number;
  /** Calls of all repairs. Default 30. */
  readonly max_extra_cells: number;
  /** Seconds from the first candidate on, waiting for people included. Default 900. */
  readonly wall_time_s: number;
  /** Tokens of reviews and repairs, as a multiple of the author's, which count as 10,000 at least. Default 5. */
  readonly extra_token_multiplier: number;
  /** How often the same finding may be made. Default 2. */
  readonly repeated_finding_limit: number;
  /** How often a repair may do the same thing with the same result, in a row. Default 3. */
  readonly same_action_no_delta_limit: number;
  /** Turns of a repair, in a row, in which no write was done. Default 5. */
  readonly no_progress_turn_limit: number;
  /** Seconds that one piece of advice may take. Default 90. */
  readonly guardian_timeout_s: number;
}

export type BudgetName = keyof AutonomyBudgets;

/** Each with its default, the least and the most that may be set. */
const BOUNDS: Readonly<Record<BudgetName, readonly [standard: number, least: number, most: number]>> = {
  max_review_rounds: [2, 1, 100],
  max_repair_rounds: [2, 0, 100],
  repair_turns_per_round: [12, 1, 1000],
  max_extra_cells: [30, 0, 10_000],
  wall_time_s: [900, 1, 604_800],
  extra_token_multiplier: [5, 0, 1000],
  repeated_finding_limit: [2, 1, 100],
  same_action_no_delta_limit: [3, 1, 100],
  no_progress_turn_limit: [5, 1, 1000],
  guardian_timeout_s: [90, 1, 900],
};

const NAMES = Object.keys(BOUNDS) as BudgetName[];

/** The budgets, complete. INVALID_VALUE for a name that is not known, or a number out of its bounds. */
export function budgetsOf(given: Partial<AutonomyBudgets>): AutonomyBudgets {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(BOUNDS, name)) throw fail('INVALID_VALUE', `There is no budget ${name.slice(0, 64)}.`);
  return Object.fromEntries(NAMES.map((name) => [name, bounded(name, given[name])])) as unknown as AutonomyBudgets;
}

function bounded(name: BudgetName, value: number | undefined): number {
  const [standard, least, most] = BOUNDS[name];
  const number = value ?? standard;
  const whole = name === 'extra_token_multiplier' ? Number.isFinite(number) : Number.isSafeInteger(number);
  if (whole && number >= least && number <= most) return number;
  throw fail('INVALID_VALUE', `budgets.${name} must be ${least} to ${most}.`);
}

/** The budgets as a run recorded them when it began: what is configured since does not loosen them. */
export const recordedBudgets = (document: JsonObject): AutonomyBudgets =>
  budgetsOf(
    Object.fromEntries(NAMES.flatMap((name) => (typeof document[name] === 'number' ? [[name, document[name]]] : []))),
  );

export const budgetDocument = (budgets: AutonomyBudgets): JsonObject => ({ ...budgets });

/** What the supervision of a run has spent so far. */
export interface Spent {
  readonly reviewsOfCandidate: number;
  readonly repairs: number;
  readonly cells: number;
  readonly sinceCandidateMs: number;
  readonly authorTokens: number;
  readonly extraTokens: number;
  /** How often the most frequent finding was made. */
  readonly repeatedFinding: number;
}

/** A limit that was reached, as the end of a run names it. */
export interface Reached {
  readonly stop: 'budget_exhausted' | 'loop_detected';
  readonly limit: BudgetName;
}

const exhausted = (limit: BudgetName): Reached => ({ stop: 'budget_exhausted', limit });

/** A review has to read its instructions and the files, however little the author did. */
const LEAST_TOKENS = 10_000;

/** What forbids any further step, or null. */
export function overspent(budgets: AutonomyBudgets, spent: Spent): Reached | null {
  if (spent.sinceCandidateMs >= budgets.wall_time_s * 1000) return exhausted('wall_time_s');
  if (spent.extraTokens > budgets.extra_token_multiplier * Math.max(spent.authorTokens, LEAST_TOKENS))
    return exhausted('extra_token_multiplier');
  return null;
}

/** What forbids another review of the current candidate, or null. */
export function noReview(budgets: AutonomyBudgets, spent: Spent): Reached | null {
  if (spent.reviewsOfCandidate >= budgets.max_review_rounds) return exhausted('max_review_rounds');
  return overspent(budgets, spent);
}

/** What forbids another repair, or null. */
export function noRepair(budgets: AutonomyBudgets, spent: Spent): Reached | null {
  if (spent.repeatedFinding >= budgets.repeated_finding_limit)
    return { stop: 'loop_detected', limit: 'repeated_finding_limit' };
  if (spent.repairs >= budgets.max_repair_rounds) return exhausted('max_repair_rounds');
  if (spent.cells >= budgets.max_extra_cells) return exhausted('max_extra_cells');
  return overspent(budgets, spent);
}

/** One turn of a repair, as far as it says whether anything moves. */
export interface RepairTurn {
  readonly wrote: boolean;
  /** Each call: what was done and what came of it, as one text. */
  readonly calls: readonly string[];
}

/** What forbids another turn of a repair, or null: it does the same over and over, or changes nothing. */
export function goesInCircles(budgets: AutonomyBudgets, turns: readonly RepairTurn[]): Reached | null {
  const calls = turns.flatMap((turn) => turn.calls);
  const last = calls.at(-1);
  const repeated = calls.length - 1 - calls.findLastIndex((call) => call !== last);
  if (calls.length > 0 && repeated >= budgets.same_action_no_delta_limit)
    return { stop: 'loop_detected', limit: 'same_action_no_delta_limit' };
  const idle = turns.length - 1 - turns.findLastIndex((turn) => turn.wrote);
  if (idle >= budgets.no_progress_turn_limit) return { stop: 'loop_detected', limit: 'no_progress_turn_limit' };
  return null;
}
