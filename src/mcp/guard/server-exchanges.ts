import { LIMITS } from '../../core/index.ts';
import { partsOf } from '../wire/line-framer.ts';
import { idKey, type RpcId } from '../wire/message.ts';
import { idsInBatch, readServerLine } from '../wire/read-server-line.ts';
import type { Answered } from './call-channel.ts';

/** As the answer came: with the place that it came by, where there is more than one. */
export type AnsweredBy<Via> = Answered & { readonly via: Via | null };

/** What a message of the server's is to the calls of a host. */
export type Taken =
  /** No answer to a call: it is the host's. */
  | { readonly kind: 'none' }
  /** The first answer to a call: the host is told of it when its outcome is known. */
  | { readonly kind: 'taken' }
  /** One more answer to a call that was answered or given up: nothing new may be read in it. */
  | { readonly kind: 'again'; readonly key: string };

const NONE: Taken = { kind: 'none' };
const TAKEN: Taken = { kind: 'taken' };

/** The requests that were passed on to the server and wait for their answers. `Via` is how an answer may come. */
export class ServerExchanges<Via = never> {
  readonly #waiting = new Map<string, (answered: AnsweredBy<Via>) => void>();
  /** Requests that wait no more, the newest last. */
  readonly #closed = new Set<string>();
  /** Requests of the host's that call no tool and were not answered yet, the newest last. */
  readonly #passed = new Set<string>();
  #gone = false;

  get alive(): boolean {
    return !this.#gone;
  }

  waits(id: RpcId): boolean {
    return this.#waiting.has(idKey(id));
  }

  /** Settles with the answer to this request; call it before the request is passed on. */
  open(id: RpcId): Promise<AnsweredBy<Via>> {
    if (this.#gone) return Promise.resolve({ answer: { kind: 'gone' }, line: null, via: null });
    this.#closed.delete(idKey(id));
    return new Promise((resolve) => this.#waiting.set(idKey(id), resolve));
  }

  /** A call with this id has come and is not passed on yet: whatever the server says to it before that is no answer. */
  expect(id: RpcId): void {
    if (!this.waits(id)) this.#close(idKey(id));
  }

  /** A request that calls no tool is passed on: what answers it is the host's, also where a call had its id before. */
  passed(id: RpcId): void {
    this.#closed.delete(idKey(id));
    remember(this.#passed, idKey(id));
  }

  /** Whether a request that calls no tool waits under this id. */
  isPassed(id: RpcId): boolean {
    return this.#passed.has(idKey(id));
  }

  /** The host waits for no answer to this request any more. */
  unpassed(id: RpcId): void {
    this.#passed.delete(idKey(id));
  }

  /** Nobody waits for it any more. */
  forget(id: RpcId): void {
    this.#close(idKey(id));
  }

  /** Takes a message that answers a request; `raw` is kept of it. */
  take(line: Uint8Array, raw: Uint8Array = line, via: Via | null = null): Taken {
    if (this.#waiting.size + this.#closed.size + this.#passed.size === 0) return NONE;
    const message = readServerLine(line, (key) => this.#knows(key) || this.#passed.has(key));
    if (message.kind === 'answer') {
      if (this.settle(message.id, { answer: message.answer, line: raw, via })) return TAKEN;
      if (this.#passed.delete(idKey(message.id))) return NONE;
      return { kind: 'again', key: idKey(message.id) };
    }
    const unreadable = { answer: { kind: 'unreadable' }, line: raw, via } as const;
    const ids = idsInBatch(line);
    for (const id of ids) this.unpassed(id);
    return ids.filter((id) => this.settle(id, unreadable)).length > 0 ? TAKEN : NONE;
  }

  /**
   * Takes a line in which a host may read several: whatever it or a part of it answers is answered in two ways. False
   * where it answers nothing.
   */
  takeDivided(line: Uint8Array): boolean {
    const knows = (key: string): boolean => this.#knows(key);
    const ids = [line, ...partsOf(line)].flatMap((part) => {
      const message = readServerLine(part, knows);
      return message.kind === 'answer' ? [message.id] : idsInBatch(part).filter((id) => knows(idKey(id)));
    });
    for (const id of ids) this.settle(id, { answer: { kind: 'unreadable' }, line: null, via: null });
    return ids.length > 0;
  }

  /** Settles a request that waits; false where it does not. */
  settle(id: RpcId, answered: AnsweredBy<Via>): boolean {
    const resolve = this.#waiting.get(idKey(id));
    if (!resolve) return false;
    this.#close(idKey(id));
    resolve(answered);
    return true;
  }

  /** Something came that may be the answer to any of them, and cannot be read: none of them will be told apart. */
  blur(): void {
    this.#settleAll({ answer: { kind: 'unreadable' }, line: null, via: null });
  }

  /** The server has ended: whatever was passed on stays without an answer. */
  end(): void {
    this.#gone = true;
    this.#settleAll({ answer: { kind: 'gone' }, line: null, via: null });
  }

  #knows(key: string): boolean {
    return this.#waiting.has(key) || this.#closed.has(key);
  }

  #close(key: string): void {
    this.#waiting.delete(key);
    this.#passed.delete(key);
    remember(this.#closed, key);
  }

  #settleAll(answered: AnsweredBy<Via>): void {
    const all = [...this.#waiting];
    for (const [key, resolve] of all) {
      this.#close(key);
      resolve(answered);
    }
  }
}

/** Beyond the bound the oldest is forgotten. */
function remember(keys: Set<string>, key: string): void {
  const [oldest] = keys.size >= LIMITS.guardAnswersRemembered ? keys : [];
  if (oldest !== undefined) keys.delete(oldest);
  keys.add(key);
}
