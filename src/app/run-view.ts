import type { ShownRequest } from '../approvals/index.ts';
import type { SupervisionView } from '../autonomy/index.ts';
import {
  type CallOutcome,
  knownSince,
  type LedgerCall,
  outcomeDocument,
  RESULT_PATHS,
  shownArguments,
} from '../calls/index.ts';
import type { JsonObject, JsonValue } from '../core/index.ts';
import {
  cutOf,
  type CutReason,
  type Damage,
  goalsOf,
  type GoalTree,
  type GroupWithCalls,
  historyOfTurn,
  isOfMainLine,
  newestReplyOfTurn,
  type RunRecord,
  sideBranchesOfTurn,
} from '../runs/index.ts';
import { countCallsOfTurn, type PageQuery, type Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { Runtime } from './runtime.ts';

/** One call of a run as every surface shows it. */
export interface CallView {
  readonly callId: string;
  readonly tool: string;
  /** Canonical JSON, secrets redacted; null where the proposal could not be read. */
  readonly argumentsText: string | null;
  /** Null while it has not ended. */
  readonly outcome: CallOutcome | null;
  readonly statusRef: string | null;
  /** How often the tool was invoked again, as it declares, before its outcome was known. */
  readonly retries: number;
  /** What an enforced policy would have done, where shadow mode let the call pass. */
  readonly shadow: LedgerCall['shadow'];
}

/** A tool's report and what was read back after it are counted apart: the one says nothing of the other. */
export interface RunSummary {
  /** All calls of the run, also where a view shows a page of them. */
  readonly calls: number;
  /** Calls whose tools reported success, the verified ones included. */
  readonly reportedDone: number;
  /** Of those, the ones of which a reading made afterwards saw the required end state. */
  readonly verified: number;
  readonly unknown: number;
}

/** A short detour of a run. Its turns are counted from what is stored. */
export interface SideBranchView {
  readonly branchId: string;
  readonly type: string;
  readonly turnsUsed: number;
  readonly maxTurns: number;
  readonly state: 'open' | 'closed';
  /** What it said last; empty before its first turn. */
  readonly text: string;
  /** Why its last turn ended, where that did not come to its end by itself: its text may not be whole. Null otherwise. */
  readonly cut: CutReason | null;
}

/** A run as every surface shows it: how it stands, what waits, what became of each call. */
export interface RunView {
  readonly runId: string;
  readonly sessionId: string;
  readonly agent: string;
  readonly task: string;
  readonly status: RunRecord['state']['status'];
  /**
   * What is known of its outcome, beside the stored word: `unknown` where it is failed and something may have
   * happened, `interrupted` where its process ended.
   */
  readonly outcome: 'unknown' | 'interrupted' | null;
  /** Why it failed, and how it goes on once what was unknown of it is known; empty otherwise. */
  readonly reason: string;
  /** Its process is dead, and it is left as it is, since a record of it is damaged; null otherwise. */
  readonly damage: Damage | null;
  readonly text: string;
  /** Why its last reply ended, where that did not come to its end by itself: its text may not be whole. Null otherwise. */
  readonly cut: CutReason | null;
  /** In their order; of a view that was asked for a page, the newest ones. */
  readonly calls: readonly CallView[];
  /** Where the page of older calls begins; null where `calls` begins with the first. */
  readonly olderCalls: string | null;
  /** What all of its calls came to, counted: what was reported as done, and what of that was seen afterwards. */
  readonly summary: RunSummary;
  /** How its supervision stands, proved as it is read; null where nobody supervises it. */
  readonly supervision: SupervisionView | null;
  /** Its short detours, in the order in which they were opened. */
  readonly sideBranches: readonly SideBranchView[];
  /** The goal tree beside it; null where none was given. */
  readonly goals: GoalTree | null;
  /** What a person has to decide, in this run and in every run below it. */
  readonly pending: readonly ShownRequest[];
  /** The run whose call began this one; null for a run of its own. */
  readonly parentRunId: string | null;
  readonly turnsUsed: number;
  readonly tokens: { readonly prompt: number; readonly completion: number };
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * The run of the principal's tenant as it stands now. With a page only so many calls are read and shown, the newest first
 * page; `after` is the `olderCalls` of the view before. The others are counted. RUN_NOT_FOUND, INVALID_VALUE.
 */
export async function viewOfRun(
  runtime: Runtime,
  principal: Principal,
  runId: string,
  page?: PageQuery,
): Promise<RunView> {
  const tree = await runtime.runs.tree(principal, runId);
  const run = tree.find((one) => one.runId === runId) ?? (await runtime.runs.get(principal, runId));
  const { own, next, sides, last, counted, goals } = await runtime.store.read('app.run-view', async (tx) => ({
    ...(await readTurn(tx, principal, run, page)),
    goals: await goalsOf(tx, runId),
  }));
  const told = await knownSince(runtime.calls, principal, own);
  const calls = ofItsSize(told.flatMap((one) => one.calls.map((call) => callView(runtime, call))));
  const summary = counted ? await countedSince(runtime, principal, run, counted) : summaryOf(calls);
  const damage = await runtime.runs.damageOf(run);
  const supervision = await runtime.autonomy.supervisionOf(principal, run.place);
  return {
    runId,
    sessionId: run.place.rootFrameId,
    agent: run.agent,
    task: run.task,
    status: run.state.status,
    outcome: damage ? 'unknown' : outcomeOf(run, summary),
    reason: reasonOf(run, summary),
    damage: damage && { code: damage.code, why: damage.why },
    // A repair says more in the same turn than the author's last words.
    text: run.state.status === 'completed' && supervision === null ? run.state.text : (last?.assistantContent ?? ''),
    cut: last && cutOf(last),
    calls,
    olderCalls: next,
    summary,
    sideBranches: sides.map(sideBranchView).filter((one) => one !== null),
    goals,
    supervision,
    // What waits in it cannot be decided while it is left, and a damaged request is not shown.
    pending: damage ? [] : await pendingOf(runtime, principal, tree),
    parentRunId: run.parent?.runId ?? null,
    turnsUsed: run.turnsUsed,
    tokens: { prompt: run.promptTokens, completion: run.completionTokens },
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
  };
}

/**
 * How runs of a list stand: what `viewOfRun` says of each, by counting its calls. One statement a run, in one snapshot;
 * those of which something is unknown are looked at further.
 */
export async function standingsOf(
  runtime: Runtime,
  principal: Principal,
  runs: readonly RunRecord[],
): Promise<readonly Pick<RunView, 'outcome' | 'reason'>[]> {
  const counts = await runtime.store.read('app.run-standings', async (tx) => {
    const found: RunSummary[] = [];
    for (const { place } of runs) found.push(await countTurn(tx, principal, place));
    return found;
  });
  return Promise.all(
    runs.map(async (run, at) => {
      const summary = await countedSince(runtime, principal, run, counts[at] ?? NONE);
      const damage = await runtime.runs.damageOf(run);
      return { outcome: damage ? 'unknown' : outcomeOf(run, summary), reason: reasonOf(run, summary) };
    }),
  );
}

/** What the ledger tells of a run: all of it, or of its calls a page and the number of the others. */
async function readTurn(tx: ReadTx, principal: Principal, { place }: RunRecord, page: PageQuery | undefined) {
  const { groups, next } = await historyOfTurn(tx, principal, place, page);
  const own = groups.filter(({ group }) => group.kind !== 'user');
  if (page === undefined) {
    const last = own.findLast(({ group }) => isOfMainLine(group))?.group ?? null;
    return { own, next, sides: own, last, counted: null };
  }
  return {
    own,
    next,
    sides: await sideBranchesOfTurn(tx, principal, place),
    last: await newestReplyOfTurn(tx, principal, place),
    counted: await countTurn(tx, principal, place),
  };
}

const NONE: RunSummary = { calls: 0, reportedDone: 0, verified: 0, unknown: 0 };

async function countTurn(tx: ReadTx, principal: Principal, place: RunRecord['place']): Promise<RunSummary> {
  const { calls, done: reportedDone, verified, unknown } = await countCallsOfTurn(tx, principal, place, RESULT_PATHS);
  return { calls, reportedDone, verified, unknown };
}

/** What was counted, with what became known since of calls that the ledger leaves unknown: read where there are some. */
async function countedSince(
  runtime: Runtime,
  principal: Principal,
  { place }: RunRecord,
  counted: RunSummary,
): Promise<RunSummary> {
  if (counted.unknown === 0) return counted;
  const { groups } = await runtime.store.read('app.run-unknown', (tx) => historyOfTurn(tx, principal, place));
  const known = await knownSince(runtime.calls, principal, groups);
  const then = new Set(groups.flatMap(({ calls }) => calls));
  const since = known.flatMap(({ calls }) => calls.filter((call) => !then.has(call)));
  const done = since.filter(({ outcome }) => outcome?.state === 'done').length;
  return { ...counted, reportedDone: counted.reportedDone + done, unknown: counted.unknown - since.length };
}

/** Null for a group that is no side branch. */
export function sideBranchView({ group, side }: GroupWithCalls): SideBranchView | null {
  if (!side) return null;
  const { type, turns, maxTurns, closed } = side;
  const { text, cut } = turns.at(-1) ?? { text: '', cut: null };
  const state = closed ? 'closed' : 'open';
  return { branchId: group.groupId, type, turnsUsed: turns.length, maxTurns, state, text, cut };
}

/** `unknown` where a call of a run that nobody carries out is; `interrupted` where it stands still with its calls known. */
export function outcomeOf(run: RunRecord, { unknown }: Pick<RunSummary, 'unknown'>): RunView['outcome'] {
  // While a living process carries it out, what has started is under way: each call says so itself.
  if (run.state.status === 'running' && run.state.ownerInstanceId !== null) return null;
  if (unknown > 0) return 'unknown';
  return run.state.status === 'running' ? 'interrupted' : null;
}

/** A run that ended on an unknown outcome says so until everything of it is known: from then on, that it can go on. */
export function reasonOf({ runId, parent, state }: RunRecord, { unknown }: Pick<RunSummary, 'unknown'>): string {
  if (state.status !== 'failed') return '';
  if (state.code !== 'OUTCOME_UNKNOWN' || unknown > 0) return state.message;
  const goOn = parent === null ? `; to go on: holdfast runs resume ${runId}` : '';
  return `What was unknown of a call when it ended is known by now${goOn}`;
}

function summaryOf(calls: readonly CallView[]): RunSummary {
  const done = calls.filter(({ outcome }) => outcome?.state === 'done');
  return {
    calls: calls.length,
    reportedDone: done.length,
    verified: done.filter(({ outcome }) => outcome?.state === 'done' && outcome.verified).length,
    unknown: calls.filter(({ outcome }) => outcome?.state === 'unknown').length,
  };
}

function callView(runtime: Runtime, call: LedgerCall): CallView {
  const { callId, toolName, outcome, statusRef, retries, shadow } = call;
  return {
    callId,
    tool: toolName,
    argumentsText: shownArguments(runtime.tools, call),
    outcome,
    statusRef,
    retries,
    shadow,
  };
}

/** What waits in the run and in every run below it, in the order in which the runs began. */
async function pendingOf(
  runtime: Runtime,
  principal: Principal,
  tree: readonly RunRecord[],
): Promise<readonly ShownRequest[]> {
  const found: ShownRequest[] = [];
  for (const { runId: id, place } of tree) {
    const { rootFrameId } = place;
    found.push(...(await runtime.approvals.pendingOfRun(principal, { rootFrameId, runId: id })));
  }
  return ofItsSize(found);
}

/** A list that grew has room for sixteen more, which a view would hold as long as its run waits. */
const ofItsSize = <T>(list: readonly T[]): readonly T[] => list.slice();

/** The document of a run: what `--json` and HTTP carry. Snake case, closed. */
export function runDocument(view: RunView): JsonObject {
  return {
    run_id: view.runId,
    session_id: view.sessionId,
    agent: view.agent,
    task: view.task,
    status: view.status,
    outcome: view.outcome,
    reason: view.reason,
    damage: view.damage && { code: view.damage.code, why: view.damage.why },
    text: view.text,
    cut: view.cut,
    calls: view.calls.map(callDocument),
    calls_next: view.olderCalls,
    summary: {
      calls: view.summary.calls,
      reported_done: view.summary.reportedDone,
      verified: view.summary.verified,
      unknown: view.summary.unknown,
    },
    supervision: view.supervision && supervisionDocument(view.supervision),
    side_branches: view.sideBranches.map(sideBranchViewDocument),
    goals: view.goals,
    pending: view.pending.map(({ requestId }) => requestId),
    parent_run_id: view.parentRunId,
    turns_used: view.turnsUsed,
    tokens: { prompt: view.tokens.prompt, completion: view.tokens.completion },
    created_at: view.createdAt,
    updated_at: view.updatedAt,
  };
}

export const sideBranchViewDocument = (view: SideBranchView): JsonObject => ({
  branch_id: view.branchId,
  type: view.type,
  turns_used: view.turnsUsed,
  max_turns: view.maxTurns,
  state: view.state,
  text: view.text,
  cut: view.cut,
});

/** The document of a supervision. */
export function supervisionDocument(view: SupervisionView): JsonObject {
  return {
    auto_run_id: view.autoRunId,
    status: view.status,
    reason: view.reason,
    stop_reason: view.stopReason,
    claimed_status: view.claimed,
    reviews: view.reviews,
    repairs: view.repairs,
    summary: view.summary,
    review_tokens: { ...view.tokens },
    findings: view.findings.map(({ severity, category, claim, evidence_refs, status }) => {
      return { severity, category, claim, evidence: evidence_refs, status };
    }),
    advice: view.advice.map(({ decision_id, outcome, risk, public_summary }) => {
      return { request_id: decision_id, outcome, risk, summary: public_summary };
    }),
  };
}

function callDocument(call: CallView): JsonValue {
  return {
    call_id: call.callId,
    tool: call.tool,
    arguments: call.argumentsText,
    status_ref: call.statusRef,
    retries: call.retries,
    shadow: call.shadow,
    ...(call.outcome ? outcomeDocument(call.outcome) : { outcome: null }),
  };
}
