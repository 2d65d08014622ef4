import { latestRequest, type PermissionRequest, rulesFor } from '../approvals/index.ts';
import { canonicalJson, isJsonObject, type JsonValue } from '../core/index.ts';
import { type ActionEvent, listEvents, listGroupEvents, secretFieldsOfProposal } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { CallsContext } from './context.ts';
import { notStarted } from './denials.ts';
import { unknownOutcome } from './finish.ts';
import { judge } from './gate.ts';
import type { CallPlace, CallStanding, PreparedCall, ProposalTerms } from './model.ts';
import type { CallOutcome } from './outcome.ts';
import { prepareCall } from './prepare.ts';
import { carryOut } from './propose.ts';
import { outcomeOfResult, type ResultOf } from './result-event.ts';

/** One call as its ledger lines tell it. */
export interface LedgerCall {
  readonly callId: string;
  readonly toolName: string;
  /** What was executed, or would be: canonical JSON; null where the proposal could not be read. */
  readonly argumentsText: string | null;
  /** What the model proposed; another text where an approver changed the arguments. */
  readonly proposedText: string | null;
  readonly pageUrl: string | null;
  /** Fields of its arguments that its tool named as secret when it was proposed: they are struck out where it is shown. */
  readonly secretFields: readonly string[];
  readonly sideEffectClass: string;
  readonly resourceKeys: readonly string[];
  /** The operation of its last start; null while it has not started. */
  readonly statusRef: string | null;
  /** What its newest result says; unknown for a call that has started and has none; null while it has not started. */
  readonly outcome: CallOutcome | null;
  /** Whether the ledger has a result of it. */
  readonly hasResult: boolean;
  /** How often the tool was invoked again before its newest result. */
  readonly retries: number;
  /** What an enforced policy would have done, where shadow mode let the call pass. */
  readonly shadow: { readonly would: string; readonly reason: string } | null;
}

/** The calls of one action group in the order of the reply, from its ledger lines. */
export async function ledgerCalls(
  tx: ReadTx,
  principal: CallPlace['principal'],
  groupId: string,
): Promise<readonly LedgerCall[]> {
  const calls = new Map<string, LedgerCall>();
  let after: string | undefined;
  for (;;) {
    const page = await listGroupEvents(tx, principal, groupId, after === undefined ? {} : { after });
    for (const event of page.items) apply(calls, event);
    if (page.next === null) return [...calls.values()];
    after = page.next;
  }
}

/** The calls of every action group of a session, by group, each in the order of the reply. SESSION_NOT_FOUND. */
export async function sessionCalls(
  tx: ReadTx,
  principal: CallPlace['principal'],
  rootFrameId: string,
): Promise<ReadonlyMap<string, readonly LedgerCall[]>> {
  const groups = new Map<string, Map<string, LedgerCall>>();
  let after: string | undefined;
  do {
    const page = await listEvents(tx, principal, rootFrameId, after === undefined ? {} : { after });
    for (const event of page.items) {
      const calls = groups.get(event.groupId) ?? new Map<string, LedgerCall>();
      groups.set(event.groupId, calls);
      apply(calls, event);
    }
    after = page.next ?? undefined;
  } while (after !== undefined);
  return new Map([...groups].map(([groupId, calls]) => [groupId, [...calls.values()]]));
}

function apply(calls: Map<string, LedgerCall>, event: ActionEvent): void {
  const callId = event.toolCallId;
  if (callId === null) return;
  if (event.type === 'proposed') {
    calls.set(callId, proposedCall(callId, event));
    return;
  }
  const call = calls.get(callId);
  if (!call) return;
  if (event.type === 'started')
    calls.set(callId, {
      ...call,
      statusRef: text(event.result, 'status_ref'),
      outcome: startedOutcome(text(event.result, 'status_ref'), call.sideEffectClass),
      hasResult: false,
      argumentsText: argumentsOf(event) ?? call.argumentsText,
    });
  if (event.type === 'permission_shadow')
    calls.set(callId, {
      ...call,
      shadow: { would: text(event.result, 'would') ?? '', reason: text(event.result, 'reason') ?? '' },
    });
  if (event.type !== 'result') return;
  const retries = retriesOf(event.result);
  calls.set(callId, { ...call, outcome: outcomeOfResult(event.result), hasResult: true, retries });
}

