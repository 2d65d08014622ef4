import type { JsonObject } from '../core/index.ts';
import { type Principal, requireBranch, requireSession } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { fold } from './advance.ts';
import type { AutonomyContext } from './context.ts';
import { UNASSESSED, UNENDED } from './documents.ts';
import { requireProof } from './errors.ts';
import { eventsOfRoot } from './events.ts';
import type { AutoAssessment, AutoEvent, AutoRepair, AutoReview, AutoRun } from './model.ts';
import * as sql from './queries.ts';
import { importedRecords } from './imported.ts';
import { bindingsOf } from './repair-proof.ts';
import { findingStatuses, proveRunWith } from './run-proof.ts';
import { isImported } from './usable.ts';
import { visibleLog } from './visible.ts';

/** Everything that a branch shows, or a whole session, of its supervised runs. */
export type AutoExport = {
  schema_version: 1;
  trust_state: string;
  historical_selection: JsonObject | null;
  runs: AutoRun[];
  events: AutoEvent[];
  review_runs: JsonObject[];
  findings: JsonObject[];
  repair_runs: JsonObject[];
  permission_assessments: JsonObject[];
};

/**
 * The history as documents, in one read: each run as its visible events tell it, each owner as far as they tell it. A
 * proof that fails is an error here: AUTO_PROOF_FAILED. Imported runs are given as they came: nothing proves them.
 * SESSION_NOT_FOUND, BRANCH_NOT_FOUND, LIMIT_REACHED.
 */
export async function exportProjection(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  rootFrameId: string,
  branchId?: string,
): Promise<AutoExport> {
  const session = await requireSession(tx, principal, rootFrameId);
  const log =
    branchId === undefined ? null : await visibleLog(tx, await requireBranch(tx, principal, rootFrameId, branchId));
  const all = await eventsOfRoot(tx, rootFrameId);
  const shown = log === null ? all : all.filter((event) => log.shows(event));
  const out: AutoExport = {
    schema_version: 1,
    trust_state: session.trustState,
    historical_selection: null,
    runs: [],
    events: shown,
    review_runs: [],
    findings: [],
    repair_runs: [],
    permission_assessments: [],
  };
  for (const row of await tx.all(sql.RUNS_OF_ROOT, [rootFrameId])) {
    const run = sql.RUNS.read(row);
    const whole = all.filter((event) => event.run_id === run.run_id);
    const own = whole.filter((event) => log === null || log.shows(event));
    requireProof(whole.length > 0, 'run', 'it has no events');
    if (own.length === 0) continue;
    if (await isImported(tx, principal, run)) out.runs.push(importedRun(run, whole));
    else await addRun(tx, context, principal, out, run, whole, own);
  }
  await addImported(tx, rootFrameId, out);
  return out;
}

/** An imported run that had not ended at its source never did. */
function importedRun(run: AutoRun, events: readonly AutoEvent[]): AutoRun {
  const ended = events.some(({ type }) => type === 'auto_run_terminal');
  return ended ? run : { ...run, finished_at: null };
}

/** What came with imported runs, as it came. */
async function addImported(tx: ReadTx, rootFrameId: string, out: AutoExport): Promise<void> {
  const shown = new Set(out.runs.map((run) => run.run_id));
  for (const kind of ['review_runs', 'findings', 'repair_runs', 'permission_assessments'] as const)
    for (const record of await importedRecords(tx, rootFrameId, kind))
      if (shown.has(record['run_id'] as string)) out[kind].push(record);
  out.historical_selection ??= (await importedRecords(tx, rootFrameId, 'selection'))[0] ?? null;
}

async function addRun(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  out: AutoExport,
  run: AutoRun,
  all: readonly AutoEvent[],
  shown: readonly AutoEvent[],
): Promise<void> {
  const proved = await proveRunWith(tx, context, principal, run, all);
  const keys = new Set(shown.map((event) => event.idempotency_key));
  const seen = <T extends AutoReview | AutoRepair | AutoAssessment>(owner: T): boolean =>
    keys.has(owner.start_idempotency_key);
  const ended = (key: string | null): boolean => key !== null && keys.has(key);
  const { owner_instance_id, abandoned_at, abandoned_by_checkpoint_id } = run;
  out.runs.push({ ...fold(shown), owner_instance_id, abandoned_at, abandoned_by_checkpoint_id });
  out.historical_selection = run.selection;
  const completed = new Set<string>();
  for (const { review } of proved.reviews) {
    if (!seen(review)) continue;
    const whole = ended(review.completion_idempotency_key);
    if (whole) completed.add(review.review_run_id);
    out.review_runs.push(whole ? review : { ...review, ...UNENDED, ...UNASSESSED, verdict: null, usage: null });
  }
  const repairs = proved.repairs.filter(seen);
  const byKey = new Map(shown.map((event) => [event.idempotency_key, event]));
  const statuses = findingStatuses(
    repairs.map((repair) => ({
      repair,
      start: byKey.get(repair.start_idempotency_key) ?? null,
      completion: byKey.get(repair.completion_idempotency_key ?? '') ?? null,
    })),
  );
  for (const finding of proved.findings)
    if (completed.has(finding.review_run_id))
      out.findings.push({ ...finding, status: statuses.get(finding.finding_id) ?? 'open' });
  for (const repair of repairs) {
    const bindings = await bindingsOf(tx, repair.repair_run_id);
    const execution_group_ids = bindings
      .filter((one) => keys.has(one.idempotency_key))
      .map((one) => one.action_group_id);
    const after_version_ids = repair.after_version_ids ?? [];
    out.repair_runs.push(
      ended(repair.completion_idempotency_key)
        ? { ...repair, after_version_ids }
        : { ...repair, ...UNENDED, after_version_ids: [], execution_group_ids },
    );
  }
  for (const of of proved.assessments)
    if (seen(of))
      out.permission_assessments.push(
        ended(of.completion_idempotency_key) ? of : { ...of, ...UNENDED, ...UNASSESSED, outcome: null, risk: null },
      );
}
