import { requestPermission, rulesFor, type PermissionRule, type PolicyVerdict } from '../approvals/index.ts';
import { type JsonValue, LIMITS, storableText } from '../core/index.ts';
import { appendEvent, type LedgerPlace, openGroup, SECRET_FIELDS } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import { readArguments } from '../tools/index.ts';
import { argumentsOf } from './arguments-of.ts';
import type { CallsContext } from './context.ts';
import { notStarted } from './denials.ts';
import { judge, requestFor } from './gate.ts';
import type {
  CallAuthority,
  CallPlace,
  CallStanding,
  Checked,
  PreparedCall,
  ProposalTerms,
  ProposedCall,
} from './model.ts';
import { resultEvent } from './result-event.ts';

export interface ReplyCall {
  readonly proposal: ProposedCall;
  readonly checked: Checked;
  /** Of a call that has its outcome already: it is written down and not judged again, whatever rules were made since. */
  readonly carriedOut?: CallAuthority;
}

/** One reply of a model, or one request of a host: what it said, and the calls it proposed, checked. */
export interface Reply {
  /** A fresh id for its group, where the caller has to know it before; else one is made. */
  readonly groupId?: string;
  readonly kind: 'native_tools' | 'finalize';
  readonly text: string | null;
  readonly provider?: string;
  readonly model?: string;
  /** What the model is given back of it beside its text and calls. */
  readonly wireState?: JsonValue;
  readonly usage?: JsonValue;
  readonly costUsd?: number;
  readonly calls: readonly ReplyCall[];
  readonly ticketId?: string;
  /** Is told of the group once it is open and before anything stands in it, in the same transaction. */
  readonly opened?: (tx: Tx, groupId: string) => Promise<void>;
}

export interface Proposed {
  readonly groupId: string;
  /** In the order of the reply. */
  readonly standings: readonly CallStanding[];
  /** Where an event stands that this transaction adds next to the group; undefined where it has to be looked for. */
  readonly next: LedgerPlace | undefined;
}

/**
 * Writes down one reply in the caller's transaction: its action group and message, a `proposed` line for each call,
 * the refusal of each that is refused or denied, and a permission request for each that has to wait.
 */
