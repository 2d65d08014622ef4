import type { Ids, JsonObject } from '../../core/index.ts';
import { idKey, type RpcId } from '../wire/message.ts';
import { elicitationLine, withdrawnLine } from '../wire/write-line.ts';

/** An id that is the guard's own, and that no server can guess: else it could have its own question answer for it. */
export const ownId = (ids: Ids): string => `holdfast-${ids.next()}`;

/** The guard's own questions to the host's user. Their ids are the guard's, so that no answer reaches the server. */
export class HostQuestions {
  readonly #open = new Map<string, (result: JsonObject | null) => void>();
  readonly #ids: Ids;
  /** Whether the host said that it can ask its user. */
  possible = false;

  constructor(ids: Ids) {
    this.#ids = ids;
  }

  /**
   * Asks by `give`, and settles with the host's answer; with null where it cannot be asked, or the wait is given up: then
   * the question is withdrawn.
   */
  ask(message: string, signal: AbortSignal, give: (line: Uint8Array) => void): Promise<JsonObject | null> {
    if (!this.possible || signal.aborted) return Promise.resolve(null);
    const id = ownId(this.#ids);
    return new Promise((resolve) => {
      const settle = (result: JsonObject | null): void => {
        this.#open.delete(idKey(id));
        signal.removeEventListener('abort', giveUp);
        resolve(result);
      };
      const giveUp = (): void => {
        settle(null);
        give(withdrawnLine(id));
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#open.set(idKey(id), settle);
      give(elicitationLine(id, message));
    });
  }

  /** Takes the answer to a question of the guard's; false for an answer that is the server's. */
  answered(id: RpcId, result: JsonObject | null): boolean {
    const settle = this.#open.get(idKey(id));
    settle?.(result);
    // A late answer to a question that was given up is nobody's.
    return settle !== undefined || (typeof id === 'string' && /^holdfast-[0-9a-f]{32}$/.test(id));
  }
}
