import type { IncomingMessage } from 'node:http';
import { type Ids, type JsonObject, LIMITS } from '../../core/index.ts';
import type { Answered, CallChannel, Question } from '../guard/call-channel.ts';
import type { GuardedCall } from '../guard/guarded-call.ts';
import { ownId } from '../guard/host-questions.ts';
import { EventFramer } from '../wire/event-framer.ts';
import type { CallAnswer, RpcId } from '../wire/message.ts';
import { questionLine } from '../wire/write-line.ts';
import { answerIn } from './answer-in.ts';
import { readBody } from './bodies.ts';
import { headersForQuestion, mediaTypeOf } from './headers.ts';
import { type HostAnswer, headOf } from './host-answer.ts';
import type { CameBy, HttpSession } from './http-session.ts';
import type { PassedRequest, Upstream } from './upstream.ts';

/** With these a server turns a request away before it looks for a tool. Any other failure leaves open what happened. */
const TURNED_AWAY = new Set([401, 403, 404, 405, 406, 411, 413, 414, 415, 421, 426, 429, 431]);

/** One call of a tool that came by one POST: passed on by another, and told of on the stream that brought its answer. */
export class HttpCall implements CallChannel {
  readonly alive = true;
  readonly #session: HttpSession;
  readonly #upstream: Upstream;
  readonly #request: Omit<PassedRequest, 'body' | 'reuse'>;
  readonly #answer: HostAnswer;
  /** Whether the host takes a stream of events, and so can be asked. */
  readonly #takesEvents: boolean;
  readonly #ids: Ids;
  readonly #stop = new AbortController();
  #id: RpcId | null = null;
  #by: CameBy | null = null;
  #answered = false;
  #closed = false;
  #released = false;
  /** Whether the server has said all that it will on this request's own stream. */
  #over = true;

  constructor(of: {
    readonly session: HttpSession;
    readonly upstream: Upstream;
    readonly request: Omit<PassedRequest, 'body' | 'reuse'>;
    readonly answer: HostAnswer;
    readonly takesEvents: boolean;
    readonly ids: Ids;
  }) {
    this.#ids = of.ids;
    this.#session = of.session;
    this.#upstream = of.upstream;
    this.#request = of.request;
    this.#answer = of.answer;
    this.#takesEvents = of.takesEvents;
  }

