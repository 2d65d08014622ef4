import type { Approvals } from '../../approvals/index.ts';
import type { CallOutcome, CallPlace, CallsContext } from '../../calls/index.ts';
import { outcomeDocument, outcomeForModel } from '../../calls/index.ts';
import { displayText, type JsonObject, LIMITS } from '../../core/index.ts';
import type { Filesystem } from '../../effects/index.ts';
import { idKey, type RpcId, type ToolCallMessage } from '../wire/message.ts';
import { readHostLine } from '../wire/read-host-line.ts';
import { doneLine, errorLine, outcomeLine } from '../wire/write-line.ts';
import { describedTool } from './policy-decision.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { CallsOfGuard } from './calls-of-guard.ts';
import { Deliveries, type GuardedCall, type Wires } from './guarded-call.ts';
import { HostQuestions } from './host-questions.ts';
import { ServerExchanges } from './server-exchanges.ts';

export interface GuardOptions {
  readonly calls: CallsContext;
  readonly approvals: Approvals;
  readonly filesystem: Filesystem;
  readonly place: CallPlace;
  readonly sealed: SealedPolicy;
  readonly wires: Wires;
  /** One line for the person at the guard's standard error. */
  readonly tell: (line: string) => void;
  /** How long a held call keeps its host waiting before it is told to come back. Milliseconds. */
  readonly waitMs: number;
}

/**
 * Stands between a host and a server of MCP. Every line passes as it is, byte for byte; a call of a tool goes the way
 * of one call, and the host is told of it nothing but what is known.
 */
