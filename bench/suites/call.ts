import { join } from 'node:path';
import { systemIds } from '../../src/core/index.ts';
import { type Contender, interleave, median } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';
import { CallWork } from './call-work.ts';
import { FINISH, INSERT, PAYLOAD, PlainLedger } from './ledger.ts';

const SERIAL_CALLS = 160;
const CALLERS = 64;
const CALLS_PER_CALLER = 8;
const ROUNDS = 15;
const LARGE = 20_000;
const GROWTH_ROUNDS = 21;

interface Part {
  readonly row: BenchRow;
  readonly ratio: number;
  readonly effectsPerSecond: Readonly<Record<string, number>>;
}

async function serially(work: CallWork): Promise<number> {
  for (let i = 0; i < SERIAL_CALLS; i += 1) await work.call(0);
  return SERIAL_CALLS;
}

async function together(work: CallWork): Promise<number> {
  const caller = async (_: unknown, i: number): Promise<void> => {
    for (let n = 0; n < CALLS_PER_CALLER; n += 1) await work.call(i);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return CALLERS * CALLS_PER_CALLER;
}

/** Two durable commits of one statement per effect, `size` effects a commit. */
function rawEffects(raw: PlainLedger, effects: number, size: number): number {
  for (let done = 0; done < effects; done += size) {
    const ids = Array.from({ length: size }, () => systemIds.next());
    raw.group(ids.map((id) => [['run', INSERT, [id, 'pending', PAYLOAD]]]));
    raw.group(ids.map((id) => [['run', FINISH, [id]]]));
  }
  return effects;
}

async function beside(folder: string, name: string, contenders: (work: CallWork, raw: PlainLedger) => Contender[]) {
  const work = await CallWork.open(folder, CALLERS);
  const raw = new PlainLedger(join(folder, `${name}-raw.db`));
  const measured = await interleave(contenders(work, raw), ROUNDS);
  await work.close();
  raw.close();
  const perSecond = (who: string): number => 1e6 / (measured.get(who)?.medianUs ?? Number.NaN);
  const [ours, theirs] = [perSecond('call'), perSecond('raw')];
  const note = `${Math.round(ours)} calls/s; raw SQLite ${Math.round(theirs)} effects/s`;
  const part: Part = {
    row: { what: name, value: (ours / theirs).toFixed(3), note },
    ratio: ours / theirs,
    effectsPerSecond: { [name]: Math.round(ours), [`${name}_raw`]: Math.round(theirs) },
  };
  return part;
}

/** What a call costs with 20,000 stored ones against none: the median of the rounds' own ratios. */
async function growth(folder: string): Promise<Part> {
  const [small, large] = [await CallWork.open(folder, CALLERS), await CallWork.open(folder, CALLERS)];
  for (let done = 0; done < LARGE; done += CALLERS * CALLS_PER_CALLER) await together(large);
  const timed = async (work: CallWork): Promise<number> => {
    const start = performance.now();
    await together(work);
    return performance.now() - start;
  };
  const ratios: number[] = [];
  for (let round = 0; round < GROWTH_ROUNDS; round += 1) {
    const first = await timed(round % 2 === 0 ? small : large);
    const second = await timed(round % 2 === 0 ? large : small);
    if (round >= 3) ratios.push(round % 2 === 0 ? second / first : first / second);
  }
  await Promise.all([small.close(), large.close()]);
  const ratio = median(ratios);
  const row = {
    what: 'call_growth',
    value: ratio.toFixed(3),
    note: `${LARGE} stored calls against few; lower is better`,
  };
  return { row, ratio, effectsPerSecond: {} };
}

/** The composed call (checks, approval, reservation, claim, receipts, ledger lines) beside raw SQLite in two commits. */
export const callSuite: BenchSuite = {
  name: 'call',
  async run(folder) {
    const serial = await beside(folder, 'call_serial', (work, raw) => [
      { name: 'call', run: () => serially(work) },
      { name: 'raw', run: () => rawEffects(raw, SERIAL_CALLS, 1) },
    ]);
    const group = await beside(folder, 'call_group64', (work, raw) => [
      { name: 'call', run: () => together(work) },
      { name: 'raw', run: () => rawEffects(raw, CALLERS * CALLS_PER_CALLER, CALLERS) },
    ]);
    const grown = await growth(folder);
    const rounded = (value: number): number => Number(value.toFixed(3));
    return {
      rows: [serial.row, group.row, grown.row],
      figures: {
        ratios: {
          call_serial: rounded(serial.ratio),
          call_group64: rounded(group.ratio),
          call_growth: rounded(grown.ratio),
        },
        effectsPerSecond: { ...serial.effectsPerSecond, ...group.effectsPerSecond },
      },
    };
  },
};
