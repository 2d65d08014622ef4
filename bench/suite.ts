/** One line of the table for people. */
export interface BenchRow {
  readonly what: string;
  readonly value: string;
  readonly note?: string;
}

/** What a suite adds to the JSON object: the same names in every run, so that runs can be compared. */
export interface BenchFigures {
  /** 1 is as fast as what it is compared with; higher is faster, but for `…_growth`, where lower is better. */
  readonly ratios?: Readonly<Record<string, number>>;
  readonly effectsPerSecond?: Readonly<Record<string, number>>;
  readonly peers?: Readonly<Record<string, unknown>>;
}

export interface BenchSuite {
  readonly name: string;
  /** Runs in the given empty folder, which is removed afterwards. */
  run(folder: string): Promise<{ readonly rows: readonly BenchRow[]; readonly figures: BenchFigures }>;
}
