import { type Ids, LIMITS } from '../../core/index.ts';
import { HostQuestions } from '../guard/host-questions.ts';
import type { ListedTools } from '../guard/listed-tools.ts';
import { ServerExchanges } from '../guard/server-exchanges.ts';
import { eventOf, type FramedEvent } from '../wire/event-framer.ts';
import { idKey, type RpcId } from '../wire/message.ts';
import type { AnswerHead, HostAnswer } from './host-answer.ts';

/** By which of a host's streams an answer came, and how. */
export interface CameBy {
  readonly answer: HostAnswer;
  readonly head: AnswerHead;
  readonly form: 'body' | 'event';
  /** Of the event. */
  readonly id: string | null;
}

/** What one host and one server have open between them; a host without a session has one for each request. */
export class HttpSession {
  readonly exchanges = new ServerExchanges<CameBy>();
  readonly questions: HostQuestions;
  readonly lists: ListedTools;
  /** Whether its host comes back to it by its id, so that an answer which comes on another stream is judged as well. */
  readonly lasts: boolean;
  /** Streams on which the host listens beside its requests. */
  readonly listening = new Set<HostAnswer>();
  /** What hosts were told of calls: the guard's own line, or null where the server's words passed. */
  readonly #told = new Map<string, Uint8Array | null>();
  #toldBytes = 0;

  constructor(lists: ListedTools, ids: Ids, lasts: boolean) {
    this.lasts = lasts;
    this.lists = lists;
    this.questions = new HostQuestions(ids);
  }

  /** A call has come: whatever the server says to it before it is passed on is no answer. */
  expect(id: RpcId): void {
    this.exchanges.expect(id);
    this.#forget(idKey(id));
  }

  /** A request that calls no tool has come: what answers it is the host's, also where a call had its id before. */
  passed(id: RpcId): void {
    this.exchanges.passed(id);
    this.#forget(idKey(id));
  }

  /**
   * Keeps what was told, so that a stream that is read again says the same. Of the guard's own lines, which hold what the
   * server said, the newest are kept, so many as one message may be long; of an older one nothing is said again.
   */
  told(id: RpcId, line: Uint8Array | null): void {
    const key = idKey(id);
    this.#forget(key);
    const bytes = line?.byteLength ?? 0;
    for (const oldest of this.#told.keys()) {
      if (this.#told.size < LIMITS.guardAnswersRemembered && this.#toldBytes + bytes <= LIMITS.guardLineBytes) break;
      this.#forget(oldest);
    }
    this.#told.set(key, line);
    this.#toldBytes += bytes;
  }

  #forget(key: string): void {
    this.#toldBytes -= this.#told.get(key)?.byteLength ?? 0;
    this.#told.delete(key);
  }

  /** What passes of an event on a stream of this session: nothing yet where it answers a call that waits. */
  passes(event: FramedEvent, by: Omit<CameBy, 'form' | 'id'>): Uint8Array | null {
    const { bytes } = event;
    if (event.kind === 'part') {
      this.exchanges.blur();
      return bytes;
    }
    if (event.data === null) return bytes;
    const taken = this.exchanges.take(event.data, bytes, { ...by, form: 'event', id: event.id });
    if (taken.kind === 'none') {
      const told = this.lists.told(event.data);
      return told === event.data ? bytes : eventOf(told, event.id);
    }
    if (taken.kind === 'taken') by.answer.hold();
    const told = taken.kind === 'again' ? this.#told.get(taken.key) : undefined;
    if (told === undefined) return null;
    return told === null ? bytes : eventOf(told, event.id);
  }
}
