import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ErrorCode, LIMITS } from '../../core/index.ts';
import { NotDone } from '../../tools/index.ts';
import { CallDesk, type GuardOptions, ID_IN_USE } from '../guard/call-desk.ts';
import { EventFramer } from '../wire/event-framer.ts';
import { ListedTools } from '../guard/listed-tools.ts';
import { asksOf, type HostMessage, idKey, type RpcId, type ToolCallMessage } from '../wire/message.ts';
import { readHostLine } from '../wire/read-host-line.ts';
import { errorLine } from '../wire/write-line.ts';
import { readBody } from './bodies.ts';
import { headersAgree, isLocalRequest, isPlainJson, mediaTypeOf } from './headers.ts';
import { HostAnswer, headOf } from './host-answer.ts';
import { HttpCall } from './http-call.ts';
import { HttpSession } from './http-session.ts';
import type { PassedRequest, Upstream } from './upstream.ts';

const METHODS = new Set(['POST', 'GET', 'DELETE', 'OPTIONS']);
const SESSION = 'mcp-session-id';

/** One request of a host on its way. */
interface Exchange {
  readonly request: Omit<PassedRequest, 'body' | 'reuse'>;
  readonly incoming: IncomingMessage;
  readonly answer: HostAnswer;
  readonly session: HttpSession;
}

/** What a passed request is to the guard. */
interface About {
  /** The greeting of a session, and whether its host can ask its user. */
  readonly elicits?: boolean;
  /** It asks for the list of tools. */
  readonly list?: true;
}

/**
 * Stands between hosts and a server of MCP that speak streamable HTTP. Bodies and events pass as they are, byte for
 * byte; a call of a tool goes the way of one call, and its host is told of it nothing but what is known.
 */
export class HttpGuard {
  readonly #options: GuardOptions;
  readonly #upstream: Upstream;
  readonly #desk: CallDesk;
  readonly #sessions = new Map<string, HttpSession>();
  #requests = 0;

  constructor(options: GuardOptions, upstream: Upstream) {
    this.#options = options;
    this.#upstream = upstream;
    this.#desk = new CallDesk(options);
  }

  /** Makes ready what the first calls would wait for. */
  prepare(): void {
    this.#desk.prepare();
  }

  /** Takes one request; never throws. */
  async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = new HostAnswer(response);
    const { method = 'GET', url = '/', rawHeaders, headers } = incoming;
    const [path = '', query = ''] = url.split(/\?(.*)/s, 2);
    const refuse = (status: number, code: ErrorCode, text: string, id: RpcId | null = null): void => {
      this.#options.tell(`refused a request of a host: ${text} (${code})`);
      answer.giveOwn(errorLine(id, code, text), { status });
    };
    try {
      if (!isLocalRequest(headers.host, headers.origin))
        return refuse(403, 'MCP_REQUEST_REFUSED', 'The request was meant for another machine.');
      if (path !== this.#upstream.path) return refuse(404, 'MCP_REQUEST_REFUSED', 'The server is at another path.');
      if (!METHODS.has(method)) return refuse(405, 'MCP_REQUEST_REFUSED', 'MCP has no such method.');
      const session = this.#sessionOf(headers[SESSION]);
      const exchange = { request: { method, query, headers: rawHeaders }, incoming, answer, session };
      if (method !== 'POST') return await this.#pass(exchange, null);
      if (!isPlainJson(headers, rawHeaders))
        return refuse(415, 'MCP_MESSAGE_UNREADABLE', 'A message is plain JSON in UTF-8.');
      const body = await readBody(incoming, LIMITS.guardLineBytes);
      if (!body) return refuse(413, 'MCP_LINE_TOO_LONG', `A message has at most ${LIMITS.guardLineBytes} bytes.`);
      const message = readHostLine(body);
      if (message.kind === 'refused') return refuse(400, message.code, message.text, message.id);
      if (!headersAgree(headers, message.kind === 'call' ? message : null))
        return refuse(400, 'MCP_MESSAGE_UNREADABLE', 'Its headers say another method or tool than its body.');
      const inUse = asksOf(message).find((id) => this.#desk.waits(this.#keyOf(exchange, id)));
      if (inUse !== undefined) return refuse(400, 'MCP_MESSAGE_UNREADABLE', ID_IN_USE, inUse);
      for (const id of asksOf(message)) session.passed(id);
      return await this.#message(exchange, message, body);
    } catch (error) {
      if (answer.begun) answer.breakOff();
      else refuse(502, 'MCP_CONNECT_FAILED', NotDone.is(error) ? error.message : 'The server did not answer.');
    }
  }

  /** The hosts are to be served no more; settles when everything that they began has its outcome. */
  async end(): Promise<void> {
    await this.#desk.hostsEnded();
    this.#upstream.close();
  }

  /** A host without a session, or with one that is not known here, has nothing that reaches beyond this request. */
  #sessionOf(id: string | string[] | undefined): HttpSession {
    const session = typeof id === 'string' ? this.#sessions.get(id) : undefined;
    if (typeof id !== 'string' || !session) return this.#newSession(false);
    // The first to be forgotten is the one that was used longest ago.
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    return session;
  }

