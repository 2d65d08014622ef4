import type { JsonObject } from '../../core/index.ts';
import type { CallAnswer } from '../wire/message.ts';
import type { GuardedCall } from './guarded-call.ts';

/** An answer with the very bytes that brought it. */
export interface Answered {
  readonly answer:
    | CallAnswer
    /** The server ended before it answered. */
    | { readonly kind: 'gone' }
    /** Something on the way answered in its stead, after the request may have reached a tool. */
    | { readonly kind: 'failed'; readonly text: string }
    /** The request was turned away before any tool was reached. */
    | { readonly kind: 'refused'; readonly text: string };
  readonly line: Uint8Array | null;
}

/** A call of a reading tool that the guard makes itself. */
export interface Question {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** How one call travels to its server, and how its host is told of it. Over standard input and output all share one. */
export interface CallChannel {
  /** Whether anything can still be passed on. */
  readonly alive: boolean;
  /** Passes the newest line of the call on, and settles with what answers it. Throws `NotDone` where nothing left. */
  pass(call: GuardedCall): Promise<Answered>;
  /**
   * Asks the server something of the guard's own, the way that `call` came, and settles with its answer. The host hears
   * nothing of it. Throws where the question could not be asked, or was given up.
   */
  question(call: GuardedCall, question: Question, signal: AbortSignal): Promise<CallAnswer>;
  /** Nobody waits for its answer any more: a late one is dropped. */
  forget(call: GuardedCall): void;
  /** Gives the host what the server said, byte for byte. */
  giveAnswer(bytes: Uint8Array): void;
  /** Gives the host a message of the guard's own, as one line. */
  give(line: Uint8Array): void;
  /** Asks the host's user; null where it cannot be asked, or the wait is given up. */
  ask(message: string, signal: AbortSignal): Promise<JsonObject | null>;
  /** The call has ended, and whatever there was to tell of it is told. */
  close(): void;
}
