import type { ShownRequest } from '../../approvals/index.ts';
import type { AutoAssessment } from '../../autonomy/index.ts';
import { knownSince, type LedgerCall, sessionCalls, shownArguments } from '../../calls/index.ts';
import { fail, JSON_PROFILES, LIMITS, readCanonicalJson, redact } from '../../core/index.ts';
import { isFollowUp, type RunRecord } from '../../runs/index.ts';
import { type ActionGroup, listGroups, type Principal, ProposedSecrets } from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { outcomeOf, reasonOf } from '../run-view.ts';
import type { Runtime } from '../runtime.ts';
import {
  partOf,
  type Report,
  type ReportCounts,
  type ReportedCall,
  type ReportedRequest,
  type ReportedRun,
} from './model.ts';

/**
 * What ran since a time in the principal's tenant: each run that was touched since then, every call of its turn, and
 * everything that waits, however old. At most `reportRuns` runs and `reportCalls` calls, the newest; `whole` says
 * whether that was all. Changes nothing. INVALID_VALUE for a time that is not one.
 */
export async function makeReport(
  runtime: Runtime,
  principal: Principal,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<Report> {
  if (!Number.isSafeInteger(since) || since < 0) throw fail('INVALID_VALUE', 'since must be a time.');
  const { runs, whole } = await runsSince(runtime, principal, since);
  const byTurn = await callsByTurn(runtime, principal, runs);
  const calls: ReportedCall[] = [];
  const reported: ReportedRun[] = [];
  const advice = new Map<string, AutoAssessment>();
  let allCalls = true;
  for (const run of runs) {
    // A follow-up stands in the turn of the run before it, which tells of its calls.
    const own = isFollowUp(run) ? [] : (byTurn.get(turnKey(run)) ?? []);
    const known = await knownSince(runtime.calls, principal, own);
    const told = known.flatMap(({ calls: made }) => made.map((call) => reportedCall(runtime, run.runId, call)));
    const standing = run.parent && !isFollowUp(run) ? null : await runtime.autonomy.supervisionOf(principal, run.place);
    const supervision = run.parent ? null : standing;
    for (const one of supervision?.advice ?? []) advice.set(one.decision_id, one);
    reported.push(reportedRun(run, told, supervision, standing));
    if (calls.length + told.length > LIMITS.reportCalls) allCalls = false;
    else calls.push(...told);
  }
  const pending = await pendingAll(runtime, principal);
  const secrets = await runtime.store.read('app.report-secrets', (tx) =>
    ProposedSecrets.read(
      tx,
      pending.map((one) => callOf(one).groupId),
    ),
  );
  const waiting = pending.map((one) =>
    reportedRequest(one, advice.get(one.requestId), [
      ...secretsOf(secrets, one),
      ...runtime.tools.secretFieldsOf(one.tool),
    ]),
  );
  const counts = countsOf(runs, reported, calls, waiting.length);
  return { madeAt: now, since, whole: whole && allCalls, counts, runs: reported, calls, waiting };
}

async function runsSince(
  { runs, autonomy }: Runtime,
  principal: Principal,
  since: number,
): Promise<{ readonly runs: readonly RunRecord[]; readonly whole: boolean }> {
  const found: RunRecord[] = [];
  const supervised = new Set((await autonomy.openPlaces(principal)).map((place) => turnKey({ place })));
  const isOpen = (run: RunRecord): boolean => isUnended(run) || supervised.has(turnKey(run));
  let before: string | undefined;
  do {
    const page = await runs.list(principal, { limit: LIMITS.sessionPageRows, ...(before ? { before } : {}) });
    const [damaged] = page.damaged;
    if (damaged) throw fail('RUN_RECORD_BROKEN', damaged.why);
    for (const run of page.items) if (run.updatedAt >= since || isOpen(run)) found.push(run);
    if (found.length > LIMITS.reportRuns) return { runs: found.slice(0, LIMITS.reportRuns), whole: false };
    before = page.next ?? undefined;
  } while (before !== undefined);
  return { runs: found, whole: true };
}

/** What has not ended, or whose supervision has not, is told however long ago it was touched. */
const isUnended = ({ state: { status } }: RunRecord): boolean =>
  status === 'running' || status === 'waiting_confirmation';

const turnKey = ({ place }: { readonly place: Pick<RunRecord['place'], 'branchId' | 'turnId'> }): string =>
  `${place.branchId} ${place.turnId}`;

interface TurnGroup {
  readonly group: Pick<ActionGroup, 'sealedAt'>;
  readonly calls: readonly LedgerCall[];
}

/** Reads each session once, however many runs it has. */
async function callsByTurn(
  { store }: Runtime,
  principal: Principal,
  runs: readonly RunRecord[],
): Promise<ReadonlyMap<string, readonly TurnGroup[]>> {
  const found = new Map<string, TurnGroup[]>();
  for (const rootFrameId of new Set(runs.map(({ place }) => place.rootFrameId)))
    await store.read('app.report', (tx) => readSession(tx, principal, rootFrameId, found));
  return found;
}

async function readSession(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  into: Map<string, TurnGroup[]>,
): Promise<void> {
  const calls = await sessionCalls(tx, principal, rootFrameId);
  let after: string | undefined;
  do {
    const page = await listGroups(tx, principal, rootFrameId, after === undefined ? {} : { after });
    for (const { groupId, branchId, turnId, sealedAt } of page.items) {
      const key = `${branchId} ${turnId}`;
      const list = into.get(key) ?? [];
      list.push({ group: { sealedAt }, calls: calls.get(groupId) ?? [] });
      into.set(key, list);
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
}

function reportedCall({ tools }: Runtime, runId: string, call: LedgerCall): ReportedCall {
  const { callId, toolName: tool, statusRef, outcome } = call;
  const argumentsText = shownArguments(tools, call);
  return {
    runId,
    callId,
    tool,
    argumentsText: argumentsText === null ? null : cut(argumentsText),
    statusRef,
    outcome,
  };
}

function cut(whole: string): string {
  return whole.length <= LIMITS.reportArguments ? whole : `${whole.slice(0, LIMITS.reportArguments)}…`.toWellFormed();
}

function reportedRun(
  run: RunRecord,
  calls: readonly ReportedCall[],
  supervision: ReportedRun['supervision'],
  standing: ReportedRun['supervision'],
): ReportedRun {
  const { runId, place, agent, task, state, parent, turnsUsed: turns, createdAt, updatedAt } = run;
  const summary = { unknown: calls.filter((call) => call.outcome?.state === 'unknown').length };
  const outcome = outcomeOf(run, summary);
  return {
    runId,
    sessionId: place.rootFrameId,
    agent,
    task,
    status: state.status,
    outcome,
    reason: reasonOf(run, summary),
    parentRunId: parent?.runId ?? null,
    supervision,
    turns,
    tokens: { prompt: run.promptTokens, completion: run.completionTokens },
    costMicros: Math.round(run.cost * 1_000_000),
    createdAt,
    updatedAt,
    resolve: resolveOf(run, outcome, standing),
  };
}

const LIVE: ReadonlySet<string> = new Set(['running', 'candidate', 'reviewing', 'repairing']);

/** A follow-up goes on with the run that it follows, as long as that one's supervision does. */
function resolveOf(
  run: RunRecord,
  outcome: ReportedRun['outcome'],
  supervision: ReportedRun['supervision'],
): string | null {
  if (isFollowUp(run) && !(supervision && LIVE.has(supervision.status))) return null;
  const resume = `holdfast runs resume ${run.parent?.runId ?? run.runId}`;
  if (outcome === 'interrupted' || run.state.status === 'failed') return resume;
  if (run.state.status === 'completed' && supervision && LIVE.has(supervision.status)) return resume;
  return null;
}

async function pendingAll({ approvals }: Runtime, principal: Principal): Promise<ShownRequest[]> {
  const found: ShownRequest[] = [];
  let after: string | undefined;
  do {
    const page = await approvals.pending(principal, { limit: LIMITS.sessionPageRows, ...(after ? { after } : {}) });
    const [damaged] = page.damaged;
    if (damaged) throw fail('APPROVAL_CORRUPT', damaged.why);
    found.push(...page.items);
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < LIMITS.reportRuns);
  return found;
}

function callOf({ document }: ShownRequest): { readonly groupId: string; readonly callId: string | null } {
  const { action_group_id: groupId, tool_call_id: callId } = document;
  return { groupId: typeof groupId === 'string' ? groupId : '', callId: typeof callId === 'string' ? callId : null };
}

function secretsOf(secrets: ProposedSecrets, request: ShownRequest): readonly string[] {
  const { groupId, callId } = callOf(request);
  return secrets.of(groupId, callId);
}

/** A report is for more eyes than those of whoever decides: it has no secret field. */
function reportedRequest(
  request: ShownRequest,
  advised: AutoAssessment | undefined,
  secretFields: readonly string[],
): ReportedRequest {
  const { requestId, digest, rootFrameId, tool, reason, expiresAt, document } = request;
  const { canonical_arguments: text } = document;
  const argumentsText =
    typeof text === 'string'
      ? cut(JSON.stringify(redact(readCanonicalJson(text, JSON_PROFILES.operations), { secretFields })))
      : '';
  const advice =
    advised?.status === 'completed'
      ? { outcome: advised.outcome ?? '', risk: advised.risk ?? 'unknown', summary: advised.public_summary ?? '' }
      : null;
  return {
    requestId,
    digest,
    sessionId: rootFrameId,
    tool,
    argumentsText,
    reason,
    expiresAt,
    advice,
    resolve: `holdfast approvals show ${requestId}`,
  };
}

function countsOf(
  runs: readonly RunRecord[],
  reported: readonly ReportedRun[],
  calls: readonly ReportedCall[],
  waiting: number,
): ReportCounts {
  const count = (part: string): number => calls.filter((call) => partOf(call) === part).length;
  const sum = (of: (run: RunRecord) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const reviews = (of: (tokens: ReportCounts['tokens']) => number): number =>
    reported.reduce((total, { supervision }) => total + (supervision ? of(supervision.tokens) : 0), 0);
  return {
    runs: runs.length,
    calls: calls.length,
    verified: count('verified'),
    reported: count('reported'),
    unknown: count('unknown'),
    refused: count('refused'),
    open: count('open'),
    waiting,
    turns: sum((run) => run.turnsUsed),
    tokens: {
      prompt: sum((run) => run.promptTokens) + reviews((tokens) => tokens.prompt),
      completion: sum((run) => run.completionTokens) + reviews((tokens) => tokens.completion),
    },
    costMicros: Math.round(sum((run) => run.cost) * 1_000_000),
  };
}
