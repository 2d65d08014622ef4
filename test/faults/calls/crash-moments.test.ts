import { assert, check, seeded } from '../../support/index.ts';
import { all, wrong } from './plans.ts';

const RANDOM_MOMENTS = 50;
const SEED = 20_261_129;
/** Longer than the run takes on an idle machine, so that moments fall everywhere in it. */
const SPAN_MS = 600;

check(
  `killed at ${RANDOM_MOMENTS} random moments (seed ${SEED}): once, kept, honest, and finished in the end`,
  async (t) => {
    const random = seeded(SEED);
    const crashes = await all(
      t,
      Array.from({ length: RANDOM_MOMENTS }, () => [{ afterMs: Math.floor(random() * SPAN_MS) }]),
    );
    assert.deepEqual(wrong(crashes), []);
    assert.ok(
      crashes.filter((crash) => crash.killed).length >= RANDOM_MOMENTS / 2,
      'most of the kills fell inside the run',
    );
  },
);
