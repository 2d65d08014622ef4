/** What a store did, as it does it. `names` and `name` are those given to `write` and `read`. */
export type StoreEvent =
  | { readonly kind: 'connection_opened'; readonly role: 'writer' | 'reader' | 'tool' }
  | { readonly kind: 'connection_closed'; readonly role: 'writer' | 'reader' | 'tool' }
  /** One statement of a body, about to run. */
  | { readonly kind: 'statement'; readonly name: string; readonly text: string }
  /** A group's commit returned: this is the one sync that its bodies share. `names` are those that stand. */
  | { readonly kind: 'committed'; readonly names: readonly string[]; readonly wrote: boolean }
  /** A whole group was undone; its bodies are about to be run again, or told why not. */
  | { readonly kind: 'rolled_back'; readonly names: readonly string[]; readonly why: 'body' | 'database' | 'commit' }
  /** A snapshot in which these read bodies ran. */
  | { readonly kind: 'snapshot'; readonly names: readonly string[] }
  /** Another process held the write lock; the group waits and tries again. */
  | { readonly kind: 'busy'; readonly attempt: number }
  /** The WAL was copied back into the database, which syncs both. */
  | { readonly kind: 'checkpoint'; readonly frames: number }
  | { readonly kind: 'halted' };

/** Sees every event of a store, synchronously. It must not throw and must not call the store. */
export type StoreObserver = (event: StoreEvent) => void;

/** Counts by kind, for tests and for measuring. */
export interface StoreCounts {
  readonly observe: StoreObserver;
  readonly events: StoreEvent[];
  count(kind: StoreEvent['kind']): number;
  /** The texts of the statements that ran in bodies of this name, in order. */
  statementsOf(name: string): string[];
  reset(): void;
}

/** An observer that keeps every event. For tests: it grows without bound. */
export function countingObserver(): StoreCounts {
  const events: StoreEvent[] = [];
  return {
    events,
    observe: (event) => void events.push(event),
    count: (kind) => events.filter((event) => event.kind === kind).length,
    statementsOf: (name) =>
      events.flatMap((event) => (event.kind === 'statement' && event.name === name ? [event.text] : [])),
    reset: () => void events.splice(0),
  };
}
