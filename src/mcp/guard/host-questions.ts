import type { JsonObject } from '../../core/index.ts';
import { idKey, type RpcId } from '../wire/message.ts';
import { elicitationLine } from '../wire/write-line.ts';
import type { Wires } from './guarded-call.ts';

/** The guard's own questions to the host's user. Their ids are the guard's, so that no answer reaches the server. */
export class HostQuestions {
  readonly #wires: Wires;
  readonly #open = new Map<string, (result: JsonObject | null) => void>();
  #asked = 0;
  /** Whether the host said that it can ask its user. */
  possible = false;

  constructor(wires: Wires) {
    this.#wires = wires;
  }

  /** Asks, and settles with the host's answer; with null where it cannot be asked, or the wait is given up. */
  ask(message: string, signal: AbortSignal): Promise<JsonObject | null> {
    if (!this.possible || signal.aborted) return Promise.resolve(null);
    this.#asked += 1;
    const id = `holdfast-${this.#asked}`;
    return new Promise((resolve) => {
      const give = (result: JsonObject | null): void => {
        this.#open.delete(idKey(id));
        signal.removeEventListener('abort', giveUp);
        resolve(result);
      };
      const giveUp = (): void => give(null);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#open.set(idKey(id), give);
      this.#wires.toHost(elicitationLine(id, message));
    });
  }

  /** Takes the answer to a question of the guard's; false for an answer that is the server's. */
  answered(id: RpcId, result: JsonObject | null): boolean {
    const give = this.#open.get(idKey(id));
    give?.(result);
    // A late answer to a question that was given up is nobody's.
    return give !== undefined || (typeof id === 'string' && /^holdfast-\d+$/.test(id));
  }
}
