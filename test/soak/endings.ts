import type { Ending } from '../support/index.ts';

/** What a test context does at its end, for a soak: the last begun is ended first. */
export function endings(): Ending & AsyncDisposable {
  const work: (() => unknown)[] = [];
  return {
    after: (one) => void work.push(one),
    [Symbol.asyncDispose]: async () => {
      for (const one of work.reverse()) await one();
    },
  };
}
