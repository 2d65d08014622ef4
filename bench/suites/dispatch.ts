import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { systemIds } from '../../src/core/index.ts';
import { builtProgram } from '../../scripts/installed.ts';
import { type Contender, interleave, median, WARM_UP_ROUNDS } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';
import { DispatchWork, PlainDispatches } from './dispatch-work.ts';
import { FINISH, INSERT, PAYLOAD, PlainLedger, type Step } from './ledger.ts';

const SERIAL_EFFECTS = 60;
const CALLERS = 64;
const EFFECTS_PER_CALLER = 8;
const ROUNDS = 21;
const SMALL = 1_000;
const LARGE = 100_000;
const GROWTH_ROUNDS = 41;

const intent = (id: string): Step => ['run', INSERT, [id, 'pending', PAYLOAD]];
const receipt = (id: string): Step => ['run', FINISH, [id]];

interface Places {
  readonly work: DispatchWork;
  readonly raw: PlainLedger;
}

/** The contenders of one way, and the same work's statements in plain synchronous code. */
interface Contenders {
  readonly beside: (places: Places) => Contender[];
  readonly plainly: (plain: PlainDispatches) => number;
}

function serial({ work, raw }: Places): Contender[] {
  const times = async (one: () => Promise<void>): Promise<number> => {
    for (let i = 0; i < SERIAL_EFFECTS; i += 1) await one();
    return SERIAL_EFFECTS;
  };
  const rawEffects = (): number => {
    for (let i = 0; i < SERIAL_EFFECTS; i += 1) {
      const id = systemIds.next();
      raw.group([[intent(id)]]);
      raw.group([[receipt(id)]]);
    }
    return SERIAL_EFFECTS;
  };
  return [
    { name: 'dispatch', run: () => times(() => work.inTwoCommits()) },
    { name: 'door', run: () => times(() => work.atTheDoor()) },
    { name: 'raw', run: rawEffects },
  ];
}

