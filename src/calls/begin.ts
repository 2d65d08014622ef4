import { type CallBinding, consume, isRuleApprover, rulesFor } from '../approvals/index.ts';
import { fail, LIMITS, unixSeconds } from '../core/index.ts';
import { claimNext } from '../effects/index.ts';
import {
  digestForCall,
  type KeyedCall,
  type OperationApproval,
  type OperationHandle,
  type ReservedOperation,
  type PreparedRequest,
  prepareRequest,
  Principal,
  ToolCall,
} from '../operations/index.ts';
import { appendEvent, type LedgerPlace } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import type { Tool } from '../tools/index.ts';
import { argumentsOf } from './arguments-of.ts';
import type { ExactScope } from './call-scope.ts';
import type { CallsContext } from './context.ts';
import { notStarted, Refused } from './denials.ts';
import { findEditedTwin } from './edited-twin.ts';
import { boundPolicyRevision, judge } from './gate.ts';
import { approvedRevision, effectIdOf, HOLDFAST_PROFILE, idempotencyKey, keyOfHost } from './identity.ts';
import type { CallAuthority, CallPlace, PreparedCall } from './model.ts';
import { operationTool } from './operation-tool.ts';
import { settlingCommand } from './settling-command.ts';

/** A call that is about to begin: everything that was worked out before its first transaction. */
export interface Beginning {
  readonly place: CallPlace;
  readonly groupId: string;
  readonly call: PreparedCall;
  /** The key that its host gave it. */
  readonly hostKey?: string;
  readonly authority: CallAuthority;
  readonly scope: ExactScope;
  readonly request: PreparedRequest;
  /** Whole seconds; longer than the tool's time-out, with every repetition that it declares. */
  readonly leaseSeconds: number;
}

/** What the first transaction came to. */
export type Begun =
  /** Written down; the tool may run, until the lease ends. */
  | { readonly kind: 'begun'; readonly operation: ReservedOperation; readonly leaseUntilMs: number }
  /** This call was begun before: its stored operation says what became of it. */
  | { readonly kind: 'known'; readonly operation: OperationHandle };

/** How much longer than the tool's time-out a lease is, so that the answer can still be written down. */
const LEASE_MARGIN_SECONDS = 10;
const SHORTEST_LEASE_SECONDS = 30;
/** An approval that has no end of its own is minted with this one; it is used in the same second. */
const MINTED_APPROVAL_SECONDS = 3600;

export function leaseSecondsFor(callMs: number): number {
  return Math.max(SHORTEST_LEASE_SECONDS, Math.ceil(callMs / 1000) + LEASE_MARGIN_SECONDS);
}

/** The request of a call to `operations`, with the identities that the host mints. */
export function requestOfCall(of: Pick<Beginning, 'place' | 'groupId' | 'call' | 'hostKey'>): PreparedRequest {
  const { place, groupId, call } = of;
  const mintedKey = idempotencyKey(place, groupId, call.callId);
  const toolCall = new ToolCall({
    callId: call.callId,
    operationId: effectIdOf(mintedKey),
    name: call.tool.name,
    arguments: argumentsOf(call),
    idempotencyKey: of.hostKey === undefined ? mintedKey : keyOfHost(of.hostKey),
    responseId: groupId,
    ...HOLDFAST_PROFILE,
  });
  const { tenant, subject, roles } = place.principal;
  return prepareRequest(
    new Principal(tenant, subject, roles),
    toolCall as KeyedCall,
    operationTool(call.tool),
    'dispatch',
  );
}

/**
 * The first transaction of a writing call, in the caller's transaction: permission used, operation reserved with its
 * outbox row leased, effect claimed, `started` on the action ledger (at the place `at`, where that is known). Throws
 * `Refused`, or an error of the contexts it puts together; either undoes all of it.
 */
export async function begin(tx: Tx, context: CallsContext, of: Beginning, at?: LedgerPlace): Promise<Begun> {
  const now = unixSeconds(context.clock);
  await refuseWhilePaused(tx, context);
  await refuseByRules(tx, context, of);
  const twin = (await context.operations.findUnresolvedTwin(tx, of.request)) ?? (await findEditedTwin(tx, context, of));
  if (twin !== null) throw new Refused(twinRefusal(twin, of.call.tool));
  const reservation = await context.operations.reserve(tx, of.request, {
    approvals: [await mintApproval(tx, context, of, now)],
    rule: { holds: true },
    now,
    lease: { workerId: context.workerId, seconds: of.leaseSeconds },
  });
  if (reservation.kind === 'existing') throw new KnownOperation(reservation.operation);
  if (reservation.kind === 'refused')
    throw new Refused(notStarted(reservation.code, REFUSED_RESERVATION[reservation.code]));
  await claimEffect(tx, of, reservation.operation.statusRef);
  // An approval that is used may be told on the ledger before.
  const place = of.authority.by === 'policy' ? at : undefined;
  const line = { ...startedEvent(of, reservation.operation.statusRef), at: place };
  await appendEvent(tx, context.sessions, of.place.principal, line);
  return {
    kind: 'begun',
    operation: reservation.operation,
    leaseUntilMs: (now + of.leaseSeconds) * 1000,
  };
}

/** Undoes the transaction of a call that turns out to have been begun before; its permission stays as it was. */
export class KnownOperation extends Error {
  readonly operation: OperationHandle;

  constructor(operation: OperationHandle) {
    super('the call was begun before');
    this.operation = operation;
  }
}

