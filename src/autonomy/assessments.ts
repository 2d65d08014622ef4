import type { PermissionRequest } from '../approvals/index.ts';
import { fail, type JsonObject } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { actionFits, type AssessedAction, readAction } from './assessment-proof.ts';
import { eventsOfAudit } from './audit-events.ts';
import type { AutonomyContext } from './context.ts';
import * as doc from './documents.ts';
import { keyConflict, requireProof, wrongPhase } from './errors.ts';
import { EventLog } from './event-log.ts';
import { replayedEvent, transition } from './events.ts';
import { digestField, keyField, objectField, summaryOf, textField, wordField } from './fields.ts';
import {
  AUDIT_ENDS,
  type AuditEnd,
  type AutoAssessment,
  type AutoEvent,
  type AutoRun,
  OUTCOMES,
  RISKS,
  type Transition,
} from './model.ts';
import * as sql from './queries.ts';
import { takeStep } from './step.ts';
import { requireCurrent, requireMutable, requireRun } from './usable.ts';
import { checkAdvice } from './verdicts.ts';

export type AssessmentTransition = Transition<AutoAssessment & { created_at: number; finished_at: number | null }>;

const answer = (of: AutoAssessment, event: AutoEvent, created: boolean): AssessmentTransition =>
  transition({ ...of, created_at: of.started_at, finished_at: of.completed_at }, event, created);

export interface NewAssessment {
  readonly assessmentId: string;
  readonly auditId: string;
  readonly decisionId: string;
  /** The digest of exactly the action that waits. */
  readonly actionDigest: string;
  readonly policyVersion: string;
  readonly key: string;
}

const POLICY_VERSION = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/**
 * Starts the assessment of a permission request that waits. It never decides the request and leaves no rule behind.
 * Refuses with AUTO_PERMISSION_SCOPE (not pending, expired by our clock, of another turn or bound elsewhere, or another
 * action than the digest says), AUTO_ID_TAKEN (a request is assessed once), AUTO_KEY_CONFLICT, AUTO_RUN_NOT_FOUND,
 * APPROVAL_NOT_FOUND, and what makes a run unusable.
 */
export async function startAssessment(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
  asked: NewAssessment,
): Promise<AssessmentTransition> {
  const run = await requireRun(tx, principal, runId);
  const of = newAssessment(run, asked, context.sessions.clock.nowMs());
  const { start_idempotency_key: key, start_request_sha256: request } = of;
  const earlier = await replayedEvent(tx, runId, key, 'auto_audit_started', request);
  if (earlier) {
    const stored = await tx.get(sql.ASSESSMENT_BY_KEY, [runId, key]);
    requireProof(stored !== undefined, 'permission assessment', 'the assessment is missing');
    return replayed(tx, context, principal, run, sql.ASSESSMENTS.read(stored ?? {}), earlier);
  }
  await requireMutable(tx, context, principal, run);
  await requireAssessable(tx, principal, run, of);
  await tx.run(sql.ASSESSMENTS.insert, sql.ASSESSMENTS.params(of));
  const { event } = await takeStep(tx, context, principal, run, 'auto_audit_started', doc.assessmentStarted(of));
  return answer(of, event, true);
}

function newAssessment(run: AutoRun, asked: NewAssessment, at: number): AutoAssessment {
  if (!POLICY_VERSION.test(asked.policyVersion))
    throw fail('INVALID_VALUE', 'policy_version must be 1 to 128 letters, digits and ._:-, first a letter or digit.');
  const of: AutoAssessment = {
    assessment_id: textField('assessment_id', asked.assessmentId),
    audit_id: textField('audit_id', asked.auditId),
    ...doc.scopeOf(run),
    ...doc.UNENDED,
    ...doc.UNASSESSED,
    decision_id: textField('decision_id', asked.decisionId),
    action_digest: digestField('action_digest', asked.actionDigest),
    policy_version: asked.policyVersion,
    start_idempotency_key: keyField('idempotency_key', asked.key),
    start_request_sha256: '',
    audit_request_digest: '',
    outcome: null,
    risk: null,
    started_at: at,
  };
  const start_request_sha256 = doc.assessmentStartDigest(of);
  return { ...of, start_request_sha256, audit_request_digest: doc.assessmentAuditDigest(of) };
}

/** Pending, and its time is not over: equal to the expiry counts as over. */
const waits = ({ action, status }: PermissionRequest, now: number): boolean =>
  status.state === 'pending' && (action.expiresAt === null || action.expiresAt > now);