async function callers(one: () => Promise<void>): Promise<number> {
  const caller = async (): Promise<void> => {
    for (let i = 0; i < EFFECTS_PER_CALLER; i += 1) await one();
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return CALLERS * EFFECTS_PER_CALLER;
}

function grouped({ work, raw }: Places): Contender[] {
  const rawEffects = (): number => {
    for (let round = 0; round < EFFECTS_PER_CALLER; round += 1) {
      const ids = Array.from({ length: CALLERS }, () => systemIds.next());
      raw.group(ids.map((id) => [intent(id)]));
      raw.group(ids.map((id) => [receipt(id)]));
    }
    return CALLERS * EFFECTS_PER_CALLER;
  };
  return [
    { name: 'dispatch', run: () => callers(() => work.inTwoCommits()) },
    { name: 'door', run: () => callers(() => work.atTheDoor()) },
    { name: 'raw', run: rawEffects },
  ];
}

const SERIAL: Contenders = {
  beside: serial,
  plainly: (plain) => {
    for (let i = 0; i < SERIAL_EFFECTS; i += 1) plain.group(1);
    return SERIAL_EFFECTS;
  },
};

const GROUPED: Contenders = {
  beside: grouped,
  plainly: (plain) => {
    for (let round = 0; round < EFFECTS_PER_CALLER; round += 1) plain.group(CALLERS);
    return CALLERS * EFFECTS_PER_CALLER;
  },
};

interface Part {
  readonly rows: readonly BenchRow[];
  readonly ratios: Readonly<Record<string, number>>;
  readonly effectsPerSecond: Readonly<Record<string, number>>;
}

const rounded = (value: number): number => Number(value.toFixed(3));

/** What is measured one at a time, or in groups: so many effects a round. */
interface Way {
  readonly name: string;
  readonly effectsPerRound: number;
  readonly contenders: Contenders;
}

async function beside(folder: string, { name, effectsPerRound, contenders }: Way): Promise<Part> {
  const work = await DispatchWork.open(join(folder, `${name}.db`));
  const raw = new PlainLedger(join(folder, `${name}-raw.db`));
  const measured = await interleave(contenders.beside({ work, raw }), ROUNDS);
  raw.close();
  const perSecond = (who: string) => 1e6 / (measured.get(who)?.medianUs ?? Number.NaN);
  const [ours, door, theirs] = [perSecond('dispatch'), perSecond('door'), perSecond('raw')];
  // Afterwards: so many recorded statements in memory would make each collection of the others' rounds dearer.
  const dispatches = (ROUNDS + WARM_UP_ROUNDS) * effectsPerRound;
  const plain = await PlainDispatches.open(join(folder, `${name}-plain.db`), dispatches);
  const again = contenders.beside({ work, raw }).filter((contender) => contender.name === 'dispatch');
  const run = () => contenders.plainly(plain);
  const besidePlain = await interleave([...again, { name: 'plain', run }], ROUNDS);
  await work.close();
  plain.close();
  const same = 1e6 / (besidePlain.get('plain')?.medianUs ?? Number.NaN);
  const oursAgain = 1e6 / (besidePlain.get('dispatch')?.medianUs ?? Number.NaN);
  const note = `${Math.round(ours)} dispatches/s in two commits; raw SQLite ${Math.round(theirs)} effects/s`;
  const besideSame = `of the same statements in plain synchronous code: ${Math.round(same)}/s`;
  return {
    rows: [
      { what: name, value: (ours / theirs).toFixed(3), note },
      { what: `${name}_plain`, value: (oursAgain / same).toFixed(3), note: besideSame },
      {
        what: `${name}_door`,
        value: (door / theirs).toFixed(3),
        note: `${Math.round(door)} dispatches/s in four commits`,
      },
    ],
    ratios: {
      [name]: rounded(ours / theirs),
      [`${name}_plain`]: rounded(oursAgain / same),
      [`${name}_door`]: rounded(door / theirs),
    },
    effectsPerSecond: {
      [name]: Math.round(ours),
      [`${name}_plain`]: Math.round(same),
      [`${name}_door`]: Math.round(door),
      [`${name}_raw`]: Math.round(theirs),
    },
  };
}

/** What a dispatch costs with 100,000 stored operations against 1,000: the median of the rounds' own ratios. */
async function growth(folder: string): Promise<Part> {
  const [small, large] = [
    await DispatchWork.open(join(folder, 'small.db')),
    await DispatchWork.open(join(folder, 'large.db')),
  ];
  await small.fill(SMALL);
  await large.fill(LARGE);
  const once = async (work: DispatchWork): Promise<number> => {
    const start = performance.now();
    await callers(() => work.inTwoCommits());
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
  const note = `${LARGE} stored operations against ${SMALL}; lower is better`;
  const row = { what: 'dispatch_growth', value: ratio.toFixed(3), note };
  return { rows: [row], ratios: { dispatch_growth: rounded(ratio) }, effectsPerSecond: {} };
}

/** Resident memory of a process of its own that works on the large database, with the package as it is installed. */
function memory(folder: string): BenchRow {
  const script = builtProgram(join(import.meta.dirname, 'dispatch-memory.ts'));
  const { stdout } = spawnSync(process.execPath, [script, join(folder, 'large.db')], { encoding: 'utf8' });
  return { what: 'dispatch_rss_mb', value: stdout.trim(), note: `resident at most, with ${LARGE} stored operations` };
}

/**
 * A full dispatch (checks, approval, reservation, lease, effect, receipts) beside raw SQLite doing two commits of one
 * statement, and beside its own statements in plain synchronous code.
 */
export const dispatchSuite: BenchSuite = {
  name: 'dispatch',
  async run(folder) {
    const parts = [
      await beside(folder, { name: 'dispatch_serial', effectsPerRound: SERIAL_EFFECTS, contenders: SERIAL }),
      await beside(folder, {
        name: 'dispatch_group64',
        effectsPerRound: CALLERS * EFFECTS_PER_CALLER,
        contenders: GROUPED,
      }),
      await growth(folder),
    ];
    return {
      rows: [...parts.flatMap((part) => part.rows), memory(folder)],
      figures: {
        ratios: Object.assign({}, ...parts.map((part) => part.ratios)) as Record<string, number>,
        effectsPerSecond: Object.assign({}, ...parts.map((part) => part.effectsPerSecond)) as Record<string, number>,
      },
    };
  },
};
