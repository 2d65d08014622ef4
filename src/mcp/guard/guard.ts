import { type Ids, type JsonObject, LIMITS } from '../../core/index.ts';
import { isDivided } from '../wire/line-framer.ts';
import { asksOf, type CallAnswer, type HostMessage, idKey, type ToolCallMessage } from '../wire/message.ts';
import { readHostLine } from '../wire/read-host-line.ts';
import { errorLine, questionLine } from '../wire/write-line.ts';
import type { Answered, CallChannel, Question } from './call-channel.ts';
import { CallDesk, type GuardOptions, ID_IN_USE } from './call-desk.ts';
import type { GuardedCall } from './guarded-call.ts';
import { HostLines } from './host-lines.ts';
import { HostQuestions, ownId } from './host-questions.ts';
import { ListedTools } from './listed-tools.ts';
import { ServerExchanges } from './server-exchanges.ts';

/** How lines travel between one host and one server. */
export interface Wires {
  toServer(line: Uint8Array): void;
  toHost(line: Uint8Array): void;
}

/**
 * Stands between a host and a server of MCP that speak in lines. Every line passes as it is, byte for byte; a call of a
 * tool goes the way of one call, and the host is told of it nothing but what is known.
 */
export class Guard {
  readonly #options: GuardOptions & { readonly wires: Wires };
  readonly #desk: CallDesk;
  readonly #channel: LineChannel;
  readonly #host: HostLines;
  readonly #lists: ListedTools;

  constructor(options: GuardOptions & { readonly wires: Wires }) {
    this.#options = options;
    this.#desk = new CallDesk(options);
    this.#host = new HostLines((bytes) => options.wires.toHost(bytes));
    this.#channel = new LineChannel(this.#host, options.wires, options.calls.sessions.ids);
    this.#lists = new ListedTools(options.sealed.policy, options.tell);
  }

  /** Makes ready what the first calls would wait for. */
  prepare(): void {
    this.#desk.prepare();
  }

  /** A whole line from the host. */
  hostLine(bytes: Uint8Array): void {
    const { wires } = this.#options;
    const message = this.#ofFreeId(isDivided(bytes) ? divided(readHostLine(bytes)) : readHostLine(bytes));
    for (const id of asksOf(message)) this.#channel.exchanges.passed(id);
    switch (message.kind) {
      case 'call':
        return this.#take(message, bytes);
      case 'cancel':
        this.#channel.exchanges.unpassed(message.id);
        if (this.#desk.cancel(idKey(message.id))) wires.toServer(bytes);
        return;
      case 'reply':
        if (!this.#channel.questions.answered(message.id, message.result)) wires.toServer(bytes);
        return;
      case 'initialize':
        this.#channel.questions.possible = message.elicits;
        return wires.toServer(bytes);
      case 'list':
        this.#lists.asked(message.id);
        return wires.toServer(bytes);
      case 'pass':
        for (const id of message.cancels ?? []) this.#desk.cancel(idKey(id));
        return wires.toServer(bytes);
      case 'refused':
        this.#options.tell(`refused a message of the host: ${message.text} (${message.code})`);
        return this.#host.own(errorLine(message.id, message.code, message.text));
    }
  }

  /** A whole line from the server: an answer to a call is told when its outcome is known, anything else passes. */
  serverLine(bytes: Uint8Array): void {
    const { exchanges } = this.#channel;
    const answers = isDivided(bytes) ? exchanges.takeDivided(bytes) : exchanges.take(bytes).kind !== 'none';
    if (!answers) this.#host.pass(this.#lists.told(bytes));
  }

  /** A part of a line that is too long to be looked into: from the host it is refused, from the server it passes. */
  oversized(from: 'host' | 'server', bytes: Uint8Array, last: boolean): void {
    if (from === 'server') {
      // It may be the answer to any call that waits, so none of them can be told apart any more; later ones can.
      this.#channel.exchanges.blur();
      return this.#host.pass(bytes, last);
    }
    if (last)
      this.#host.own(errorLine(null, 'MCP_LINE_TOO_LONG', `A message has at most ${LIMITS.guardLineBytes} bytes.`));
  }

  /** The server has ended: every call that was passed on and not answered is unknown. Settles when all are told. */
  async serverEnded(): Promise<void> {
    this.#channel.exchanges.end();
    this.#desk.serverEnded();
    await this.#desk.settled();
  }

  /** The host has gone; settles when everything that it began has its outcome. */
  hostEnded(): Promise<void> {
    return this.#desk.hostsEnded();
  }

  /** What answers one of two requests with one id would be taken for an answer to the other. */
  #ofFreeId(message: HostMessage): HostMessage {
    const inUse =
      message.kind === 'call'
        ? [message.id].find((id) => this.#channel.exchanges.isPassed(id))
        : asksOf(message).find((id) => this.#desk.waits(idKey(id)));
    return inUse === undefined
      ? message
      : { kind: 'refused', code: 'MCP_MESSAGE_UNREADABLE', id: inUse, text: ID_IN_USE };
  }

  #take(message: ToolCallMessage, line: Uint8Array): void {
    this.#channel.exchanges.expect(message.id);
    this.#desk.take(idKey(message.id), { message, line, channel: this.#channel });
  }
}

/** A server that ends lines at carriage returns as well would read other messages in such a line. */
function divided(message: HostMessage): HostMessage {
  const id = message.kind === 'call' || message.kind === 'list' ? message.id : null;
  return { kind: 'refused', code: 'MCP_MESSAGE_UNREADABLE', id, text: 'A carriage return stands inside the message.' };
}

/** The one channel of all calls between a host and a server that speak in lines. */
class LineChannel implements CallChannel {
  readonly exchanges = new ServerExchanges();
  readonly questions: HostQuestions;
  readonly #host: HostLines;
  readonly #wires: Wires;
  readonly #ids: Ids;

  constructor(host: HostLines, wires: Wires, ids: Ids) {
    this.#host = host;
    this.#wires = wires;
    this.#ids = ids;
    this.questions = new HostQuestions(ids);
  }

  get alive(): boolean {
    return this.exchanges.alive;
  }

  pass(call: GuardedCall): Promise<Answered> {
    const answered = this.exchanges.open(call.message.id);
    this.#wires.toServer(call.line);
    return answered;
  }

  async question(call: GuardedCall, question: Question, signal: AbortSignal): Promise<CallAnswer> {
    const id = ownId(this.#ids);
    const answered = this.exchanges.open(id);
    const forget = (): void => void this.exchanges.settle(id, { answer: { kind: 'gone' }, line: null, via: null });
    signal.addEventListener('abort', forget, { once: true });
    try {
      this.#wires.toServer(questionLine(id, { ...question, meta: call.message.meta }));
      const { answer } = await answered;
      if (answer.kind === 'gone' || answer.kind === 'failed' || answer.kind === 'refused')
        throw new Error('The server did not answer.');
      return answer;
    } finally {
      signal.removeEventListener('abort', forget);
    }
  }

  forget(call: GuardedCall): void {
    this.exchanges.forget(call.message.id);
  }

  giveAnswer(bytes: Uint8Array): void {
    this.#host.own(bytes);
  }

  give(line: Uint8Array): void {
    this.#host.own(line);
  }

  ask(message: string, signal: AbortSignal): Promise<JsonObject | null> {
    return this.questions.ask(message, signal, (line) => this.#host.own(line));
  }

  close(): void {
    // It stays open for the other calls.
  }
}
