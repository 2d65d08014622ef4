import type { Approvals } from '../../approvals/index.ts';
import type { CallOutcome, CallPlace, CallsContext } from '../../calls/index.ts';
import { outcomeDocument, outcomeForModel } from '../../calls/index.ts';
import { canonicalJson, displayText, type JsonObject, LIMITS, sentence } from '../../core/index.ts';
import type { Filesystem } from '../../effects/index.ts';
import type { CallChannel } from './call-channel.ts';
import { doneLine, errorLine, keptLine, outcomeLine } from '../wire/write-line.ts';
import { CallsOfGuard } from './calls-of-guard.ts';
import { keptResult } from './kept-output.ts';
import { Deliveries, type GuardedCall, type Round } from './guarded-call.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { describedTool } from './policy-decision.ts';
import { rehearse } from './rehearsal.ts';
import type { RunKeeper, StandingOf } from './run-places.ts';
import { SETTLE_TOOL, settledLine, unansweredLine } from './settle-tool.ts';

export interface GuardOptions {
  readonly calls: CallsContext;
  readonly approvals: Approvals;
  readonly filesystem: Filesystem;
  /** The run under which calls are made, until it has made many. */
  readonly place: CallPlace;
  readonly runs: RunKeeper;
  /** Whether more may be begun in a run. */
  readonly standing: StandingOf;
  readonly sealed: SealedPolicy;
  /** One line for the person at the guard's standard error. */
  readonly tell: (line: string) => void;
  /** How a command of ours is said there, so that it finds this data folder when it is pasted. */
  readonly command?: (text: string) => string;
  /** How long a held call keeps its host waiting before it is told to come back. Milliseconds. */
  readonly waitMs: number;
}

/** What a host is told that gives one id to two requests at once. */
export const ID_IN_USE = 'Another request with this id waits for its answer.';

