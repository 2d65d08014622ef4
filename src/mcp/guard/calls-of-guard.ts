import { type Approvals, type ApproverRule, rulesFor } from '../../approvals/index.ts';
import {
  type CallAuthority,
  type CallOutcome,
  type CallPlace,
  type CallsContext,
  type CallStanding,
  type Checked,
  executeCall,
  type Executed,
  judge,
  outcomeOfStored,
  outcomeUnderKey,
  type PreparedCall,
  prepareCall,
  type ProposedCall,
  propose,
  refusalOf,
  type Reply,
  resultEvent,
  settleByStatus,
} from '../../calls/index.ts';
import {
  canonicalJson,
  displayText,
  fail,
  HoldfastError,
  JSON_PROFILES,
  type JsonObject,
  readCanonicalJson,
  sealJson,
} from '../../core/index.ts';
import type { Filesystem } from '../../effects/index.ts';
import { Principal as OperationPrincipal } from '../../operations/index.ts';
import { appendEvent, type LedgerPlace } from '../../sessions/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import type { ToolCallContext } from '../../tools/index.ts';
import { editedLine } from '../wire/write-line.ts';
import { guardPolicies, GuardNames } from './guard-policy.ts';
import { guardTool } from './guard-tool.ts';
import type { Deliveries, GuardedCall } from './guarded-call.ts';
import { awaitDecision, type HeldCall, HeldCalls } from './held-calls.ts';
import { answersGuard, HostApproval } from './host-approval.ts';
import { LaterWrites } from './later-writes.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { judgeCall } from './policy-decision.ts';
import { askServer } from './policy-status.ts';
import { LostRun, requireOpen, type RunKeeper, RunPlaces, type StandingOf } from './run-places.ts';
import { settledReference } from './settle-tool.ts';
import { Turns } from './turns.ts';

export interface CallsOfGuardOptions {
  readonly calls: CallsContext;
  readonly approvals: Approvals;
  readonly filesystem: Filesystem;
  readonly place: CallPlace;
  readonly runs: RunKeeper;
  readonly standing: StandingOf;
  readonly sealed: SealedPolicy;
  readonly deliveries: Deliveries;
  readonly tell: (line: string) => void;
  readonly command?: (text: string) => string;
  readonly waitMs: number;
}

/** A tool that nobody can be asked about, or that this policy no longer describes as it was. */
const CANNOT_BE_ASKED: ReadonlySet<string> = new Set(['TOOL_NOT_ASKABLE', 'TOOL_UNKNOWN']);

/** The run of a call was stopped, or no run could be held long enough to begin it. */
const REFUSED_BY_RUN: ReadonlySet<string> = new Set(['CALL_SKIPPED', 'RUN_NOT_OWNED']);

/** In so many runs a call is tried to be begun, each of which was taken from this process meanwhile. */
const RUNS_TRIED = 3;

/** Between judging and beginning a rule was made that holds the call. */
class HeldAfterAll extends Error {}

/** A call that was proposed and is written down. */
interface Standing {
  readonly groupId: string;
  readonly standing: CallStanding;
  /** Where its next event stands, in the transaction that wrote it. */
  readonly next: LedgerPlace | undefined;
}

/** Where a call stands on the ledger. */
type StandingAt = Pick<HeldCall, 'place' | 'groupId'>;

/** A call that is about to be written down. */
interface Proposing {
  readonly place: CallPlace;
  readonly proposal: ProposedCall;
  readonly checked: Checked;
  readonly groupId?: string;
  /** It has its outcome, under this authority. */
  readonly carriedOut?: CallAuthority;
}

/** Takes the calls of one host the way of one call: judged, written down, passed on, written down again. */
export class CallsOfGuard {
  readonly #options: CallsOfGuardOptions;
  readonly #calls: CallsContext;
  readonly #names: GuardNames;
  readonly #held = new HeldCalls();
  /** Calls by the id under which they are kept, so that a tool's `execute` finds what to pass on. */
  readonly #byCallId = new Map<string, GuardedCall>();
  readonly #later: LaterWrites;
  readonly #turns = new Turns();
  readonly #host: HostApproval;
  readonly #places: RunPlaces;
  /** Aborted when the server has ended: what waits for a person waits for nothing then. */
  readonly #serverEnded = new AbortController();