export async function propose(
  tx: Tx,
  context: CallsContext,
  place: CallPlace,
  reply: Reply,
  terms: Pick<ProposalTerms, 'askForEach'>,
): Promise<Proposed> {
  const { kind, text, provider, model, wireState, usage, costUsd, ticketId, calls } = reply;
  const { id: groupId, next: first } = await openGroup(tx, context.sessions, place.principal, {
    rootFrameId: place.rootFrameId,
    branchId: place.branchId,
    turnId: place.turnId,
    kind,
    ...(reply.groupId === undefined ? {} : { groupId: reply.groupId }),
    ...(text === null ? {} : { assistantContent: text }),
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
    ...(wireState === undefined ? {} : { wireState }),
    ...(usage === undefined ? {} : { usage }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(ticketId === undefined ? {} : { ticketId }),
  });
  await reply.opened?.(tx, groupId);
  const rules = calls.length === 0 ? [] : await rulesFor(tx, place.principal, place);
  const standings: CallStanding[] = [];
  let at: LedgerPlace | undefined = reply.opened ? undefined : first;
  for (const { proposal, checked, carriedOut } of calls) {
    const line = { ...proposedEvent(context, groupId, proposal, checked), at };
    const { next } = await appendEvent(tx, context.sessions, place.principal, line);
    const stood =
      carriedOut && checked.kind === 'prepared'
        ? { standing: { state: 'ready', call: checked.call, authority: carriedOut } as const, wrote: false }
        : await stand(tx, context, { place, groupId, rules, terms }, checked);
    standings.push(stood.standing);
    at = stood.wrote ? undefined : next;
  }
  return { groupId, standings, next: at };
}

interface Judging {
  readonly place: CallPlace;
  readonly groupId: string;
  readonly rules: readonly PermissionRule[];
  readonly terms: Pick<ProposalTerms, 'askForEach'>;
}

/** How a call stands, and whether more than its proposal was written for that. */
async function stand(
  tx: Tx,
  context: CallsContext,
  at: Judging,
  checked: Checked,
): Promise<{ readonly standing: CallStanding; readonly wrote: boolean }> {
  if (checked.kind === 'refused') {
    const { callId, toolName, outcome } = checked;
    await writeRefusal(tx, context, at, callId, 'none', outcome);
    return { standing: { state: 'ended', callId, toolName, outcome }, wrote: true };
  }
  const verdict = judge(context, at.place, checked.call, at.rules, at.terms);
  const standing = await carryOut(tx, context, at, checked.call, verdict);
  return { standing, wrote: verdict.decision !== 'allow' || verdict.shadow !== null };
}

/** Writes down what a verdict comes to for one call that has neither run nor been refused. */
export async function carryOut(
  tx: Tx,
  context: CallsContext,
  at: Pick<Judging, 'place' | 'groupId'>,
  call: PreparedCall,
  verdict: PolicyVerdict,
): Promise<CallStanding> {
  switch (verdict.decision) {
    case 'allow':
      if (verdict.shadow) await writeShadow(tx, context, at, call, verdict.shadow);
      return { state: 'ready', call, authority: { by: 'policy', approver: verdict.approver } };
    case 'deny': {
      const outcome = notStarted('POLICY_DENIED', `Denied by ${verdict.by}: ${verdict.reason}`);
      await writeRefusal(tx, context, at, call.callId, call.tool.effect, outcome);
      return { state: 'ended', callId: call.callId, toolName: call.tool.name, outcome };
    }
    case 'ask': {
      const wanted = requestFor(context, at.place, at.groupId, call, verdict);
      const request = await requestPermission(tx, context.sessions, at.place.principal, wanted);
      return { state: 'waiting', call, request };
    }
  }
}

async function writeRefusal(
  tx: Tx,
  context: CallsContext,
  { place, groupId }: Pick<Judging, 'place' | 'groupId'>,
  callId: string,
  sideEffectClass: string,
  outcome: Extract<CallStanding, { state: 'ended' }>['outcome'],
): Promise<void> {
  const of = { groupId, runId: place.runId, callId, sideEffectClass, resourceKeys: [], statusRef: null };
  await appendEvent(tx, context.sessions, place.principal, resultEvent(of, outcome));
}

async function writeShadow(
  tx: Tx,
  context: CallsContext,
  { place, groupId }: Pick<Judging, 'place' | 'groupId'>,
  call: PreparedCall,
  shadow: { readonly would: string; readonly reason: string },
): Promise<void> {
  await appendEvent(tx, context.sessions, place.principal, {
    groupId,
    type: 'permission_shadow',
    actionId: call.callId,
    toolCallId: call.callId,
    sideEffectClass: call.tool.effect,
    result: { would: shadow.would, reason: shadow.reason },
  });
}

/** The line of a proposal. Arguments that could not be read stand as raw text, cut to what a person can look at. */
function proposedEvent({ tools }: CallsContext, groupId: string, proposal: ProposedCall, checked: Checked) {
  const call = checked.kind === 'prepared' ? checked.call : null;
  const { secretFields = [] } = call?.tool ?? tools.current(proposal.toolName) ?? {};
  return {
    groupId,
    type: 'proposed',
    actionId: proposal.callId.slice(0, LIMITS.callIdCharacters) || 'unnamed',
    toolCallId: proposal.callId.slice(0, LIMITS.callIdCharacters) || 'unnamed',
    ...(call ? { canonicalArguments: argumentsOf(call) } : givenArguments(proposal)),
    result: {
      tool: proposal.toolName.slice(0, 64).toWellFormed(),
      page_url: call?.pageUrl ?? null,
      // Where the call is shown, its tool may be unknown.
      ...(secretFields.length === 0 ? {} : { [SECRET_FIELDS]: [...secretFields] }),
    },
    sideEffectClass: call?.tool.effect ?? 'none',
    resourceKeys: call?.resourceKeys ?? [],
  };
}

/** The arguments of a proposal that was refused, as far as they could be read. */
function givenArguments({ argumentsText }: ProposedCall) {
  const read = readArguments(argumentsText);
  return read.ok
    ? { canonicalArguments: read.value }
    : { rawArguments: storableText(argumentsText.slice(0, LIMITS.rawArgumentsShown)) };
}
