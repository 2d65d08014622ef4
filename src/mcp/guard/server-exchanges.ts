import { idKey, type RpcId } from '../wire/message.ts';
import { idsInBatch, readServerLine } from '../wire/read-server-line.ts';
import type { Answered } from './call-channel.ts';

/** As the answer came: with the place that it came by, where there is more than one. */
export type AnsweredBy<Via> = Answered & { readonly via: Via | null };

/** The requests that were passed on to the server and wait for their answers. `Via` is how an answer may come. */
export class ServerExchanges<Via = never> {
  readonly #waiting = new Map<string, (answered: AnsweredBy<Via>) => void>();
  #gone = false;

  get alive(): boolean {
    return !this.#gone;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Settles with the answer to this request; call it before the request is passed on. */
  open(id: RpcId): Promise<AnsweredBy<Via>> {
    if (this.#gone) return Promise.resolve({ answer: { kind: 'gone' }, line: null, via: null });
    return new Promise((resolve) => this.#waiting.set(idKey(id), resolve));
  }

  /** Nobody waits for it any more: a late answer is dropped by whoever reads it. */
  forget(id: RpcId): void {
    this.#waiting.delete(idKey(id));
  }

  /** Takes a message that answers a waiting request; false for any other, which is the host's. `raw` is kept of it. */
  take(line: Uint8Array, raw: Uint8Array = line, via: Via | null = null): boolean {
    if (this.#waiting.size === 0) return false;
    const message = readServerLine(line, (key) => this.#waiting.has(key));
    if (message.kind === 'answer') return this.settle(message.id, { answer: message.answer, line: raw, via });
    const unreadable = { answer: { kind: 'unreadable' }, line: raw, via } as const;
    return idsInBatch(line).filter((id) => this.settle(id, unreadable)).length > 0;
  }

  settle(id: RpcId, answered: AnsweredBy<Via>): boolean {
    const resolve = this.#waiting.get(idKey(id));
    this.#waiting.delete(idKey(id));
    resolve?.(answered);
    return resolve !== undefined;
  }

  /** Something came that may be the answer to any of them, and cannot be read: none of them will be told apart. */
  blur(): void {
    this.#settleAll({ answer: { kind: 'unreadable' }, line: null, via: null });
  }

  /** The server has ended, or what it says can no longer be read: whatever was passed on stays without an answer. */
  end(): void {
    this.#gone = true;
    this.#settleAll({ answer: { kind: 'gone' }, line: null, via: null });
  }

  #settleAll(answered: AnsweredBy<Via>): void {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const resolve of all) resolve(answered);
  }
}
