import { type CallAnswer, idKey, type RpcId } from '../wire/message.ts';
import { idsInBatch, readServerLine } from '../wire/read-server-line.ts';

/** An answer with the very line that brought it; `gone` when the server ended before it answered. */
export interface Answered {
  readonly answer: CallAnswer | { readonly kind: 'gone' };
  readonly line: Uint8Array | null;
}

/** The requests that were passed on to the server and wait for their answers. */
export class ServerExchanges {
  readonly #waiting = new Map<string, (answered: Answered) => void>();
  #gone = false;

  get alive(): boolean {
    return !this.#gone;
  }

  waits(id: RpcId): boolean {
    return this.#waiting.has(idKey(id));
  }

  /** Settles with the answer to this request; call it before the request is passed on. */
  open(id: RpcId): Promise<Answered> {
    if (this.#gone) return Promise.resolve({ answer: { kind: 'gone' }, line: null });
    return new Promise((resolve) => this.#waiting.set(idKey(id), resolve));
  }

  /** Nobody waits for it any more: a late answer is dropped by whoever reads it. */
  forget(id: RpcId): void {
    this.#waiting.delete(idKey(id));
  }

  /** Takes a line that answers a waiting request; false for any other, which is the host's. */
  take(line: Uint8Array): boolean {
    if (this.#waiting.size === 0) return false;
    const message = readServerLine(line, (key) => this.#waiting.has(key));
    if (message.kind === 'answer') return this.#settle(message.id, { answer: message.answer, line });
    return idsInBatch(line).filter((id) => this.#settle(id, { answer: { kind: 'unreadable' }, line })).length > 0;
  }

  /** The server has ended, or what it says can no longer be read: whatever was passed on stays without an answer. */
  end(): void {
    this.#gone = true;
    for (const resolve of this.#waiting.values()) resolve({ answer: { kind: 'gone' }, line: null });
    this.#waiting.clear();
  }

  #settle(id: RpcId, answered: Answered): boolean {
    const resolve = this.#waiting.get(idKey(id));
    this.#waiting.delete(idKey(id));
    resolve?.(answered);
    return resolve !== undefined;
  }
}
