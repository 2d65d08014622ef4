import { isJsonObject, type JsonValue } from '../core/index.ts';

/** One line of a bound group, as far as it says how an action went. */
export interface LedgerLine {
  readonly type: string;
  /** The tool call's id, or else the action's. */
  readonly action: string | null;
  readonly sideEffectClass: string | null;
  readonly result: JsonValue;
}

export interface LedgerAttempt {
  readonly started: boolean;
  readonly terminalState: string | null;
}

export interface GroupEvidence {
  readonly kind: string;
  readonly lines: readonly LedgerLine[];
  readonly attempts: readonly LedgerAttempt[];
}

/** Whether the ledgers carry a claim; if they do, whether something stands that a retry would do twice. */
export type Judgement =
  | { readonly supported: true; readonly committed: boolean }
  | { readonly supported: false; readonly refusal: 'not_terminal' | 'evidence'; readonly why: string };

/** How one action ended. `committed` null: nothing says whether its effect stands. */
interface End {
  readonly way: 'success' | 'failure' | 'unknown' | 'timed_out';
  readonly committed: boolean | null;
  readonly effect: boolean;
  readonly by: 'result' | 'event' | 'permission';
}

interface Action {
  readonly effect: boolean;
  readonly ends: readonly End[];
}

const HARMLESS: ReadonlySet<string> = new Set(['none', 'read', 'read_only']);
const FAILURES: ReadonlySet<unknown> = new Set(['error', 'failed', 'denied', 'cancelled', 'timed_out']);
const SUCCESSES: ReadonlySet<unknown> = new Set(['ok', 'completed', 'succeeded', 'success', 'allowed']);
const REFUSED: ReadonlySet<unknown> = new Set(['denied', 'cancelled']);
const ATTEMPT_SUCCESSES: ReadonlySet<string> = new Set(['completed', 'succeeded', 'ok']);
const EXECUTING: ReadonlySet<string> = new Set(['code', 'cell']);
const CALLING: ReadonlySet<string> = new Set(['native_tools', 'finalize']);

/** Everything but a read counts as an effect, an absent class too. */
const isEffect = (sideEffectClass: string | null): boolean =>
  sideEffectClass === null || !HARMLESS.has(sideEffectClass);

const member = (value: JsonValue, name: string): JsonValue => (isJsonObject(value) ? (value[name] ?? null) : null);

function endOf(line: LedgerLine): End | null {
  const effect = isEffect(line.sideEffectClass);
  const told = member(line.result, 'output_committed');
  const committed = typeof told === 'boolean' ? told : null;
  switch (line.type) {
    case 'result':
      return resultEnd(line.result, committed, effect);
    case 'completed':
      return { way: 'success', committed, effect, by: 'event' };
    case 'failed':
      return { way: 'failure', committed, effect, by: 'event' };
    case 'denied':
    case 'cancelled':
      return { way: 'failure', committed: committed ?? false, effect, by: 'event' };
    case 'timed_out':
      return { way: 'timed_out', committed, effect, by: 'event' };
    case 'permission_resolved':
      return { way: 'failure', committed: false, effect, by: 'permission' };
    default:
      return null;
  }
}

function resultEnd(result: JsonValue, committed: boolean | null, effect: boolean): End {
  const status = member(result, 'status');
  const isError = member(result, 'is_error');
  const by = 'result';
  if (isError === true || FAILURES.has(status)) {
    const way = status === 'timed_out' ? 'timed_out' : 'failure';
    return { way, committed: REFUSED.has(status) ? (committed ?? false) : committed, effect, by };
  }
  if (isError === false || SUCCESSES.has(status)) return { way: 'success', committed, effect, by };
  return { way: 'unknown', committed, effect, by };
}

/** The last word on an action's permission: an edit cancels one request and allows the next. */
function isSuperseded(lines: readonly LedgerLine[], at: number): boolean {
  const { type, action, result } = lines[at] as LedgerLine;
  if (type !== 'permission_resolved') return false;
  if (member(result, 'state') === 'allowed') return true;
  return lines.slice(at + 1).some((later) => later.type === type && later.action === action);
}

/** What was unknown and is known since: a later result of the same action says how it ended. */
function isSettled(lines: readonly LedgerLine[], at: number): boolean {
  const { type, action } = lines[at] as LedgerLine;
  return type === 'result' && lines.slice(at + 1).some((later) => later.type === type && later.action === action);
}

const endsOf = (group: GroupEvidence): (End & { readonly action: string | null })[] =>
  group.lines.flatMap((line, at) => {
    const end = isSuperseded(group.lines, at) ? null : endOf(line);
    if (!end || (end.way === 'unknown' && isSettled(group.lines, at))) return [];
    return [{ ...end, action: line.action }];
  });