export class Guard {
  readonly #options: GuardOptions;
  readonly #exchanges = new ServerExchanges();
  readonly #deliveries: Deliveries;
  readonly #questions: HostQuestions;
  readonly #calls: CallsOfGuard;
  readonly #inFlight = new Map<string, GuardedCall>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: GuardOptions) {
    this.#options = options;
    this.#deliveries = new Deliveries(this.#exchanges, options.wires);
    this.#questions = new HostQuestions(options.wires);
    this.#calls = new CallsOfGuard({ ...options, deliveries: this.#deliveries, questions: this.#questions });
  }

  /** A whole line from the host. */
  hostLine(bytes: Uint8Array): void {
    const message = readHostLine(bytes);
    switch (message.kind) {
      case 'call':
        return this.#take(message, bytes);
      case 'cancel':
        return this.#cancel(message.id, bytes);
      case 'reply':
        if (!this.#questions.answered(message.id, message.result)) this.#options.wires.toServer(bytes);
        return;
      case 'initialize':
        this.#questions.possible = message.elicits;
        return this.#options.wires.toServer(bytes);
      case 'pass':
        return this.#options.wires.toServer(bytes);
      case 'refused':
        this.#options.tell(`refused a message of the host: ${message.text} (${message.code})`);
        return this.#options.wires.toHost(errorLine(message.id, message.code, message.text));
    }
  }

  /** A whole line from the server: an answer to a call is told when its outcome is known, anything else passes. */
  serverLine(bytes: Uint8Array): void {
    if (!this.#exchanges.take(bytes)) this.#options.wires.toHost(bytes);
  }

  /** A part of a line that is too long to be looked into: from the host it is refused, from the server it passes. */
  oversized(from: 'host' | 'server', bytes: Uint8Array, last: boolean): void {
    if (from === 'server') {
      // It may be the answer to any call that waits, so none of them can be told apart any more.
      this.#exchanges.end();
      return this.#options.wires.toHost(bytes);
    }
    if (last)
      this.#options.wires.toHost(
        errorLine(null, 'MCP_LINE_TOO_LONG', `A message has at most ${LIMITS.guardLineBytes} bytes.`),
      );
  }

  /** The server has ended: every call that was passed on and not answered is unknown. Settles when all are told. */
  async serverEnded(): Promise<void> {
    this.#exchanges.end();
    await this.#settled();
  }

  /**
   * The host has gone: nothing more is started. What is under way is waited for a little, so that its outcome can be
   * written down; after that it is unknown.
   */
  async hostEnded(): Promise<void> {
    for (const call of this.#inFlight.values()) if (!call.sent) call.cancel.abort();
    const giveUp = setTimeout(() => {
      for (const call of this.#inFlight.values()) call.cancel.abort();
    }, LIMITS.guardGraceMs);
    await this.#settled();
    clearTimeout(giveUp);
  }

  async #settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    await this.#calls.written();
  }

  #take(message: ToolCallMessage, line: Uint8Array): void {
    const continued = this.#deliveries.continuations.take(message);
    const key = idKey(message.id);
    if (continued?.nextRound) {
      this.#inFlight.set(key, continued);
      return continued.nextRound({ message, line });
    }
    if (this.#inFlight.has(key)) return this.#refuse(message.id, 'Another request with this id waits for its answer.');
    if (this.#inFlight.size >= LIMITS.guardCallsInFlight) return this.#refuse(message.id, 'Too many calls at once.');
    const described = describedTool(this.#options.sealed.policy, message.name);
    const call: GuardedCall = {
      message,
      line,
      described,
      cancel: new AbortController(),
      sent: false,
      answerLine: null,
      said: null,
      told: false,
      nextRound: null,
    };
    this.#inFlight.set(key, call);
    const done = this.#carryOut(call);
    this.#running.add(done);
    void done.finally(() => this.#running.delete(done));
  }

  #refuse(id: RpcId, text: string): void {
    this.#options.wires.toHost(errorLine(id, 'MCP_MESSAGE_UNREADABLE', text));
  }

  /** A call that was passed on may be under way: the server is told too, and what it did stays unknown. */
  #cancel(id: RpcId, bytes: Uint8Array): void {
    const call = this.#inFlight.get(idKey(id));
    if (!call || call.sent) this.#options.wires.toServer(bytes);
    if (!call) return;
    call.told = true;
    call.cancel.abort();
  }

  async #carryOut(call: GuardedCall): Promise<void> {
    try {
      const outcome = await this.#calls.carryOut(call);
      if (outcome) this.#tell(call, outcome);
    } catch (error) {
      // The store failed: nothing is known to have been written, so nothing is told as done.
      const text = error instanceof Error ? error.message : 'its ledger failed';
      this.#options.tell(`a call of ${call.message.name} could not be carried out: ${text}`);
      const code = call.sent ? 'OUTCOME_NOT_DURABLE' : 'STORE_BUSY';
      const lost = call.sent
        ? ({ state: 'unknown', code, reason: text, statusRef: null, resolve: 'holdfast doctor' } as const)
        : ({ state: 'not_started', code, reason: text, resolve: 'holdfast doctor' } as const);
      this.#tell(call, lost);
    } finally {
      for (const [key, one] of this.#inFlight) if (one === call) this.#inFlight.delete(key);
    }
  }

  #tell(call: GuardedCall, outcome: CallOutcome): void {
    if (call.told) return;
    call.told = true;
    if (outcome.state === 'done' && !outcome.verified && call.described.postconditions.length > 0)
      this.#options.tell(
        `${displayText(call.message.name)} was reported as done, and what it should leave was not seen`,
      );
    this.#options.wires.toHost(answerOf(call, outcome));
  }
}

/** The server's own line wherever it is the whole truth; else the guard's words. */
function answerOf(call: GuardedCall, outcome: CallOutcome): Uint8Array {
  const { output: _output, ...document } = outcomeDocument(outcome) as JsonObject;
  const text = outcomeForModel(outcome);
  switch (outcome.state) {
    case 'done':
      return call.answerLine ?? doneLine(call.message, text, document);
    case 'not_done':
    case 'failed':
      return call.answerLine ?? outcomeLine(call.message, { document, text, said: call.said ?? undefined });
    case 'unknown':
      return outcomeLine(call.message, { document, text, said: call.said ?? undefined });
    case 'not_started':
      return outcomeLine(call.message, { document, text });
  }
}
