import { join } from 'node:path';
import type { ContextSchema, Store } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { type Contender, interleave, median } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';
import { contextSchema, intent, twelveSteps, twoSteps } from './context-tables.ts';
import { inBody, ledgerSchema, PlainLedger, type Step, twoSteps as tinySteps } from './ledger.ts';
import { systemIds } from '../../src/core/index.ts';

const SERIAL_WRITES = 60;
const CALLERS = 64;
const WRITES_PER_CALLER = 6;
const ROUNDS = 101;

type MakeSteps = () => Step[];

function batch(make: MakeSteps, count: number): Step[][] {
  return Array.from({ length: count }, () => make());
}

function writeOne(store: Store, steps: readonly Step[]): Promise<void> {
  return store.write('bench', (tx) => inBody(tx, steps));
}

// Ids are made at the moment of the write, so that both sides write at the same end of their indexes.
function serialContenders(store: Store, plain: PlainLedger, make: MakeSteps): Contender[] {
  return [
    {
      name: 'store',
      run: async () => {
        for (let i = 0; i < SERIAL_WRITES; i += 1) await writeOne(store, make());
        return SERIAL_WRITES;
      },
    },
    {
      name: 'plain',
      run: () => {
        for (let i = 0; i < SERIAL_WRITES; i += 1) plain.group([make()]);
        return SERIAL_WRITES;
      },
    },
  ];
}

function groupContenders(store: Store, plain: PlainLedger, make: MakeSteps): Contender[] {
  const total = CALLERS * WRITES_PER_CALLER;
  const caller = async (): Promise<void> => {
    for (let i = 0; i < WRITES_PER_CALLER; i += 1) await writeOne(store, make());
  };
  return [
    {
      name: 'store',
      run: async () => {
        await Promise.all(Array.from({ length: CALLERS }, caller));
        return total;
      },
    },
    {
      name: 'plain',
      run: () => {
        for (let i = 0; i < WRITES_PER_CALLER; i += 1) plain.group(batch(make, CALLERS));
        return total;
      },
    },
  ];
}

interface Pair {
  readonly name: string;
  readonly ratio: number;
  readonly rows: BenchRow[];
}

interface Comparison {
  readonly name: string;
  readonly make: MakeSteps;
  readonly grouped: boolean;
  readonly schema?: ContextSchema;
}

async function compare(folder: string, { name, make, grouped, schema = contextSchema }: Comparison): Promise<Pair> {
  const store = await openSqliteStore({ file: join(folder, `${name}-store.db`), schemas: [schema] });
  const plain = new PlainLedger(join(folder, `${name}-plain.db`), schema.migrations[0]?.sqlite);
  const measured = await interleave((grouped ? groupContenders : serialContenders)(store, plain, make), ROUNDS);
  await store.close();
  plain.close();
  const ours = measured.get('store')?.medianUs ?? Number.NaN;
  const theirs = measured.get('plain')?.medianUs ?? Number.NaN;
  const ratio = theirs / ours;
  const note = `${ours.toFixed(1)} µs a write; plain synchronous code ${theirs.toFixed(1)} µs`;
  return { name, ratio, rows: [{ what: name, value: ratio.toFixed(3), note }] };
}

const COMPARISONS: readonly Comparison[] = [
  { name: 'store_serial', make: twoSteps, grouped: false },
  { name: 'store_serial_12', make: twelveSteps, grouped: false },
  { name: 'store_group64', make: twoSteps, grouped: true },
  { name: 'store_group64_12', make: twelveSteps, grouped: true },
  // Two columns and no index but the key: as little as SQLite can do, so that the port weighs most.
  { name: 'store_group64_tiny', make: tinySteps, grouped: true, schema: ledgerSchema },
];

const SMALL_ROWS = 1_000;
const LARGE_ROWS = 100_000;
const GROWTH_ROUNDS = 41;

async function filled(folder: string, rows: number): Promise<Store> {
  const store = await openSqliteStore({ file: join(folder, `growth-${rows}.db`), schemas: [contextSchema] });
  const fill = (count: number) =>
    store.write('fill', async (tx) => {
      for (let i = 0; i < count; i += 1) await inBody(tx, [intent(systemIds.next())]);
    });
  for (let left = rows; left > 0; left -= 10_000) await fill(Math.min(left, 10_000));
  return store;
}

/** What a write costs in a ledger of 100,000 rows against one of 1,000: the median of the rounds' own ratios. */
async function growth(folder: string): Promise<Pair> {
  const [small, large] = [await filled(folder, SMALL_ROWS), await filled(folder, LARGE_ROWS)];
  const once = async (store: Store): Promise<number> => {
    const start = performance.now();
    await Promise.all(batch(twoSteps, CALLERS).map((steps) => writeOne(store, steps)));
    return performance.now() - start;
  };
  const ratios: number[] = [];
  for (let round = 0; round < GROWTH_ROUNDS; round += 1) {
    const first = await once(round % 2 === 0 ? small : large);
    const second = await once(round % 2 === 0 ? large : small);
    if (round >= 5) ratios.push(round % 2 === 0 ? second / first : first / second);
  }
  await Promise.all([small.close(), large.close()]);
  const ratio = median(ratios);
  return {
    name: 'store_growth',
    ratio,
    rows: [{ what: 'store_growth', value: ratio.toFixed(3), note: 'lower is better' }],
  };
}

/** The store's port beside the same statements with the same grouping in plain synchronous code. */
export const storeSuite: BenchSuite = {
  name: 'store',
  async run(folder) {
    const pairs: Pair[] = [];
    for (const comparison of COMPARISONS) pairs.push(await compare(folder, comparison));
    pairs.push(await growth(folder));
    const ratios = Object.fromEntries(pairs.map(({ name, ratio }) => [name, Number(ratio.toFixed(3))]));
    return { rows: pairs.flatMap((pair) => pair.rows), figures: { ratios } };
  },
};