async function requireAssessable(tx: Tx, principal: Principal, run: AutoRun, of: AutoAssessment): Promise<void> {
  const action = await readAction(tx, principal, of.decision_id);
  const bound = await tx.get(sql.BINDING_OF_GROUP, [action.group.groupId]);
  const here = !bound || sql.BINDINGS.read(bound).run_id === run.run_id;
  if (!here || !waits(action.request, of.started_at) || !actionFits(action, run, of.action_digest))
    throw fail('AUTO_PERMISSION_SCOPE', 'The permission request is not in the exact pending action scope of the run.');
  if (await tx.get(sql.DECISION_ASSESSED, [of.decision_id, of.assessment_id]))
    throw fail('AUTO_ID_TAKEN', 'This permission request was assessed already, or the id is in use.');
}

/** Proves the assessment alone, so that what is wrong with it is named before what is wrong with the run. */
async function proved(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  of: AutoAssessment,
): Promise<AssessedAction> {
  const action = await readAction(tx, principal, of.decision_id);
  const log = new EventLog(await eventsOfAudit(tx, of.root_frame_id, of.audit_id));
  context.proofs.assessment(log, of, action);
  log.requireAllKnown('permission assessment');
  return action;
}

async function replayed(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  of: AutoAssessment,
  event: AutoEvent,
): Promise<AssessmentTransition> {
  await proved(tx, context, principal, of);
  await requireCurrent(tx, context, principal, run);
  return answer(of, event, false);
}

export interface AssessmentEnding {
  readonly key: string;
  readonly status: AuditEnd;
  readonly outcome: string;
  readonly risk: string;
  readonly assessment: JsonObject;
}

/**
 * Ends an assessment. As `completed` the request must still wait: AUTO_PERMISSION_DECIDED; as `failed` or `unavailable`
 * it may have been decided, and nothing may be allowed: AUTO_CONTRADICTION, judged before anything that is stored. Then
 * AUTO_ASSESSMENT_NOT_FOUND, AUTO_KEY_CONFLICT, AUTO_WRONG_PHASE, AUTO_PROOF_FAILED, and what makes a run unusable.
 */
export async function completeAssessment(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  assessmentId: string,
  asked: AssessmentEnding,
): Promise<AssessmentTransition> {
  const at = context.sessions.clock.nowMs();
  checkEnding(asked);
  const row = await tx.get(sql.FIND_ASSESSMENT, [assessmentId, principal.tenant]);
  if (!row) throw fail('AUTO_ASSESSMENT_NOT_FOUND', 'There is no such permission assessment.');
  const of = sql.ASSESSMENTS.read(row);
  const run = await requireRun(tx, principal, of.run_id);
  const ended = endedAssessment(of, asked, at);
  const request = ended.completion_request_sha256 ?? '';
  const earlier = await replayedEvent(tx, run.run_id, asked.key, 'auto_audit_completed', request);
  if (earlier) {
    if (of.completion_idempotency_key !== asked.key) throw keyConflict();
    return replayed(tx, context, principal, run, of, earlier);
  }
  if (of.status !== 'started') throw wrongPhase('Completing the assessment', of.status);
  const { request: permission } = await proved(tx, context, principal, of);
  await requireMutable(tx, context, principal, run);
  if (ended.status === 'completed' && !waits(permission, at))
    throw fail('AUTO_PERMISSION_DECIDED', 'The permission request is no longer pending.');
  await tx.run(sql.END_ASSESSMENT, [...sql.ASSESSMENT_END.params(ended), assessmentId]);
  const told = doc.assessmentCompleted(ended);
  const { event } = await takeStep(tx, context, principal, run, 'auto_audit_completed', told);
  return answer(ended, event, true);
}

function checkEnding({ key, status, outcome, risk }: AssessmentEnding): void {
  keyField('idempotency_key', key);
  wordField('status', status, AUDIT_ENDS);
  wordField('outcome', outcome, OUTCOMES);
  wordField('risk', risk, RISKS);
  const contradiction = checkAdvice(status, outcome);
  if (contradiction !== null) throw fail('AUTO_CONTRADICTION', contradiction);
}

function endedAssessment(of: AutoAssessment, asked: AssessmentEnding, at: number): AutoAssessment {
  const { key, status, outcome, risk } = asked;
  const assessment = objectField('assessment', asked.assessment);
  const bare: AutoAssessment = {
    ...of,
    status,
    outcome,
    risk,
    assessment,
    completion_idempotency_key: key,
    completed_at: at,
    public_summary: summaryOf(assessment, ['public_summary']),
  };
  const envelope = doc.assessmentEnvelope(bare);
  return {
    ...bare,
    completion_request_sha256: doc.assessmentCompletionDigest(bare),
    assessment_envelope_json: envelope,
    assessment_digest: doc.textDigest(envelope),
  };
}
