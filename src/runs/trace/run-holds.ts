/** The exclusive right to carry one run out. */
export interface RunHold {
  release(): void;
}

/** Who carries a run out holds it, against this and other processes; a hold ends with its process. */
export interface RunHolds {
  /** The hold, or null where another one stayed for `waitMs`. */
  acquire(traceId: string, waitMs: number): Promise<RunHold | null>;
}
