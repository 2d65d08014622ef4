import type { JsonObject, JsonValue } from '../core/index.ts';
import { candidateFields, scopeOf } from './documents.ts';
import { unproved } from './errors.ts';
import { mayEnd, nextStatus, type RunStep } from './machine.ts';
import { type AutoEvent, type AutoRun, type CandidateFields, TERMINAL_STATUSES, type TerminalStatus } from './model.ts';

const NO_CANDIDATE: CandidateFields = {
  candidate_id: null,
  candidate_snapshot_sha256: null,
  evidence_snapshot_sha256: null,
  artifact_set_sha256: null,
  candidate_artifact_ids: null,
  candidate_version_ids: null,
};

/** A run as its start event tells it: what the fold of its events begins with. */
export function runOfStart(event: AutoEvent): AutoRun {
  const { payload } = event;
  if (event.type !== 'auto_run_started') throw unproved('run', 'its first event is no start');
  return {
    ...scopeOf(event),
    idempotency_key: event.idempotency_key,
    mode: payload['mode'] as AutoRun['mode'],
    selection: payload['selection'] as JsonObject,
    budgets: payload['budgets'] as JsonObject,
    request_sha256: event.request_sha256,
    owner_instance_id: null,
    trust_state: 'local',
    status: 'running',
    state_revision: 1,
    ...NO_CANDIDATE,
    terminal_reason: null,
    stop_reason: null,
    terminal_idempotency_key: null,
    terminal_request_sha256: null,
    source_claimed_status: null,
    source_terminal_reason: null,
    abandoned_at: null,
    abandoned_by_checkpoint_id: null,
    created_at: event.created_at,
    updated_at: event.created_at,
    finished_at: null,
  };
}

function stepOf({ type, payload }: AutoEvent): RunStep | 'end' | null {
  const completed = type === 'auto_audit_completed';
  switch (type) {
    case 'candidate_ready':
      return 'candidate';
    case 'auto_audit_started':
    case 'auto_audit_completed':
      if (payload['subject_kind'] === 'permission_review') return 'audit';
      return completed ? 'review_end' : 'review_start';
    case 'repair_started':
      return payload['phase'] === 'execution_group_bound' ? 'repair_bind' : 'repair_start';
    case 'repair_completed':
      return REPAIR_STEPS.get(payload['status']) ?? null;
    case 'auto_run_terminal':
      return 'end';
    case 'auto_run_started':
      return null;
  }
}

const REPAIR_STEPS: ReadonlyMap<unknown, RunStep> = new Map([
  ['completed', 'repair_completed'],
  ['failed', 'repair_failed'],
  ['outcome_unknown', 'repair_unknown'],
]);

/** Steps that are written down but leave the run as it was. */
const KEEPS_THE_RUN: ReadonlySet<RunStep> = new Set(['audit', 'repair_bind']);

/**
 * The run after one more event. The one place where a run changes: a step writes what this gives, and a proof folds the
 * log through it again. An event that the state does not allow is AUTO_PROOF_FAILED.
 */
export function advance(run: AutoRun, event: AutoEvent): AutoRun {
  const step = stepOf(event);
  if (step === 'end') return ended(run, event);
  const status = step === null ? null : nextStatus(run.status, step);
  if (step === null || status === null)
    throw unproved('run', `an event ${event.type} stands where the state is ${run.status}`);
  if (KEEPS_THE_RUN.has(step)) return run;
  const changed = { ...run, status, state_revision: run.state_revision + 1, updated_at: event.created_at };
  if (step === 'candidate') return { ...changed, ...candidateFields(event.payload as unknown as CandidateFields) };
  return step === 'repair_completed' ? { ...changed, ...NO_CANDIDATE } : changed;
}

function ended(run: AutoRun, event: AutoEvent): AutoRun {
  const { payload } = event;
  const status = TERMINAL_STATUSES.find((known) => known === payload['status']);
  if (status === undefined || !mayEnd(run.status, status))
    throw unproved('run', `its end cannot follow where the state is ${run.status}`);
  return {
    ...run,
    status: status satisfies TerminalStatus,
    state_revision: run.state_revision + 1,
    terminal_reason: textOf(payload['terminal_reason']),
    stop_reason: textOf(payload['stop_reason']),
    terminal_idempotency_key: event.idempotency_key,
    terminal_request_sha256: event.request_sha256,
    updated_at: event.created_at,
    finished_at: event.created_at,
  };
}

const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' ? value : null);

/** The run that a log tells, from its start on. AUTO_PROOF_FAILED where the log cannot have come about. */
export function fold(events: readonly AutoEvent[]): AutoRun {
  const [start, ...rest] = events;
  if (!start) throw unproved('run', 'it has no events');
  return rest.reduce(advance, runOfStart(start));
}