/** Where the calls of hosts are taken, however they travel: each is carried out, and its host told what is known. */
export class CallDesk {
  readonly #options: GuardOptions;
  readonly #deliveries: Deliveries;
  readonly #calls: CallsOfGuard;
  readonly #inFlight = new Map<string, GuardedCall>();
  /** Calls under way, those that wait for their next round under no id of their own included. */
  readonly #under = new Set<GuardedCall>();
  readonly #running = new Set<Promise<void>>();
  /** Whether a host has called anything, or has gone. */
  #called = false;
  #isOver = false;

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#deliveries = new Deliveries(options.calls.clock);
    this.#calls = new CallsOfGuard({ ...options, deliveries: this.#deliveries });
  }

  /** Makes ready what the first calls would wait for; the first that comes ends it. */
  prepare(): void {
    this.#track(rehearse(this.#options, () => !this.#called));
  }

  /** Whether a call under this key waits for its answer: no other request of its host may have its id. */
  waits(key: string): boolean {
    const call = this.#inFlight.get(key);
    return call !== undefined && !call.nextRound;
  }

  /** Takes a call under a key that no other request of its host has. */
  take(key: string, round: Round): void {
    this.#called = true;
    const { message, line, channel } = round;
    // One that waits for its next round was answered, so its id is free again.
    if (this.waits(key)) return refuse(round, ID_IN_USE);
    const continued = this.#deliveries.continuations.take(message);
    if (continued?.nextRound) {
      this.#inFlight.set(key, continued);
      return continued.nextRound(round);
    }
    if (this.#under.size >= LIMITS.guardCallsInFlight) return refuse(round, 'Too many calls at once.');
    const described = describedTool(this.#options.sealed.policy, message.name);
    const call: GuardedCall = {
      message,
      line,
      edited: null,
      channel,
      described,
      cancel: new AbortController(),
      sent: false,
      answerLine: null,
      said: null,
      concluded: false,
      told: false,
      nextRound: null,
    };
    this.#inFlight.set(key, call);
    this.#under.add(call);
    // What was still on its way when the hosts had gone is not begun.
    if (this.#isOver) call.cancel.abort();
    this.#track(this.#carryOut(call));
  }

  #track(done: Promise<void>): void {
    this.#running.add(done);
    void done.finally(() => this.#running.delete(done));
  }

  /** Cancels a call, which is told of no more; answers whether the server has to hear of it too. */
  cancel(key: string): boolean {
    const call = this.#inFlight.get(key);
    if (!call) return true;
    call.told = true;
    giveUp(call);
    return call.sent;
  }

  /**
   * The host of one call, which came by this channel, has gone: it is not started any more; `over`: what it started is
   * waited for no more.
   */
  abandon(key: string, channel: CallChannel, over: boolean): void {
    const call = this.#inFlight.get(key);
    // Between two rounds of one call its host has an answer, and is expected to come again.
    if (call?.channel === channel && !call.told && (over || !call.sent)) giveUp(call);
  }

  /**
   * The hosts have gone: nothing more is started. What is under way is waited for a little, so that its outcome can be
   * written down; after that it is unknown.
   */
  async hostsEnded(): Promise<void> {
    this.#isOver = true;
    for (const call of this.#under) if (!call.sent) call.cancel.abort();
    const grace = setTimeout(() => {
      for (const call of this.#under) giveUp(call);
    }, LIMITS.guardGraceMs);
    await this.settled();
    clearTimeout(grace);
  }

  /** The server has ended: what waits for a person, or for the next round of its host, waits no more. */
  serverEnded(): void {
    this.#calls.serverEnded();
    for (const call of this.#under) if (call.nextRound) giveUp(call);
  }

  /** Settles when every call is told and written down. */
  async settled(): Promise<void> {
    this.#called = true;
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#calls.written();
  }

  async #carryOut(call: GuardedCall): Promise<void> {
    try {
      if (this.#isSettling(call)) return await this.#settle(call);
      const outcome = await this.#calls.carryOut(call);
      if (outcome) this.#tell(call, outcome);
    } catch (error) {
      // The store failed: nothing is known to have been written, so nothing is told as done.
      const text = error instanceof Error ? error.message : 'its ledger failed';
      this.#options.tell(`a call of ${displayText(call.message.name)} could not be carried out: ${text}`);
      const code = call.sent ? 'OUTCOME_NOT_DURABLE' : 'STORE_BUSY';
      const lost = call.sent
        ? ({ state: 'unknown', code, reason: text, statusRef: null, resolve: 'holdfast doctor' } as const)
        : ({ state: 'not_started', code, reason: text, resolve: 'holdfast doctor' } as const);
      this.#tell(call, lost);
    } finally {
      this.#under.delete(call);
      for (const [key, one] of this.#inFlight) if (one === call) this.#inFlight.delete(key);
      call.channel.close();
    }
  }

  /** What else a model is told of an unknown call, where the guard itself can be asked about it: all that it sees is text. */
  #settles(call: GuardedCall, outcome: CallOutcome): string {
    if (outcome.state !== 'unknown' || outcome.statusRef === null) return '';
    if (!this.#options.sealed.policy.settleTool || call.described.status === null) return '';
    const asked = canonicalJson({ status_ref: outcome.statusRef });
    return ` Ask what became of it with the tool ${SETTLE_TOOL.name}: ${asked}`;
  }

  #isSettling({ message }: GuardedCall): boolean {
    return this.#options.sealed.policy.settleTool && message.name === SETTLE_TOOL.name;
  }

  /** The host asks what became of a call: answered here, and only a question reaches the server. */
  async #settle(call: GuardedCall): Promise<void> {
    const line = await this.#calls.settle(call).then(
      (outcome) => settledLine(call.message, outcome),
      (error: unknown) => unansweredLine(call.message, error),
    );
    if (!call.told) call.channel.give(line);
    call.told = true;
  }

  #tell(call: GuardedCall, outcome: CallOutcome): void {
    if (call.told) return;
    call.told = true;
    if (outcome.state === 'done' && !outcome.verified && call.described.postconditions.length > 0)
      this.#options.tell(
        `${displayText(call.message.name)} was reported as done, and what it should leave was not seen`,
      );
    answer(call, outcome, this.#settles(call, outcome));
  }
}

/** Waits for a call no more. One that the server has answered is written down as it was answered. */
function giveUp(call: GuardedCall): void {
  if (!call.concluded) call.cancel.abort();
}

function refuse({ message, channel }: Round, text: string): void {
  channel.give(errorLine(message.id, 'MCP_MESSAGE_UNREADABLE', text));
  channel.close();
}

/** The server's own bytes wherever they are the whole truth; else the guard's words. */
function answer(call: GuardedCall, outcome: CallOutcome, settles: string): void {
  const { channel, answerLine, message } = call;
  const { state } = outcome;
  // An error of the server's is not the truth of a call that it says, when it is asked, was carried out.
  const isTrue = state === 'not_done' || state === 'failed' || (state === 'done' && call.said === null);
  if (answerLine && isTrue) return channel.giveAnswer(answerLine);
  const { output: _output, ...document } = outcomeDocument(outcome) as JsonObject;
  const text = outcomeForModel(outcome);
  const kept = state === 'done' ? keptResult(outcome.output) : null;
  const said = call.said ?? undefined;
  switch (state) {
    case 'done':
      if (said) return channel.give(doneLine(message, `${DONE_AFTER_ALL} ${text}`, document, said));
      if (kept) return channel.give(keptLine(message, kept));
      return channel.give(
        doneLine(message, `DONE: it was carried out; its answer was not kept whole. ${text}`, document),
      );
    case 'not_done':
    case 'failed':
      return channel.give(outcomeLine(message, { document, text, said }));
    case 'unknown':
      return channel.give(outcomeLine(message, { document, text: `${text}${settles}`, said }));
    case 'not_started':
      return channel.give(outcomeLine(message, { document, text: `${text}${resolving(outcome)}` }));
  }
}

const DONE_AFTER_ALL = 'DONE: the server answered with an error, and when it was asked, that it was carried out.';

/** What resolves it, where the reason does not say so already. */
function resolving({ reason, resolve }: Extract<CallOutcome, { state: 'not_started' }>): string {
  return reason.includes(resolve) ? '' : ` ${sentence(resolve)}`;
}