function actionsOf(group: GroupEvidence): Map<string | null, Action> {
  const ends = endsOf(group);
  const actions = new Map<string | null, Action>();
  for (const line of group.lines) {
    if (line.type !== 'proposed') continue;
    const effect = isEffect(line.sideEffectClass) || (actions.get(line.action)?.effect ?? false);
    actions.set(line.action, { effect, ends: ends.filter((end) => end.action === line.action) });
  }
  return actions;
}

const refuse = (refusal: 'not_terminal' | 'evidence', why: string): Judgement => ({ supported: false, refusal, why });
const supported = (committed: boolean): Judgement => ({ supported: true, committed });

/** Nothing is claimed of an action that cannot be told from another. */
const nameless = (groups: readonly GroupEvidence[]): boolean => groups.some((group) => actionsOf(group).has(null));

const committedIn = (groups: readonly GroupEvidence[]): boolean =>
  groups.some((group) => endsOf(group).some((end) => end.by === 'result' && end.effect && end.committed === true));

/** Holds a claimed status against what the ledgers of all bound groups say together. Pure. */
export function judge(status: 'completed' | 'failed' | 'outcome_unknown', groups: readonly GroupEvidence[]): Judgement {
  if (groups.length === 0) return refuse('not_terminal', 'no action group is bound to it');
  if (nameless(groups)) return refuse('evidence', 'a proposal has no id');
  if (status === 'outcome_unknown') return judgeUnknown(groups);
  if (groups.some((group) => group.attempts.some((attempt) => attempt.terminalState === null)))
    return refuse('not_terminal', 'an attempt is open');
  return status === 'completed' ? judgeCompleted(groups) : judgeFailed(groups);
}

function judgeCompleted(groups: readonly GroupEvidence[]): Judgement {
  for (const group of groups) {
    if (endsOf(group).some((end) => end.way === 'failure' || end.way === 'timed_out'))
      return refuse('evidence', 'an action failed');
    if (group.attempts.some((attempt) => attempt.terminalState !== 'completed'))
      return refuse('evidence', 'an attempt did not complete');
    const lacking = lacksSuccess(group);
    if (lacking) return lacking;
  }
  return supported(committedIn(groups));
}

/** What a group of its kind must show to count as done. */
function lacksSuccess(group: GroupEvidence): Judgement | null {
  if (CALLING.has(group.kind)) {
    const actions = [...actionsOf(group).values()];
    if (actions.length === 0) return refuse('not_terminal', 'nothing was proposed');
    if (actions.some((action) => action.ends.length === 0)) return refuse('not_terminal', 'an action has no result');
    const done = ({ ends }: Action): boolean =>
      ends.some((end) => end.by === 'result') && ends.every((end) => end.way === 'success');
    return actions.every(done) ? null : refuse('evidence', 'an outcome is unknown');
  }
  if (EXECUTING.has(group.kind)) {
    const seen = group.lines.some((line) => line.type === 'observation') && group.attempts.length > 0;
    return seen ? null : refuse('not_terminal', 'nothing was executed and observed');
  }
  return group.lines.some((line) => line.type === 'completed') ? null : refuse('not_terminal', 'it was not completed');
}

function judgeFailed(groups: readonly GroupEvidence[]): Judgement {
  for (const group of groups) {
    if (group.attempts.some(isUncertain)) return refuse('evidence', 'what an attempt did is unknown');
    if (EXECUTING.has(group.kind) && group.attempts.some((one) => ATTEMPT_SUCCESSES.has(one.terminalState ?? '')))
      return refuse('evidence', 'an attempt succeeded');
    for (const { effect, ends } of actionsOf(group).values()) {
      if (ends.length === 0) return refuse('not_terminal', 'an action has no result');
      if (ends.some((end) => end.way === 'unknown')) return refuse('evidence', 'an outcome is unknown');
      if (effect && ends.every((end) => end.committed === null))
        return refuse('evidence', 'nothing says whether an effect stands');
    }
  }
  if (!groups.some(hasFailure)) return refuse('evidence', 'there is no known failure');
  return supported(committedIn(groups));
}

const hasFailure = (group: GroupEvidence): boolean =>
  endsOf(group).some((end) => end.way === 'failure' || end.way === 'timed_out') ||
  group.attempts.some((attempt) => FAILURES.has(attempt.terminalState));

/** It had started, and nobody saw it end. */
const isUncertain = (attempt: LedgerAttempt): boolean =>
  attempt.terminalState === 'outcome_unknown' || (attempt.terminalState === 'abandoned' && attempt.started);

function judgeUnknown(groups: readonly GroupEvidence[]): Judgement {
  const uncertain = groups.some(
    (group) =>
      group.attempts.some(isUncertain) ||
      endsOf(group).some((end) => end.effect && (end.way === 'unknown' || end.way === 'timed_out')) ||
      (group.attempts.length === 0 &&
        [...actionsOf(group).values()].some((one) => one.effect && one.ends.length === 0)),
  );
  return uncertain ? supported(committedIn(groups)) : refuse('evidence', 'there is no uncertain side-effect');
}
