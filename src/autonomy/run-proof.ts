import { digestJson } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { fold } from './advance.ts';
import { readAction } from './assessment-proof.ts';
import type { AutonomyContext } from './context.ts';
import * as doc from './documents.ts';
import { requireProof, unproved } from './errors.ts';
import { EventLog, sameScope } from './event-log.ts';
import { eventsOfRun } from './events.ts';
import { nextFinding } from './machine.ts';
import type {
  AutoAssessment,
  AutoEvent,
  AutoFinding,
  AutoRepair,
  AutoReview,
  AutoRun,
  CandidateFields,
  FindingStatus,
  RepairBinding,
} from './model.ts';
import * as sql from './queries.ts';
import { proveRepair, readBoundGroups, type RepairFacts } from './repair-proof.ts';
import { proveReview } from './review-proof.ts';
import { type ProvedReview, whyNotVerified } from './verification.ts';

/** Everything of a run, proved together. */
export interface ProvedRun {
  readonly events: readonly AutoEvent[];
  readonly reviews: readonly ProvedReview[];
  readonly findings: readonly AutoFinding[];
  readonly repairs: readonly AutoRepair[];
  readonly assessments: readonly AutoAssessment[];
}

interface Owners {
  readonly reviews: readonly AutoReview[];
  readonly findings: readonly AutoFinding[];
  readonly repairs: readonly AutoRepair[];
  readonly bindings: readonly RepairBinding[];
  readonly assessments: readonly AutoAssessment[];
}

async function readOwners(tx: ReadTx, runId: string): Promise<Owners> {
  return {
    reviews: (await tx.all(sql.REVIEWS_OF_RUN, [runId])).map(sql.REVIEWS.read),
    findings: (await tx.all(sql.FINDINGS_OF_RUN, [runId])).map(sql.FINDINGS.read),
    repairs: (await tx.all(sql.REPAIRS_OF_RUN, [runId])).map(sql.REPAIRS.read),
    bindings: (await tx.all(sql.BINDINGS_OF_RUN, [runId])).map(sql.BINDINGS.read),
    assessments: (await tx.all(sql.ASSESSMENTS_OF_RUN, [runId])).map(sql.ASSESSMENTS.read),
  };
}

/**
 * Proves a run whole: its log without gaps, folded again into exactly its row; every review, assessment and repair held
 * against its events; every event claimed by one owner; every finding where its repairs left it; and, for a verified
 * run, its verification once more. Time grows with the run, not with the history before it. AUTO_PROOF_FAILED.
 */
export async function proveRun(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
): Promise<ProvedRun> {
  const events = await eventsOfRun(tx, run.run_id);
  return proveRunWith(tx, context, principal, run, events);
}

/** The same, for events that were read already. */
export async function proveRunWith(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  events: readonly AutoEvent[],
): Promise<ProvedRun> {
  const owners = await readOwners(tx, run.run_id);
  const log = new EventLog(events);
  proveLog(run, events);
  proveRow(run, events);
  proveOwnEvents(log, run, events);
  const reviews = owners.reviews.map((review) => {
    const findings = owners.findings.filter((finding) => finding.review_run_id === review.review_run_id);
    return { review, events: proveReview(log, review, findings) };
  });
  for (const assessment of owners.assessments)
    context.proofs.assessment(log, assessment, await readAction(tx, principal, assessment.decision_id));
  const facts: RepairFacts[] = [];
  for (const repair of owners.repairs) {
    const bindings = owners.bindings.filter((binding) => binding.repair_run_id === repair.repair_run_id);
    facts.push(proveRepair(log, repair, await readBoundGroups(tx, bindings)));
  }
  proveCounts(owners);
  log.requireAllKnown('run');
  provePause(run, owners.repairs, facts);
  proveFindings(owners.findings, owners.repairs, facts);
  if (run.status === 'verified') proveVerified(run, events, reviews, owners.findings);
  return { events, reviews, findings: owners.findings, repairs: owners.repairs, assessments: owners.assessments };
}

function proveLog(run: AutoRun, events: readonly AutoEvent[]): void {
  let cursor = 0;
  events.forEach((event, at) => {
    const follows = event.sequence === at + 1 && event.event_cursor > cursor && sameScope(event, run);
    requireProof(follows, 'run', 'its log has a gap');
    cursor = event.event_cursor;
  });
}

/** What the log does not tell: who owned the run, whether it was abandoned, and where imported history came from. */
const UNTOLD = ['owner_instance_id', 'abandoned_at', 'abandoned_by_checkpoint_id'] as const;

