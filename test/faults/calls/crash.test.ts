import { join } from 'node:path';
import { assert, check, temporaryFolder } from '../../support/index.ts';
import { crashOnce, type Crash, type Death, startOtherSide } from './crash.ts';
import type { TestContext } from 'node:test';

/** The points of one call's way, and how often each is passed by the run of four calls. */
const POINTS: readonly (readonly [point: string, times: number])[] = [
  ['group-begun', 6],
  ['group-about-to-commit', 8],
  ['group-committed', 8],
  ['approval-consumed', 2],
  ['intent-committed', 4],
  ['effect-about-to-send', 4],
  ['effect-sent', 4],
  ['receipt-about-to-commit', 4],
  ['receipt-committed', 4],
];
const RANDOM_MOMENTS = 50;
const SEED = 20_261_129;
/** Longer than the run takes on an idle machine, so that moments fall everywhere in it. */
const SPAN_MS = 600;
const AT_ONCE = 3;

async function all(t: TestContext, deaths: readonly Death[]): Promise<readonly Crash[]> {
  const other = await startOtherSide(join(await temporaryFolder(t), 'log.jsonl'));
  t.after(() => other.stop());
  const left = [...deaths];
  const crashes: Crash[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift())
      crashes.push(await crashOnce(next, other.book(`book-${left.length}`)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return crashes;
}

check('killed at every fault point of a call: once, kept, honest, and finished in the end', async (t) => {
  const deaths = POINTS.flatMap(([point, times]) => Array.from({ length: times }, (_, i) => ({ point, at: i + 1 })));
  const crashes = await all(t, deaths);
  assert.deepEqual(
    crashes.flatMap((crash) => crash.violations),
    [],
  );
  assert.equal(crashes.filter((crash) => crash.killed).length, deaths.length, 'every planned kill fell');
});

check(
  `killed at ${RANDOM_MOMENTS} random moments (seed ${SEED}): once, kept, honest, and finished in the end`,
  async (t) => {
    const random = seeded(SEED);
    const crashes = await all(
      t,
      Array.from({ length: RANDOM_MOMENTS }, () => ({ afterMs: Math.floor(random() * SPAN_MS) })),
    );
    assert.deepEqual(
      crashes.flatMap((crash) => crash.violations),
      [],
    );
    assert.ok(
      crashes.filter((crash) => crash.killed).length >= RANDOM_MOMENTS / 2,
      'most of the kills fell inside the run',
    );
  },
);

/** A small generator whose numbers are the same everywhere (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
