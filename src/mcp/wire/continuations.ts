import { digestJson } from '../../core/index.ts';
import type { CallAnswer, ToolCallMessage } from './message.ts';

/** How many unfinished exchanges are remembered; beyond it the oldest is forgotten, and its second call is a new one. */
const MOST = 1024;

/**
 * Tells which calls belong together: one that was answered `input_required` and the one that brings what was asked are
 * one operation, however many rounds it takes. `T` is what the guard knows about the operation.
 */
export class Continuations<T> {
  readonly #waiting = new Map<string, T>();

  /** A call was answered with `input_required`: the next one that continues it is the same operation. */
  remember(call: ToolCallMessage, answer: CallAnswer & { kind: 'input_required' }, operation: T): void {
    const key = keyOf(call, answer.requestState);
    this.#waiting.delete(key);
    const [oldest] = this.#waiting.size >= MOST ? this.#waiting.keys() : [];
    if (oldest !== undefined) this.#waiting.delete(oldest);
    this.#waiting.set(key, operation);
  }

  /**
   * The operation that a call continues, once. Undefined for one that continues nothing known: its state was forged,
   * used before, or its tool or arguments are others.
   */
  take(call: ToolCallMessage): T | undefined {
    if (call.continues === null) return undefined;
    const key = keyOf(call, call.continues.requestState);
    const operation = this.#waiting.get(key);
    this.#waiting.delete(key);
    return operation;
  }
}

/** The state alone would not do: what was approved are this tool and these arguments. */
function keyOf(call: ToolCallMessage, requestState: string | null): string {
  return digestJson([call.name, call.arguments, requestState]);
}