/** Throws `Refused` while an operator has paused writes. */
export async function refuseWhilePaused(tx: Tx, context: CallsContext): Promise<void> {
  const why = await context.pausedBecause(tx);
  if (why !== null) throw new Refused(notStarted('CALL_PAUSED', `Writes are paused: ${why}`));
}

/**
 * Throws `Refused` where a rule that people have made since the call was judged denies it, whoever approved it, or holds
 * one that nobody was asked about; and where the rule that let it go is dropped. What the host's policies say is bound to
 * their revisions.
 */
async function refuseByRules(tx: Tx, context: CallsContext, of: Beginning): Promise<void> {
  const rules = await rulesFor(tx, of.place.principal, of.place);
  const restsOnRule = of.authority.by === 'policy' && isRuleApprover(of.authority.approver);
  if (rules.length === 0 && !restsOnRule) return;
  const verdict = judge(context, of.place, of.call, rules, {});
  if (verdict.decision === 'deny')
    throw new Refused(notStarted('POLICY_DENIED', `Denied by ${verdict.by}: ${verdict.reason}`));
  if (of.authority.by === 'policy' && verdict.decision === 'ask' && (verdict.because === 'rule' || restsOnRule))
    throw new Refused(
      notStarted(
        'APPROVAL_REQUIRED',
        `The rules have changed since it was proposed, and it is held by now: ${verdict.reason}`,
        'Propose it again.',
      ),
    );
}

const REFUSED_RESERVATION = {
  CALL_ID_CONFLICT: 'This call id was used for another call.',
  IDEMPOTENCY_CONFLICT: 'The key of this call was used for another request.',
  BUSINESS_RULE_VIOLATION: 'The business rule of this tool refuses it.',
  APPROVAL_REQUIRED: 'The call has no approval.',
  APPROVAL_INVALID: 'The approval of this call does not hold any more.',
} as const;

/** A twin is of the same tool. */
function twinRefusal(statusRef: string, tool: Tool) {
  return notStarted(
    'UNRESOLVED_TWIN',
    'The same call was made before and nobody knows yet whether it happened.',
    `Settle the earlier one first: ${settlingCommand(statusRef, tool)}`,
  );
}

async function mintApproval(tx: Tx, context: CallsContext, of: Beginning, now: number): Promise<OperationApproval> {
  const { authority, request } = of;
  if (authority.by === 'policy')
    return approvalOf(request, `policy-${request.call.callId}`, authority.approver, now + MINTED_APPROVAL_SECONDS);
  const used = await consume(tx, context.sessions, of.place.principal, {
    requestId: authority.requestId,
    by: request.statusRef,
    binding: bindingOf(context, of),
  });
  void context.faults.reach('approval-consumed');
  if (used.canonicalArguments !== of.call.argumentsText)
    throw fail('APPROVAL_BINDING_MISMATCH', 'What was approved is not what would be executed.');
  const ends = used.expiresAt === null ? now + MINTED_APPROVAL_SECONDS : Math.floor(used.expiresAt / 1000);
  return approvalOf(request, used.requestId, used.approver, Math.min(ends, LIMITS.portableUnixSeconds));
}

export function bindingOf(context: CallsContext, of: Pick<Beginning, 'place' | 'groupId' | 'call'>): CallBinding {
  return {
    runId: of.place.runId,
    groupId: of.groupId,
    toolCallId: of.call.callId,
    tool: of.call.tool.name,
    toolRevision: approvedRevision(of.call.tool),
    argumentsSha256: of.call.argumentsSha256,
    policyRevision: boundPolicyRevision(context),
  };
}

function approvalOf(
  request: PreparedRequest,
  approvalId: string,
  approverId: string,
  expiresAt: number,
): OperationApproval {
  const { call, contract, requestSha256, principal } = request;
  return {
    approvalId,
    operationId: call.operationId,
    callId: call.callId,
    provider: call.provider,
    apiFamily: call.apiFamily,
    adapterRevision: call.adapterRevision,
    idempotencyKey: call.idempotencyKey,
    toolName: contract.name,
    subject: principal.subject,
    schemaRevision: contract.inputSchema,
    policyRevision: contract.policy,
    digest: digestForCall(call, contract, requestSha256, approverId),
    expiresAt,
    approverId,
  };
}

async function claimEffect(tx: Tx, of: Beginning, statusRef: string): Promise<void> {
  const { place, call, scope } = of;
  await claimNext(
    tx,
    { tenantId: place.principal.tenant, runId: place.runId },
    {
      effectId: of.request.call.operationId,
      actionId: call.callId,
      operationId: statusRef,
      operation: {
        tool: call.tool.name,
        action: call.tool.effect,
        inputSha256: call.argumentsSha256,
        requestId: statusRef,
      },
      impactScope: scope.impactScope,
      obligations: scope.obligations,
      external: scope.impactScope.some((ref) => ref.kind === 'external'),
    },
  );
}

function startedEvent(of: Beginning, statusRef: string) {
  const { groupId, call } = of;
  return {
    groupId,
    type: 'started',
    actionId: call.callId,
    toolCallId: call.callId,
    canonicalArguments: argumentsOf(call),
    result: { status_ref: statusRef },
    sideEffectClass: call.tool.effect,
    resourceKeys: call.resourceKeys,
    // Its result is told; a line more in the feed would cost every call a statement.
    feed: null,
  };
}
