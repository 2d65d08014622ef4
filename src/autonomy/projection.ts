import { digestJson, type JsonObject } from '../core/index.ts';
import { type Principal, requireBranch } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { fold } from './advance.ts';
import type { AutonomyContext } from './context.ts';
import { candidateFields, scopeOf } from './documents.ts';
import { isOfRecords, requireProof } from './errors.ts';
import { eventsOfRun } from './events.ts';
import { isTerminal } from './machine.ts';
import type { AutoEvent, AutoRun, RunProjection } from './model.ts';
import * as sql from './queries.ts';
import { proveRunWith } from './run-proof.ts';
import { isImported } from './usable.ts';
import { tailOf, visibleLog } from './visible.ts';

/**
 * What a branch shows of its newest run, computed from the log and proved against the rows each time. A proof that
 * fails is not an error here but the answer: `failed`, `safety_boundary`, with what would have been claimed beside it.
 * BRANCH_NOT_FOUND; AUTO_PROOF_FAILED only when an event is not even what its own digest says; LIMIT_REACHED.
 */
export async function projectRun(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  rootFrameId: string,
  branchId: string,
): Promise<RunProjection> {
  const branch = await requireBranch(tx, principal, rootFrameId, branchId);
  const log = await visibleLog(tx, branch);
  const tail = await tailOf(tx, log);
  if (!tail) return { run: null, last_event_id: null, last_event_ordinal: 0, events: [] };
  const all = await eventsOfRun(tx, tail.runId);
  const shown = all.filter((event) => log.shows(event));
  const row = await tx.get(sql.RUN_BY_ID, [tail.runId]);
  const place = { last_event_id: tail.eventId, last_event_ordinal: tail.cursor };
  try {
    requireProof(row !== undefined, 'run', 'it is missing');
    const run = sql.RUNS.read(row ?? {});
    if (await isImported(tx, principal, run))
      return { run: { ...runView(run, shown), status: 'unverified_import' }, ...place, events: shown };
    await proveRunWith(tx, context, principal, run, all);
    return { run: runView(fold(shown), shown), ...place, events: shown };
  } catch (error) {
    if (!isOfRecords(error)) throw error;
    return {
      run: unsafeView(row === undefined ? null : String(row['status']), shown),
      ...place,
      events: shown.map(boundary),
    };
  }
}

/** A run as readers see it: members of a candidate or of an end only once there was one. */
export function runView(run: AutoRun, events: readonly AutoEvent[]): JsonObject {
  const last = events.at(-1);
  const live = !isTerminal(run.status);
  return {
    ...scopeOf(run),
    mode: run.mode,
    selection: run.selection,
    budgets: run.budgets,
    status: run.status,
    started_at: run.created_at,
    created_at: run.created_at,
    updated_at: run.updated_at,
    start_event_ordinal: events[0]?.event_cursor ?? 0,
    last_event_id: last?.event_id ?? null,
    last_event_ordinal: last?.event_cursor ?? 0,
    recovery_required: live,
    ...(live ? { recovery_state: 'committed_phase_requires_reconciliation' } : {}),
    ...(events.some((event) => event.type === 'candidate_ready') ? candidateFields(run) : {}),
    ...(live ? {} : endView(run)),
  };
}

const endView = (run: AutoRun): JsonObject => ({
  terminal_reason: run.terminal_reason,
  stop_reason: run.stop_reason,
  terminal_at: run.finished_at,
  finished_at: run.finished_at,
});

const BOUNDARY = { status: 'failed', terminal_reason: 'safety_boundary' } as const;

/** The safe answer: what either side claims is named as a claim, and `verified` before anything else. */
function unsafeView(stored: string | null, events: readonly AutoEvent[]): JsonObject {
  const [told, view] = toldBy(events);
  const claims = [told, stored];
  return {
    ...view,
    ...BOUNDARY,
    source_claimed_status: claims.includes('verified') ? 'verified' : (told ?? stored),
  };
}

function toldBy(events: readonly AutoEvent[]): [status: string | null, view: JsonObject] {
  try {
    const run = fold(events);
    return [run.status, runView(run, events)];
  } catch {
    const {
      run_id = null,
      root_frame_id = null,
      branch_id = null,
      turn_id = null,
      execution_id = null,
    } = events[0] ?? {};
    const last = events.at(-1);
    const place = { last_event_id: last?.event_id ?? null, last_event_ordinal: last?.event_cursor ?? 0 };
    return [null, { run_id, root_frame_id, branch_id, turn_id, execution_id, ...place, recovery_required: true }];
  }
}

/** An end in the answer says what the answer says; the stored row stays as it is. */
function boundary(event: AutoEvent): AutoEvent {
  if (event.type !== 'auto_run_terminal') return event;
  const payload = { ...event.payload, ...BOUNDARY };
  return { ...event, payload, payload_sha256: digestJson(payload) };
}
