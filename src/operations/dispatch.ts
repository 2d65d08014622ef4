import { fail } from '../core/index.ts';
import { currentAccess, ruleHolds } from './access.ts';
import { admitCall } from './admission.ts';
import { DEFAULT_LEASE_SECONDS, DEFAULT_WORKER_ID } from './bounds.ts';
import type { OperationsContext } from './context.ts';
import { errorEnvelope, type ResultEnvelope } from './envelope.ts';
import type { OutcomeCode } from './error-catalogue.ts';
import {
  checkLeaseRequest,
  DISPATCH_FAILURES,
  type DispatchFailure,
  requireFailureWord,
  requireRecord,
} from './host-context.ts';
import type { OperationApproval, Principal, ToolCall } from './model.ts';
import { processOperation } from './process.ts';
import type { PreparedRequest } from './request.ts';
import { reserve, type Reservation, type RuleAnswer } from './reserve.ts';
import { answerSucceeded } from './results.ts';

export interface DispatchOptions {
  readonly approvals: readonly OperationApproval[];
  /** Seconds since 1970. */
  readonly now: number;
  /** Where a harness stops the code. */
  readonly failure?: DispatchFailure;
  readonly workerId?: string;
  readonly leaseSeconds?: number;
}

/** Asks the business rule outside the transaction. What it throws is told only if a new intent depends on it. */
export async function askRule(request: PreparedRequest, current: Principal): Promise<RuleAnswer> {
  try {
    return { holds: await ruleHolds(request.tool, current, request.call.arguments) };
  } catch (error) {
    return { error };
  }
}

function answer(code: OutcomeCode, request: PreparedRequest, now: number, statusRef: string | null): ResultEnvelope {
  return errorEnvelope(code, request.principal, request.call, request.contract, now, statusRef);
}

async function answerExisting(
  context: OperationsContext,
  existing: Extract<Reservation, { kind: 'existing' }>,
  now: number,
): Promise<ResultEnvelope> {
  const { request, statusRef } = existing.operation;
  if (existing.decision === 'replay') return answerSucceeded(context, request, statusRef, 'local_replay');
  return answer(existing.decision === 'settled' ? 'SETTLED' : 'OUTCOME_UNKNOWN', request, now, statusRef);
}

interface WorkTerms {
  readonly failure: DispatchFailure;
  readonly workerId: string;
  readonly leaseSeconds: number;
  readonly now: number;
}

async function carryOut(
  context: OperationsContext,
  request: PreparedRequest,
  statusRef: string,
  terms: WorkTerms,
): Promise<ResultEnvelope> {
  const { failure, now } = terms;
  if (failure === 'after_intent_commit') return answer('OUTCOME_UNKNOWN', request, now, statusRef);
  const outcome = await processOperation(context, statusRef, { ...terms, failure });
  await context.faults.reach('ack-about-to-send');
  if (outcome === 'succeeded') return answerSucceeded(context, request, statusRef, 'fresh');
  // Where that it was not done is written down, it is known.
  const isSettled = outcome === 'not_done' && context.withVerdicts;
  return answer(isSettled ? 'SETTLED' : 'OUTCOME_UNKNOWN', request, now, statusRef);
}

function requireApprovals(approvals: unknown): void {
  if (!Array.isArray(approvals)) throw fail('INVALID_VALUE', 'approvals must be a list.');
  for (const approval of approvals) requireRecord('an approval', approval);
}

/**
 * Accepts an intent and carries it out, at most once per (tenant, subject, tool, key); a repeat is answered from what
 * is stored and never runs anything. Refusals and unknown outcomes are envelopes. Throws INVALID_VALUE for what the host
 * gave wrongly, OPERATION_RECORD_BROKEN for stored data that does not fit, and the store's errors as they are.
 */
export async function dispatch(
  context: OperationsContext,
  principal: Principal,
  call: ToolCall,
  options: DispatchOptions,
): Promise<ResultEnvelope> {
  requireRecord('options', options);
  const failure = requireFailureWord(options.failure ?? 'none', DISPATCH_FAILURES);
  const { now, approvals, workerId = DEFAULT_WORKER_ID, leaseSeconds = DEFAULT_LEASE_SECONDS } = options;
  requireApprovals(approvals);
  const admission = await admitCall(context, principal, call, now, 'dispatch');
  if (admission.kind === 'refused') return admission.envelope;
  const { request } = admission;
  if (failure !== 'after_intent_commit') checkLeaseRequest(workerId, now, leaseSeconds);
  const current = await currentAccess(context.resolvePrincipal, principal, request.tool, call.arguments);
  if (!current) return answer('NOT_FOUND', request, now, null);
  const rule = await askRule(request, current);
  const reservation = await context.store.write('operations.reserve', (tx) =>
    reserve(tx, context, request, { approvals, rule, now }),
  );
  if (reservation.kind === 'refused') return answer(reservation.code, request, now, null);
  if (reservation.kind === 'existing') return answerExisting(context, reservation, now);
  await context.faults.reach('intent-committed');
  return carryOut(context, request, reservation.operation.statusRef, { failure, workerId, leaseSeconds, now });
}
