import { HoldfastError, LIMITS } from '../core/index.ts';
import { Principal as OperationPrincipal } from '../operations/index.ts';
import { type Principal, requireGroup, sessionOfEntry } from '../sessions/index.ts';
import type { FeedEntry } from '../store/index.ts';
import type { Runtime } from '../app/index.ts';

/** What is gone, or is damaged itself, belongs to no session; a damaged database is another matter. */
function isOfNone(error: unknown): boolean {
  if (!(error instanceof HoldfastError)) return false;
  return error.family === 'not_found' || (error.family === 'corruption' && !error.code.startsWith('STORE_'));
}

/** Which session the entries of the feed tell of, looked up once and remembered for the newest. */
export class FeedPlaces {
  readonly #runtime: Runtime;
  readonly #known = new Map<string, string | null>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** The session's id; null for an entry that belongs to none, or to one that is gone or damaged. */
  async sessionOf(principal: Principal, entry: FeedEntry): Promise<string | null> {
    const what = entry.kind.slice(0, entry.kind.indexOf('.'));
    const key = JSON.stringify([principal.tenant, what, entry.reference]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = await this.#look(principal, what, entry);
    this.#known.set(key, found);
    const [oldest] = this.#known.keys();
    if (this.#known.size > LIMITS.eventPlacesKept && oldest !== undefined) this.#known.delete(oldest);
    return found;
  }

  async #look(principal: Principal, what: string, entry: FeedEntry): Promise<string | null> {
    try {
      return await this.#place(principal, what, entry);
    } catch (error) {
      if (isOfNone(error)) return null;
      throw error;
    }
  }

  async #place(principal: Principal, what: string, entry: FeedEntry): Promise<string | null> {
    const { runs, approvals, store } = this.#runtime;
    switch (what) {
      case 'run':
        return (await runs.get(principal, entry.reference)).place.rootFrameId;
      case 'approval':
        return (await approvals.show(principal, entry.reference)).rootFrameId;
      case 'operation':
        return this.#ofOperation(principal, entry.reference);
      default:
        return store.read('gateway.feed-place', (tx) => sessionOfEntry(tx, principal, entry));
    }
  }

  async #ofOperation(principal: Principal, statusRef: string): Promise<string> {
    const { operations, store } = this.#runtime;
    const asker = new OperationPrincipal(principal.tenant, principal.subject);
    const { operation } = await operations.stored(asker, statusRef);
    // A call's response id is the id of its action group.
    const group = await store.read('gateway.feed-place', (tx) =>
      requireGroup(tx, principal, operation.first.responseId),
    );
    return group.rootFrameId;
  }
}
