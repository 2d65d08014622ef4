import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { eventOf } from '../wire/event-framer.ts';
import { headersForHost, headersForOwnBody, type RawHeaders } from './headers.ts';

/** The head of the server's answer. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

export function headOf(message: IncomingMessage): AnswerHead {
  return { status: message.statusCode ?? 502, headers: message.rawHeaders };
}

/** The answer to one request of a host, while it grows. Once it has ended, what is given to it is dropped. */
export class HostAnswer {
  readonly #response: ServerResponse;
  #held = 0;
  /** Events of the guard's own, while one of the server's comes in parts. */
  #waiting: Uint8Array[] = [];
  #inParts = false;
  #ending = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('error', () => undefined);
  }

  get open(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed;
  }

  get begun(): boolean {
    return this.#response.headersSent;
  }

  /** Settles when the host has gone, or has its whole answer. */
  async gone(): Promise<void> {
    if (this.open) await once(this.#response, 'close').catch(() => undefined);
  }

  /** Begins a body that passes as it is. */
  begin(head: AnswerHead): void {
    if (this.open && !this.begun) this.#response.writeHead(head.status, headersForHost(head.headers));
  }

  /** Begins a stream of events whose length nobody knows, since one of them may be replaced. */
  beginStream(head: AnswerHead): void {
    if (!this.open || this.begun) return;
    this.#response.writeHead(head.status, headersForOwnBody(head.headers, 'text/event-stream'));
    this.#response.flushHeaders();
  }

  /** Begins a stream of events of the guard's own. */
  beginEvents(): void {
    if (!this.open || this.begun) return;
    this.#response.writeHead(200, ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache']);
    this.#response.flushHeaders();
  }

  /** Writes, and settles when the host can take more. `last`: false for a part of an event that is not over yet. */
  async write(bytes: Uint8Array, last = true): Promise<void> {
    if (!this.open || bytes.byteLength === 0) return;
    const takesMore = this.#response.write(bytes);
    this.#inParts = !last;
    if (last) this.#writeWaiting();
    if (!takesMore) await Promise.race([once(this.#response, 'drain'), this.gone()]);
  }

  /** The server says no more here: an event of which only a part came is cut off, so that none of the guard's is in it. */
  cutOff(): void {
    if (this.open && this.#inParts) this.#response.write('\n\n');
    this.#inParts = false;
    this.#writeWaiting();
  }

  /** A whole event, of the guard's own or one that was held back: between the server's, never inside one. */
  giveEvent(event: Uint8Array): void {
    if (!this.open) return;
    if (this.#inParts) this.#waiting.push(event);
    else this.#response.write(event);
  }

  #writeWaiting(): void {
    for (const event of this.#waiting.splice(0)) this.giveEvent(event);
  }

  /** A whole body as the server sent it; in a stream that has begun, as its next event. */
  giveBody(head: AnswerHead, body: Uint8Array): void {
    if (!this.open) return;
    if (this.begun) return this.giveEvent(eventOf(body, null));
    this.begin(head);
    this.#response.end(body);
  }

  /** A message of the guard's own: the whole body, or the next event of a stream. `id`: of the event that it replaces. */
  giveOwn(
    line: Uint8Array,
    of: { readonly status?: number; readonly headers?: RawHeaders; readonly id?: string | null },
  ) {
    if (!this.open) return;
    if (this.begun) return this.giveEvent(eventOf(line, of.id ?? null));
    const headers = headersForOwnBody(of.headers ?? [], 'application/json');
    this.#response.writeHead(of.status ?? 200, headers).end(line);
  }

  /** Something that came for it is not told yet: it does not end before `release`. */
  hold(): void {
    this.#held += 1;
  }

  release(): void {
    this.#held -= 1;
    if (this.#ending) this.end();
  }

  /** Whether something is still to be told on it. */
  get holds(): boolean {
    return this.#held > 0;
  }

  /** Ends it; one that never began says that its message was taken. */
  end(): void {
    this.#ending = true;
    if (!this.open || this.#held > 0) return;
    if (!this.begun) this.#response.writeHead(202);
    this.#response.end();
  }

  /** Ends it in a way that no host takes for the end. */
  breakOff(): void {
    this.#response.destroy();
  }
}