function proposedCall(callId: string, event: ActionEvent): LedgerCall {
  return {
    callId,
    toolName: text(event.result, 'tool') ?? '',
    argumentsText: argumentsOf(event),
    proposedText: argumentsOf(event),
    pageUrl: text(event.result, 'page_url'),
    secretFields: secretFieldsOfProposal(event.result),
    sideEffectClass: event.sideEffectClass ?? 'unknown',
    resourceKeys: event.resourceKeys,
    statusRef: null,
    outcome: null,
    hasResult: false,
    retries: 0,
    shadow: null,
  };
}

function retriesOf(result: JsonValue): number {
  const said = isJsonObject(result) ? result['retries'] : undefined;
  return typeof said === 'number' ? said : 0;
}

/** What the ledger knows of the tool is its effect: one that is `once` has no way to be asked. */
function startedOutcome(statusRef: string | null, effect: string): CallOutcome {
  const tool = effect === 'once' ? ({ status: null, effect, revisions: null } as const) : null;
  return unknownOutcome({ statusRef, tool }, 'OUTCOME_UNKNOWN', 'It has started and its answer is not written down.');
}

const argumentsOf = (event: ActionEvent): string | null =>
  event.canonicalArguments === null ? null : canonicalJson(event.canonicalArguments);

function text(value: JsonValue, key: string): string | null {
  const member = isJsonObject(value) ? value[key] : null;
  return typeof member === 'string' ? member : null;
}

/** The call as a `result` written for it now would name it. */
export function ledgerResultOf(groupId: string, runId: string, call: LedgerCall): ResultOf {
  const { callId, sideEffectClass, resourceKeys, statusRef } = call;
  return { groupId, runId, callId, sideEffectClass, resourceKeys, statusRef };
}

/** A call that neither ran nor ended, made ready again: under which arguments, and what its request says. */
interface Unstarted {
  readonly call: PreparedCall;
  readonly request: PermissionRequest | null;
}

/**
 * Where a call that has not started stands now, judged again: its tool and arguments, what a person decided, what the
 * policies say today. The answer is carried out in the caller's transaction by `standNow`. Throws TOOL_UNKNOWN where
 * the tool is gone.
 */
export async function rejudge(
  context: CallsContext,
  place: CallPlace,
  groupId: string,
  stored: LedgerCall,
  terms: ProposalTerms,
): Promise<Unstarted | Extract<CallStanding, { state: 'ended' }>> {
  const request = await context.store.read('calls.request', (tx) =>
    latestRequest(tx, place.principal, groupId, stored.callId),
  );
  const { callId, toolName } = stored;
  const argumentsText = request?.action.canonicalArguments ?? stored.argumentsText ?? '';
  const checked = await prepareCall(context, place.principal, { callId, toolName, argumentsText }, terms);
  if (checked.kind === 'refused') return { state: 'ended', callId, toolName, outcome: checked.outcome };
  return { call: checked.call, request };
}

/** What a request's state means for its call; null where it says nothing any more and the policies are asked. */
function standingOfRequest({ call, request }: Unstarted): CallStanding | null {
  if (!request) return null;
  const { callId, tool } = call;
  const ended = (outcome: CallOutcome): CallStanding => ({ state: 'ended', callId, toolName: tool.name, outcome });
  const { status, action } = request;
  switch (status.state) {
    case 'pending':
      return { state: 'waiting', call, request };
    case 'allowed':
      if (status.use.use === 'revoked') return ended(notStarted('APPROVAL_REVOKED', status.use.reason));
      return { state: 'ready', call, authority: { by: 'request', requestId: action.requestId } };
    case 'denied':
      return ended(notStarted('APPROVAL_DENIED', deniedText(status.decision.by, status.decision.message)));
    case 'timed_out':
      return ended(notStarted('APPROVAL_EXPIRED', 'Nobody decided in time.'));
    case 'cancelled':
      return ended(notStarted('APPROVAL_REVOKED', status.message));
  }
}

function deniedText(by: string, message: string | null): string {
  return message === null ? `${by} said no.` : `${by} said no: ${message}`;
}

/** Settles in the caller's transaction where an unstarted call stands; may write a request, or a refusal. */
export async function standNow(
  tx: Tx,
  context: CallsContext,
  at: { readonly place: CallPlace; readonly groupId: string },
  unstarted: Unstarted,
  terms: ProposalTerms,
): Promise<CallStanding> {
  const said = standingOfRequest(unstarted);
  if (said) return said;
  const rules = await rulesFor(tx, at.place.principal, at.place);
  return carryOut(tx, context, at, unstarted.call, judge(context, at.place, unstarted.call, rules, terms));
}