  #newSession(lasts: boolean): HttpSession {
    const { sealed, tell, calls } = this.#options;
    return new HttpSession(new ListedTools(sealed.policy, tell), calls.sessions.ids, lasts);
  }

  async #message(
    exchange: Exchange,
    message: Exclude<HostMessage, { kind: 'refused' }>,
    body: Uint8Array,
  ): Promise<void> {
    const { session, answer } = exchange;
    switch (message.kind) {
      case 'call':
        return this.#call(exchange, message, body);
      case 'cancel':
        if (this.#desk.cancel(this.#keyOf(exchange, message.id))) return this.#pass(exchange, body);
        return answer.end();
      case 'reply':
        if (session.questions.answered(message.id, message.result)) return answer.end();
        return this.#pass(exchange, body);
      case 'initialize':
        return this.#pass(exchange, body, { elicits: message.elicits });
      case 'list':
        session.lists.asked(message.id);
        return this.#pass(exchange, body, { list: true });
      case 'pass':
        for (const id of message.cancels ?? []) this.#desk.cancel(this.#keyOf(exchange, id));
        return this.#pass(exchange, body);
    }
  }

  async #call(exchange: Exchange, message: ToolCallMessage, body: Uint8Array): Promise<void> {
    const { session, request, answer, incoming } = exchange;
    const takesEvents = /text\/event-stream|\*\/\*/.test(incoming.headers.accept ?? '');
    session.expect(message.id);
    const { ids } = this.#options.calls.sessions;
    const channel = new HttpCall({ session, upstream: this.#upstream, request, answer, takesEvents, ids });
    const key = this.#keyOf(exchange, message.id);
    this.#desk.take(key, { message, line: body, channel });
    await answer.gone();
    // Since 2026-07-28 a host cancels by going away; before, it may come back for the rest.
    this.#desk.abandon(key, channel, message.era === 'stateless');
  }

  /** Ids are one host's own. A host without a session is told apart by its request alone, so it cannot name another. */
  #keyOf({ incoming }: Exchange, id: RpcId): string {
    const session = incoming.headers[SESSION];
    this.#requests += 1;
    return `${typeof session === 'string' ? `session ${session}` : `request ${this.#requests}`} ${idKey(id)}`;
  }

  /** Passes a request on that calls no tool, and its answer back, as they are. */
  async #pass(exchange: Exchange, body: Uint8Array | null, about: About = {}): Promise<void> {
    const { request, answer, session } = exchange;
    const stop = new AbortController();
    void answer.gone().then(() => stop.abort());
    const response = await this.#upstream.send({ ...request, body, reuse: request.method !== 'DELETE' }, stop.signal);
    const head = headOf(response);
    // A host that follows a redirection would walk round the guard.
    if (head.status >= 300 && head.status < 400) throw new Error('The server answered with a redirection.');
    if (about.elicits !== undefined) this.#opened(response, about.elicits);
    if (request.method === 'DELETE' && head.status < 300)
      this.#sessions.delete(String(exchange.incoming.headers[SESSION]));
    const events = mediaTypeOf(response.headers['content-type']) === 'text/event-stream';
    if (events && response.headers['content-encoding'] === undefined) await passEvents(response, answer, session);
    else if (about.list === true && head.status === 200) await this.#passList(response, answer, session);
    else {
      answer.begin(head);
      for await (const chunk of response as AsyncIterable<Uint8Array>) await answer.write(chunk);
    }
    answer.end();
  }

  /** Passes a body that may be a list of tools, with the guard's own where it is. */
  async #passList(response: IncomingMessage, answer: HostAnswer, session: HttpSession): Promise<void> {
    const body = await readBody(response, LIMITS.guardLineBytes);
    if (!body) throw new Error('The list of tools is too long.');
    const told = session.lists.told(body);
    if (told === body) answer.giveBody(headOf(response), body);
    else answer.giveOwn(told, { headers: response.rawHeaders });
  }

  /** A server that opens a session says its id; what the host can do holds for that session. */
  #opened(response: IncomingMessage, elicits: boolean): void {
    const id = response.headers[SESSION];
    if (typeof id !== 'string' || (response.statusCode ?? 500) >= 300) return;
    const [oldest] = this.#sessions.size >= LIMITS.guardHttpSessions ? this.#sessions.keys() : [];
    if (oldest !== undefined) this.#sessions.delete(oldest);
    const session = this.#newSession(true);
    session.questions.possible = elicits;
    this.#sessions.set(id, session);
  }
}

async function passEvents(response: IncomingMessage, answer: HostAnswer, session: HttpSession): Promise<void> {
  const framer = new EventFramer();
  const by = { answer, head: headOf(response) };
  answer.beginStream(by.head);
  session.listening.add(answer);
  try {
    for await (const chunk of response as AsyncIterable<Uint8Array>)
      for (const event of framer.push(chunk)) {
        const passed = session.passes(event, by);
        if (passed) await answer.write(passed, event.kind !== 'part' || event.last);
      }
    // Half an event is none: nothing that is still to be told here may stand behind it.
    if (answer.holds) answer.cutOff();
    else await answer.write(framer.end());
  } finally {
    session.listening.delete(answer);
  }
}
