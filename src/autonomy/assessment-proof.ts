import { type PermissionRequest, requireRequest } from '../approvals/index.ts';
import { canonicalJson } from '../core/index.ts';
import { type ActionGroup, eventsNaming, type Principal, requireGroup } from '../sessions/index.ts';
import type { ReadTx, Row } from '../store/index.ts';
import * as doc from './documents.ts';
import { isOfRecords, requireProof, unproved } from './errors.ts';
import type { EventLog } from './event-log.ts';
import type { AutoAssessment, AutoEvent, RunScope } from './model.ts';
import { checkAdvice } from './verdicts.ts';

const ASSESSMENT = 'permission assessment';

/** The stored action that an assessment is about: the request proved by `approvals/`, its group, its pending events. */
export interface AssessedAction {
  readonly request: PermissionRequest;
  readonly group: ActionGroup;
  readonly pending: readonly Row[];
}

/** Reads the action again; what cannot be read or is damaged fails the proof. */
export async function readAction(tx: ReadTx, principal: Principal, decisionId: string): Promise<AssessedAction> {
  try {
    const request = await requireRequest(tx, principal, decisionId);
    const group = await requireGroup(tx, principal, request.action.groupId);
    const naming = { decision_id: decisionId };
    return { request, group, pending: await eventsNaming(tx, group.groupId, 'permission_pending', naming) };
  } catch (cause) {
    if (!isOfRecords(cause)) throw cause;
    throw unproved(ASSESSMENT, 'the action it is about cannot be proved', cause);
  }
}

/** Whether the action lies in the scope, with this digest, and was announced exactly once, as it is. */
export function actionFits({ request, group, pending }: AssessedAction, scope: RunScope, digest: string): boolean {
  const { action } = request;
  return (
    action.actionDigest === digest &&
    action.rootFrameId === scope.root_frame_id &&
    action.branchId === scope.branch_id &&
    action.turnId === scope.turn_id &&
    group.rootFrameId === scope.root_frame_id &&
    group.branchId === scope.branch_id &&
    group.turnId === scope.turn_id &&
    pending.length === 1 &&
    isAnnounced(request, pending[0] as Row)
  );
}

function isAnnounced({ action }: PermissionRequest, row: Row): boolean {
  const { requestId, tool, target } = action;
  return (
    row['action_id'] === action.actionId &&
    row['tool_call_id'] === action.toolCallId &&
    row['side_effect_class'] === action.sideEffectClass &&
    row['resource_keys'] === canonicalJson([...action.resourceKeys]) &&
    row['result'] === canonicalJson({ decision_id: requestId, state: 'pending', tool, target })
  );
}

/**
 * Holds an assessment against its events, its digests, and the action as it is stored now. Whether the request still
 * waits is not asked: an assessment may end after the decision, as failed.
 */
export function proveAssessment(log: EventLog, assessment: AutoAssessment, action: AssessedAction): AssessmentEvents {
  requireProof(
    actionFits(action, assessment, assessment.action_digest),
    ASSESSMENT,
    'the action is not the one assessed',
  );
  const started =
    assessment.start_request_sha256 === doc.assessmentStartDigest(assessment) &&
    assessment.audit_request_digest === doc.assessmentAuditDigest(assessment);
  requireProof(started, ASSESSMENT, 'what was to be assessed is not what was asked');
  const start = log.require(assessment, 'auto_audit_started', doc.assessmentStarted(assessment), ASSESSMENT);
  if (assessment.status === 'started') {
    requireProof(hasNoEnd(assessment), ASSESSMENT, 'it has an end that was not written');
    return { start, completion: null };
  }
  proveEnd(assessment);
  const told = doc.assessmentCompleted(assessment);
  return { start, completion: log.require(assessment, 'auto_audit_completed', told, ASSESSMENT) };
}

/** The events of a proved assessment. */
export interface AssessmentEvents {
  readonly start: AutoEvent;
  readonly completion: AutoEvent | null;
}

const hasNoEnd = (of: AutoAssessment): boolean =>
  of.outcome === null &&
  of.risk === null &&
  of.assessment === null &&
  of.assessment_digest === null &&
  of.assessment_envelope_json === null &&
  of.completion_request_sha256 === null &&
  of.completed_at === null;

function proveEnd(of: AutoAssessment): void {
  const envelope = doc.assessmentEnvelope(of);
  const ended =
    of.completion_request_sha256 === doc.assessmentCompletionDigest(of) &&
    of.assessment_envelope_json === envelope &&
    of.assessment_digest === doc.textDigest(envelope);
  requireProof(ended, ASSESSMENT, 'the advice is not what was written');
  requireProof(checkAdvice(of.status, of.outcome ?? '') === null, ASSESSMENT, 'its outcome cannot be');
}
