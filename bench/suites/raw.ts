import { join } from 'node:path';
import { systemIds } from '../../src/core/index.ts';
import type { Store } from '../../src/store/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { type Contender, interleave } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';
import { FINISH, INSERT, ledgerSchema, PAYLOAD, PlainLedger, type Step } from './ledger.ts';

const SERIAL_EFFECTS = 100;
const CALLERS = 64;
const EFFECTS_PER_CALLER = 8;
const ROUNDS = 21;

function intent(id: string): Step {
  return ['run', INSERT, [id, 'pending', PAYLOAD]];
}

function receipt(id: string): Step {
  return ['run', FINISH, [id]];
}

function ids(count: number): string[] {
  return Array.from({ length: count }, () => systemIds.next());
}

async function effects(store: Store, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const id = systemIds.next();
    await store.write('intent', (tx) => tx.run(INSERT, [id, 'pending', PAYLOAD]));
    await store.write('receipt', (tx) => tx.run(FINISH, [id]));
  }
}

function serial(store: Store, raw: PlainLedger): Contender[] {
  const rawEffects = (): number => {
    for (const id of ids(SERIAL_EFFECTS)) {
      raw.group([[intent(id)]]);
      raw.group([[receipt(id)]]);
    }
    return SERIAL_EFFECTS;
  };
  const storeEffects = async (): Promise<number> => {
    await effects(store, SERIAL_EFFECTS);
    return SERIAL_EFFECTS;
  };
  return [
    { name: 'store', run: storeEffects },
    { name: 'raw', run: rawEffects },
  ];
}

function grouped(store: Store, raw: PlainLedger): Contender[] {
  const total = CALLERS * EFFECTS_PER_CALLER;
  const rawEffects = (): number => {
    for (let round = 0; round < EFFECTS_PER_CALLER; round += 1) {
      const group = ids(CALLERS);
      raw.group(group.map((id) => [intent(id)]));
      raw.group(group.map((id) => [receipt(id)]));
    }
    return total;
  };
  const storeEffects = async (): Promise<number> => {
    await Promise.all(Array.from({ length: CALLERS }, () => effects(store, EFFECTS_PER_CALLER)));
    return total;
  };
  return [
    { name: 'store', run: storeEffects },
    { name: 'raw', run: rawEffects },
  ];
}

/** Raw SQLite with two durable commits of one statement for an effect, beside the store doing the same. */
export const rawSuite: BenchSuite = {
  name: 'raw',
  async run(folder) {
    const ratios: Record<string, number> = {};
    const effectsPerSecond: Record<string, number> = {};
    const rows = [];
    for (const [name, make] of Object.entries({ raw_serial: serial, raw_group64: grouped })) {
      const store = await openSqliteStore({ file: join(folder, `${name}-store.db`), schemas: [ledgerSchema] });
      const raw = new PlainLedger(join(folder, `${name}.db`));
      const measured = await interleave(make(store, raw), ROUNDS);
      await store.close();
      raw.close();
      const ours = 1e6 / (measured.get('store')?.medianUs ?? Number.NaN);
      const theirs = 1e6 / (measured.get('raw')?.medianUs ?? Number.NaN);
      ratios[name] = Number((ours / theirs).toFixed(3));
      effectsPerSecond[name] = Math.round(theirs);
      effectsPerSecond[name.replace('raw', 'store')] = Math.round(ours);
      const note = `${Math.round(ours)} effects/s; raw SQLite ${Math.round(theirs)}`;
      rows.push({ what: name, value: (ours / theirs).toFixed(3), note });
    }
    return { rows, figures: { ratios, effectsPerSecond } };
  },
};