function proveRow(run: AutoRun, events: readonly AutoEvent[]): void {
  const told: AutoRun = fold(events);
  const untold = Object.fromEntries(UNTOLD.map((name) => [name, run[name]]));
  requireProof(doc.sameJson({ ...told, ...untold }, run), 'run', 'its row is not what its log tells');
  requireProof(run.request_sha256 === doc.runRequest(run), 'run', 'what was started is not what was asked');
}

/** The events that the run itself owns: its start, its candidates, its end. */
function proveOwnEvents(log: EventLog, run: AutoRun, events: readonly AutoEvent[]): void {
  log.require(run, 'auto_run_started', doc.runStarted(run), 'run');
  for (const { type, payload, idempotency_key: key, created_at: at } of events) {
    if (type !== 'candidate_ready') continue;
    const fields = doc.candidateFields(payload as unknown as CandidateFields);
    log.require(run, type, { key, request: digestJson(fields), payload: doc.candidateReady(fields), at }, 'run');
  }
  if (run.finished_at === null) return;
  const reason = run.terminal_reason ?? '';
  log.require(
    run,
    'auto_run_terminal',
    {
      key: run.terminal_idempotency_key ?? '',
      request: doc.terminalRequest(run.status, reason, run.stop_reason),
      payload: doc.runTerminal(run.status, reason, run.stop_reason),
      at: run.finished_at,
    },
    'run',
  );
}

function proveCounts({ reviews, findings, repairs, bindings }: Owners): void {
  const known = new Set(reviews.map((review) => review.review_run_id));
  requireProof(
    findings.every((finding) => known.has(finding.review_run_id)),
    'result review',
    'a finding has no review',
  );
  const repaired = new Set(repairs.map((repair) => repair.repair_run_id));
  requireProof(
    bindings.every((binding) => repaired.has(binding.repair_run_id)),
    'repair ledger',
    'a binding has no repair',
  );
}

/** A repair whose outcome is unknown, or that failed and left something, has paused its run; no other end follows it. */
function provePause(run: AutoRun, repairs: readonly AutoRepair[], facts: readonly RepairFacts[]): void {
  const pausing = repairs.findIndex(
    (repair, at) =>
      repair.status === 'outcome_unknown' || (repair.status === 'failed' && facts[at]?.committed === true),
  );
  const repair = repairs[pausing];
  if (!repair) return;
  const paused =
    run.status === 'paused' &&
    run.terminal_reason === pauseReason(repair) &&
    run.terminal_idempotency_key === doc.repairPauseKey(repair);
  requireProof(paused, 'repair ledger', 'the run was not paused by it');
}

export const pauseReason = (repair: AutoRepair): string =>
  repair.status === 'outcome_unknown' ? 'outcome_unknown' : 'repair_partial_commit';

/** Every finding is where the repairs that named it left it, in the order of the log. */
function proveFindings(
  findings: readonly AutoFinding[],
  repairs: readonly AutoRepair[],
  facts: readonly RepairFacts[],
): void {
  const statuses = findingStatuses(
    repairs.map((repair, at) => ({
      repair,
      start: facts[at]?.start ?? null,
      completion: facts[at]?.completion ?? null,
    })),
  );
  for (const finding of findings)
    requireProof(
      finding.status === (statuses.get(finding.finding_id) ?? 'open'),
      'result review',
      'a finding is not where its repairs left it',
    );
}

interface RepairSteps {
  readonly repair: AutoRepair;
  /** Null where the event is not visible. */
  readonly start: AutoEvent | null;
  readonly completion: AutoEvent | null;
}

/** Where repairs leave the findings they name; those that no repair names are open. */
export function findingStatuses(steps: readonly RepairSteps[]): Map<string, FindingStatus> {
  const statuses = new Map<string, FindingStatus>();
  const order = [...steps].sort((a, b) => (a.start?.event_cursor ?? 0) - (b.start?.event_cursor ?? 0));
  for (const { repair, start, completion } of order) {
    if (!start) continue;
    for (const id of repair.finding_ids) {
      const claimed = moved(statuses.get(id) ?? 'open', 'claim');
      const end = repair.status === 'completed' ? 'addressed' : 'not_addressed';
      statuses.set(id, completion ? moved(claimed, end) : claimed);
    }
  }
  return statuses;
}

function moved(status: FindingStatus, step: Parameters<typeof nextFinding>[1]): FindingStatus {
  const next = nextFinding(status, step);
  if (next === null) throw unproved('repair ledger', 'it names a finding that could not be repaired');
  return next;
}

function proveVerified(
  run: AutoRun,
  events: readonly AutoEvent[],
  reviews: readonly ProvedReview[],
  findings: readonly AutoFinding[],
): void {
  const why = whyNotVerified(run, events, reviews, findings);
  requireProof(why === null, 'verification', why ?? '');
}
