/** One way of doing a job: does it once over and says how many units of work that was. */
export interface Contender {
  readonly name: string;
  readonly run: () => Promise<number> | number;
}

export interface Measured {
  /** Microseconds for one unit, the median over the rounds. */
  readonly medianUs: number;
  readonly rounds: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Rounds that are run first and do not count, unless a suite says otherwise. */
export const WARM_UP_ROUNDS = 10;

async function timeOnce(contender: Contender): Promise<number> {
  const start = performance.now();
  const units = await contender.run();
  return ((performance.now() - start) * 1000) / units;
}

export interface InterleaveOptions {
  /** Rounds that do not count. */
  readonly warmUp?: number;
  /** Called before each turn, and not timed. */
  readonly before?: () => void;
}

/**
 * Runs the contenders turn by turn, in changing order, so that a slow moment of the machine falls on all of them; the
 * first rounds warm up and do not count.
 */
export async function interleave(
  contenders: readonly Contender[],
  rounds: number,
  { warmUp = WARM_UP_ROUNDS, before = () => undefined }: InterleaveOptions = {},
): Promise<ReadonlyMap<string, Measured>> {
  const times = new Map(contenders.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds + warmUp; round += 1) {
    const order = round % 2 === 0 ? contenders : [...contenders].reverse();
    for (const contender of order) {
      before();
      const us = await timeOnce(contender);
      if (round >= warmUp) times.get(contender.name)?.push(us);
    }
  }
  return new Map([...times].map(([name, list]) => [name, { medianUs: median(list), rounds: list.length }]));
}