  async pass(call: GuardedCall): Promise<Answered> {
    const { id } = call.message;
    this.#id = id;
    this.#over = false;
    const answered = this.#session.exchanges.open(id);
    const request = { ...this.#request, body: call.line, reuse: call.described.effect === 'read' };
    const sent = this.#upstream
      .send(request, this.#stop.signal)
      .then((response) => this.#follow(response, id, call.described.effect === 'read'))
      .finally(() => this.#ended());
    const found = await Promise.race([answered, sent.then(() => answered)]);
    this.#by = found.via;
    this.#answered = true;
    if (this.#closed) this.#release();
    return found;
  }

  async question(call: GuardedCall, question: Question, signal: AbortSignal): Promise<CallAnswer> {
    const { method, query, headers } = this.#request;
    const id = ownId(this.#ids);
    const body = questionLine(id, { ...question, meta: call.message.meta });
    const request = { method, query, headers: headersForQuestion(headers, question.name), body, reuse: true };
    const response = await this.#upstream.send(request, signal);
    try {
      return await answerIn(response, id);
    } finally {
      response.destroy();
    }
  }

  forget(call: GuardedCall): void {
    this.#session.exchanges.forget(call.message.id);
  }

  giveAnswer(bytes: Uint8Array): void {
    if (this.#id !== null) this.#session.told(this.#id, null);
    const by = this.#by;
    if (by?.form === 'event') by.answer.giveEvent(bytes);
    else if (by) by.answer.giveBody(by.head, bytes);
  }

  give(line: Uint8Array): void {
    if (this.#id !== null) this.#session.told(this.#id, line);
    const headers = this.#by?.form === 'body' ? this.#by.head.headers : [];
    this.#where().giveOwn(line, { headers, id: this.#by?.id ?? null });
  }

  /** Where the answer came; else the request's own stream, or one that the host listens on since that has ended. */
  #where(): HostAnswer {
    const own = this.#by?.answer ?? this.#answer;
    return own.open ? own : ([...this.#session.listening].findLast((one) => one.open) ?? own);
  }

  ask(message: string, signal: AbortSignal): Promise<JsonObject | null> {
    if (!this.#takesEvents) return Promise.resolve(null);
    return this.#session.questions.ask(message, signal, (line) => {
      this.#answer.beginEvents();
      this.#answer.giveOwn(line, {});
    });
  }

  close(): void {
    this.#closed = true;
    // Given up: nothing that the server still says on this request is for anyone.
    if (!this.#answered) this.#stop.abort();
    this.#release();
    if (this.#over) this.#answer.end();
  }

  /** Whatever there was to tell of the answer is told. */
  #release(): void {
    if (this.#by?.form === 'event' && !this.#released) {
      this.#released = true;
      this.#by.answer.release();
    }
  }

  #ended(): void {
    this.#over = true;
    if (this.#closed) this.#answer.end();
  }

  async #follow(response: IncomingMessage, id: RpcId, reads: boolean): Promise<void> {
    const status = response.statusCode ?? 502;
    const events = mediaTypeOf(response.headers['content-type']) === 'text/event-stream';
    if (status === 200 && events && response.headers['content-encoding'] === undefined)
      return this.#followEvents(response, id, this.#session.lasts || reads);
    const body = await readBody(response, LIMITS.guardLineBytes).catch(() => undefined);
    const by: CameBy = { answer: this.#answer, head: headOf(response), form: 'body', id: null };
    const settle = (answer: Answered['answer'], line: Uint8Array | null): void =>
      void this.#session.exchanges.settle(id, { answer, line, via: by });
    if (body === undefined) return settle({ kind: 'gone' }, null);
    if (body === null) return settle({ kind: 'unreadable' }, null);
    const text = `The server answered with the HTTP status ${status}.`;
    if (TURNED_AWAY.has(status)) return settle({ kind: 'refused', text }, body);
    const plain = response.headers['content-encoding'] === undefined;
    if (plain && this.#session.exchanges.take(body, body, by).kind === 'taken') return;
    // A redirection is not passed on: a host that follows it would walk round the guard.
    if (status >= 300) return settle({ kind: 'failed', text }, status < 400 ? null : body);
    settle({ kind: 'unreadable' }, null);
  }

  /** `mayReturn`: whether an answer may be waited for that comes on another stream, where it would be judged. */
  async #followEvents(response: IncomingMessage, id: RpcId, mayReturn: boolean): Promise<void> {
    const by = { answer: this.#answer, head: headOf(response) };
    const framer = new EventFramer();
    let hasIds = false;
    this.#answer.beginStream(by.head);
    try {
      for await (const chunk of response as AsyncIterable<Uint8Array>)
        for (const event of framer.push(chunk)) {
          if (event.kind === 'block' && event.id !== null) hasIds = true;
          const passed = this.#session.passes(event, by);
          if (passed) await this.#answer.write(passed, event.kind !== 'part' || event.last);
        }
    } catch {
      // A stream that broke off has ended too; whether it can be taken up again, its events have said.
    }
    // What is left in the framer is no event, and the answer may still have to be told here.
    this.#answer.cutOff();
    // The answer may still come on a stream that the host opens after the last event it saw; a write of a host that this
    // guard would not know there is told now, or it would be answered there by the server's words alone.
    const resumable = hasIds && mayReturn;
    if (resumable && this.#session.exchanges.waits(id)) this.#answer.end();
    if (!resumable) this.#session.exchanges.settle(id, { answer: { kind: 'gone' }, line: null, via: null });
  }
}
