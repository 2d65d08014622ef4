interface Entry {
  readonly ended: Promise<void>;
  readonly stop: AbortController;
  over: boolean;
}

/** The runs that this process carries out now, by their trace ids. An entry can be awaited; it never rejects. */
export class RunningRuns {
  readonly #entries = new Map<string, Entry>();

  /** The end of the run as this process sees it; undefined where it does not carry it out. */
  get(traceId: string): Promise<void> | undefined {
    return this.#entries.get(traceId)?.ended;
  }

  /** Whether the run is under way here: an entry outlives its run by a moment. */
  has(traceId: string): boolean {
    return this.#entries.get(traceId)?.over === false;
  }

  stop(traceId: string): void {
    this.#entries.get(traceId)?.stop.abort();
  }

  /** Asks every run to stop and waits for them. */
  async stopAll(): Promise<void> {
    for (const { stop } of this.#entries.values()) stop.abort();
    await Promise.all([...this.#entries.values()].map(({ ended }) => ended));
  }

  /**
   * Enters a run; it begins when an earlier one of the same trace has ended here. The entry stays until a later turn of
   * the event loop than its end, so that who looks at once sees it.
   */
  enter<T>(traceId: string, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const earlier = this.get(traceId);
    const stop = new AbortController();
    const result = (earlier ?? Promise.resolve()).then(() => run(stop.signal));
    const ended = result.then(
      () => this.#end(traceId, entry),
      () => this.#end(traceId, entry),
    );
    const entry: Entry = { ended, stop, over: false };
    this.#entries.set(traceId, entry);
    return result;
  }

  #end(traceId: string, entry: Entry): void {
    entry.over = true;
    setImmediate(() => this.#leave(traceId, entry));
  }

  #leave(traceId: string, entry: Entry): void {
    if (this.#entries.get(traceId) === entry) this.#entries.delete(traceId);
  }
}