  constructor(options: CallsOfGuardOptions) {
    const { sealed, calls } = options;
    this.#options = options;
    this.#later = new LaterWrites(calls.store, (error) =>
      options.tell(`what a read came to could not be written down: ${String(error)}`),
    );
    this.#names = new GuardNames(sealed.policy.server);
    const { approvals, place, runs, tell } = options;
    this.#places = new RunPlaces({ place, runs, tell, waitsIn: (one) => this.#held.waitsIn(one) });
    this.#host = new HostApproval({ approvals, place, held: this.#held, ids: calls.sessions.ids });
    this.#calls = {
      ...calls,
      policies: guardPolicies(sealed, this.#names),
      approvalExpiresMs: sealed.policy.holdSeconds * 1000,
    };
  }

  /** Carries a call out as far as it goes now. Null where the host has been told, or asked for nothing any more. */
  carryOut(call: GuardedCall): Promise<CallOutcome | null> {
    const { key, name } = call.message;
    if (key === null || call.described.effect === 'read') return this.#carryOut(call);
    // A second call under a key that is under way gets what the first one comes to.
    return this.#turns.take(canonicalJson([name, key]), () => this.#carryOut(call));
  }

  /**
   * Asks what became of a call that was told as unknown: in the ledger, and of the server where the policy says how.
   * Changes nothing but what is known. Throws `INVALID_VALUE`, `OPERATION_NOT_FOUND`.
   */
  async settle(call: GuardedCall): Promise<CallOutcome> {
    const { principal } = this.#options.place;
    const statusRef = settledReference(call.message);
    if (statusRef === null) throw fail('INVALID_VALUE', 'Give status_ref, as it was told with the unknown call.');
    const { operation } = await this.#calls.operations.stored(
      new OperationPrincipal(principal.tenant, principal.subject),
      statusRef,
    );
    if (!this.#names.isOfServer(operation.scope.tool))
      throw fail('OPERATION_NOT_FOUND', 'This server has no such call.');
    for (const name of this.#options.sealed.policy.tools.keys())
      if (this.#names.kept(name) === operation.scope.tool) this.#toolNamed(name);
    const { callId } = operation.first;
    this.#byCallId.set(callId, call);
    try {
      return await settleByStatus(this.#calls, principal, statusRef, this.#options.filesystem);
    } catch (error) {
      if (!(error instanceof HoldfastError) || !CANNOT_BE_ASKED.has(error.code)) throw error;
      return await outcomeOfStored(this.#calls, principal, statusRef);
    } finally {
      if (this.#byCallId.get(callId) === call) this.#byCallId.delete(callId);
    }
  }

  async #carryOut(call: GuardedCall): Promise<CallOutcome | null> {
    try {
      return await this.#inOpenRun(this.#held.take(call), (held, place) =>
        held ? this.#goOn(call, held) : this.#begin(call, place),
      );
    } catch (error) {
      if (error instanceof HoldfastError && REFUSED_BY_RUN.has(error.code)) return refusalOf(error);
      throw error;
    }
  }

  /**
   * Where the run of a call was taken from this process before the call began, it is begun in the run that goes on; one
   * that had waited asks anew there, since its permission was for the other run.
   */
  async #inOpenRun<T>(
    held: HeldCall | undefined,
    begin: (held: HeldCall | undefined, place: CallPlace) => Promise<T>,
  ): Promise<T> {
    for (let tries = 1, waited = held; tries <= RUNS_TRIED; tries += 1, waited = undefined) {
      const place = this.#places.enter(waited?.place);
      try {
        return await begin(waited, place);
      } catch (error) {
        if (!(error instanceof LostRun)) throw error;
      } finally {
        this.#places.leave(place);
      }
      await this.#places.lost(place);
    }
    const resolve = 'Look at the clock of this machine, then call it again.';
    throw fail('RUN_NOT_OWNED', 'Each run of this guard was taken from it before the call could begin.', { resolve });
  }

  async #begin(call: GuardedCall, place: CallPlace): Promise<CallOutcome | null> {
    const proposal = this.#proposalOf(call);
    const terms = { allowed: new Set([proposal.toolName]) };
    const checked = await prepareCall(this.#calls, place.principal, proposal, terms);
    if (checked.kind === 'prepared') {
      const outcome =
        (await this.#before(call, place, proposal, checked.call)) ??
        (await this.#unasked(call, place, proposal, checked.call));
      if (outcome) return outcome;
    }
    const { groupId, standing } = await this.#propose(call, { place, proposal, checked });
    if (standing.state === 'ready') this.#tellShadow(call);
    if (standing.state !== 'waiting') return this.#stand(call, { place, groupId }, standing);
    const { request } = standing;
    const now: HeldCall = {
      key: this.#held.keyOf(call),
      place,
      groupId,
      call: standing.call,
      requestId: request.action.requestId,
    };
    this.#held.hold(now);
    const { command = (text: string) => text } = this.#options;
    const how = command(`holdfast approvals approve ${now.requestId}`);
    this.#options.tell(
      `held: ${displayText(call.message.name)}: ${displayText(request.action.reason)}; to decide: ${how}`,
    );
    return this.#goOn(call, now);
  }

  /** The server has ended: nobody's decision can let a call that waits reach it any more. */
  serverEnded(): void {
    this.#serverEnded.abort();
  }

  /** Settles when everything that was left for later is written, or has failed. */
  async written(): Promise<void> {
    await this.#later.written();
    await this.#places.settled();
  }

  #proposalOf(call: GuardedCall): ProposedCall {
    const { name, arguments: args } = call.message;
    const toolName = this.#toolNamed(name);
    const callId = this.#calls.sessions.ids.next();
    return { callId, toolName, argumentsText: canonicalJson(sealJson(args)) };
  }

  /** The name under which calls of a tool are kept; from now on the tool is known under it. */
  #toolNamed(name: string): string {
    const kept = this.#names.kept(name);
    if (this.#calls.tools.current(kept)) return kept;
    const { sealed, deliveries } = this.#options;
    const callOf = ({ callId }: ToolCallContext): GuardedCall => {
      const one = this.#byCallId.get(callId);
      if (!one) throw new Error('a call that the guard does not know');
      return one;
    };
    const tool = guardTool(sealed, name, {
      deliver: (context) => deliveries.deliver(callOf(context), context),
      ask: (context, input) => askServer(sealed, callOf(context), { name, input, signal: context.signal }),
    });
    this.#calls.tools.register(tool);
    return kept;
  }

  /** What is known of the call that this one repeats under its host's key; null for one that repeats nothing. */
  async #before(
    call: GuardedCall,
    place: CallPlace,
    proposal: ProposedCall,
    prepared: PreparedCall,
  ): Promise<CallOutcome | null> {
    const { key } = call.message;
    if (key === null || prepared.tool.effect === 'read') return null;
    const outcome = await outcomeUnderKey(this.#calls, place, prepared, key);
    if (outcome === null) return null;
    await this.#calls.store.read('guard.run', (tx) => this.#requireOpen(tx, place));
    const { callId, toolName } = proposal;
    const checked: Checked = { kind: 'refused', callId, toolName, outcome };
    this.#later.add(async (tx) => void (await this.#write(tx, call, { place, proposal, checked })));
    return outcome;
  }

  /** Carries out a call that nothing holds; null for one that has to be proposed first. */
  async #unasked(
    call: GuardedCall,
    place: CallPlace,
    proposal: ProposedCall,
    prepared: PreparedCall,
  ): Promise<CallOutcome | null> {
    // A write is judged again where it begins, with the rules that people made; a read has no such place.
    const rules =
      prepared.tool.effect === 'read'
        ? await this.#calls.store.read('guard.rules', async (tx) => {
            await this.#requireOpen(tx, place);
            return rulesFor(tx, place.principal, place);
          })
        : [];
    const verdict = judge(this.#calls, place, prepared, rules, {});
    if (verdict.decision !== 'allow' || verdict.shadow) return null;
    const authority: CallAuthority = { by: 'policy', approver: verdict.approver };
    const groupId = this.#calls.sessions.ids.next();
    const checked: Checked = { kind: 'prepared', call: prepared };
    const opening = async (tx: Tx): Promise<LedgerPlace | undefined> => {
      await this.#requireOpen(tx, place);
      const { standing, next } = await this.#write(tx, call, { place, proposal, checked, groupId });
      if (standing.state !== 'ready') throw new HeldAfterAll();
      return next;
    };
    try {
      const { outcome, recorded } = await this.#execute(call, { place, groupId, prepared, authority, opening });
      // A read changes nothing and a refused call has no commit of its own: both are written down afterwards.
      if (!recorded)
        this.#later.add(async (tx) => {
          const carriedOut = { place, proposal, checked, carriedOut: authority };
          const { groupId: written } = await this.#write(tx, call, carriedOut);
          await this.#record(tx, { place, groupId: written }, prepared, outcome);
        });
      return outcome;
    } catch (error) {
      if (error instanceof HeldAfterAll) return null;
      throw error;
    }
  }

  /** What shadow mode lets pass is said where a held call is said, too. */
  #tellShadow({ message }: GuardedCall): void {
    const { sealed, tell } = this.#options;
    if (sealed.policy.mode !== 'shadow') return;
    const { decision, reason } = judgeCall(sealed, message.name, message.arguments);
    const would = { allow: null, ask: 'held', deny: 'refused' }[decision];
    if (would) tell(`shadow: ${displayText(message.name)} would have been ${would}: ${displayText(reason)}`);
  }

  #propose(call: GuardedCall, of: Proposing): Promise<Standing> {
    return this.#calls.store.write('guard.propose', async (tx) => {
      await this.#requireOpen(tx, of.place);
      return this.#write(tx, call, of);
    });
  }

  #requireOpen(tx: ReadTx, place: CallPlace): Promise<void> {
    return requireOpen(tx, this.#options.standing, place);
  }

  async #write(tx: Tx, call: GuardedCall, of: Proposing): Promise<Standing> {
    const { place, proposal, checked, groupId, carriedOut } = of;
    const approver = (): ApproverRule => this.#approverOf(call);
    const context: CallsContext = {
      ...this.#calls,
      // Asked only where the call has to wait, which few do.
      get approver() {
        return approver();
      },
    };
    const reply: Reply = {
      kind: 'native_tools',
      text: null,
      provider: 'mcp',
      calls: [{ proposal, checked, ...(carriedOut === undefined ? {} : { carriedOut }) }],
      ...(groupId === undefined ? {} : { groupId }),
    };
    const proposed = await propose(tx, context, place, reply, {});
    const standing = proposed.standings[0];
    if (!standing) throw new Error('one call has one standing');
    return { groupId: proposed.groupId, standing, next: proposed.next };
  }

  /** Who may decide about a call that waits. */
  #approverOf({ message }: GuardedCall): ApproverRule {
    const { sealed } = this.#options;
    const { approvers } = judgeCall(sealed, message.name, message.arguments);
    const { roles, subjects } = approvers ?? sealed.policy.approvers;
    return { roles, subjects, requesterMayDecide: true };
  }

  /** Waits for the decision on a held call, asking the host's user where it can be asked. */
  async #goOn(call: GuardedCall, held: HeldCall): Promise<CallOutcome | null> {
    const { tell, waitMs } = this.#options;
    const asking = new AbortController();
    const given = AbortSignal.any([call.cancel.signal, this.#serverEnded.signal]);
    const signal = AbortSignal.any([asking.signal, given]);
    let ended = false;
    try {
      const heard = await this.#host.hear(call, held);
      const asksByAnswer = !heard && call.message.era === 'stateless' && call.message.elicits;
      void this.#host.ask(call, held, signal).catch((error: unknown) => tell(`asking failed: ${String(error)}`));
      const until = { waitMs: asksByAnswer ? 0 : waitMs, signal: given };
      const standing = await awaitDecision(this.#calls, held, until);
      asking.abort();
      if (this.#serverEnded.signal.aborted && standing?.state !== 'ended') return serverGone();
      if (standing === null || standing.state === 'waiting')
        return asksByAnswer ? this.#host.askByAnswer(call, held) : stillHeld(held);
      ended = true;
      return await this.#stand(call, held, standing);
    } finally {
      asking.abort();
      this.#held.leave(held, ended);
    }
  }

  async #stand(call: GuardedCall, at: StandingAt, standing: CallStanding): Promise<CallOutcome | null> {
    switch (standing.state) {
      case 'waiting':
        return null;
      case 'ended':
        return standing.outcome;
      case 'ready': {
        const { call: prepared, authority } = standing;
        const { place, groupId } = at;
        const opening = async (tx: Tx): Promise<undefined> => {
          await this.#requireOpen(tx, place);
        };
        const { outcome, recorded } = await this.#execute(call, { place, groupId, prepared, authority, opening });
        if (!recorded) await this.#calls.store.write('guard.result', (tx) => this.#record(tx, at, prepared, outcome));
        return outcome;
      }
    }
  }

  /** What an approver changed is what is passed on; what answers the guard is not. */
  #takeEdits(call: GuardedCall, prepared: PreparedCall): void {
    const own = answersGuard(call.message);
    const isEdited = prepared.argumentsText !== canonicalJson(call.message.arguments);
    if (!own && !isEdited) return;
    const edited = readCanonicalJson(prepared.argumentsText, JSON_PROFILES.operations) as JsonObject;
    call.line = editedLine(call.message, edited, own);
    if (isEdited) call.edited = edited;
  }

  async #execute(
    call: GuardedCall,
    of: StandingAt & {
      readonly prepared: PreparedCall;
      readonly authority: CallAuthority;
      readonly opening?: (tx: Tx) => Promise<LedgerPlace | undefined>;
    },
  ): Promise<Executed> {
    const { filesystem } = this.#options;
    const { place, groupId, prepared, authority, opening } = of;
    if (prepared.tool.effect !== 'read') this.#places.writes(place, prepared);
    this.#takeEdits(call, prepared);
    this.#byCallId.set(prepared.callId, call);
    try {
      const { key } = call.message;
      const named = key === null ? {} : { hostKey: key };
      const given = { place, groupId, call: prepared, authority, filesystem, signal: call.cancel.signal, ...named };
      const ready = opening === undefined ? given : { ...given, opening };
      return await executeCall(this.#calls, ready);
    } finally {
      this.#byCallId.delete(prepared.callId);
    }
  }

  async #record(tx: Tx, at: StandingAt, call: PreparedCall, outcome: CallOutcome): Promise<void> {
    const { place, groupId } = at;
    const of = {
      groupId,
      runId: place.runId,
      callId: call.callId,
      sideEffectClass: call.tool.effect,
      resourceKeys: call.resourceKeys,
      statusRef: null,
    };
    await appendEvent(tx, this.#calls.sessions, place.principal, resultEvent(of, outcome));
  }
}

function serverGone(): CallOutcome {
  return {
    state: 'not_started',
    code: 'MCP_SERVER_GONE',
    reason: 'The server ended while the call waited for a person. What was asked about it is taken back.',
    resolve: 'Start the server anew, then call it again.',
  };
}

function stillHeld(held: HeldCall): CallOutcome {
  return {
    state: 'not_started',
    code: 'APPROVAL_PENDING',
    reason: `It waits for a person: holdfast approvals approve ${held.requestId}. Call it again with the same arguments once that is done.`,
    resolve: `holdfast approvals approve ${held.requestId}`,
  };
}
