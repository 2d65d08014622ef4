// A seeded, structure-aware fuzzer: it takes a real package apart, puts it together wrongly in ways that attackers use,
// then damages bytes, and judges what the reader makes of it.
import { bytesSource, openArchive, verifyPackage } from '../../../src/archive/index.ts';
import { HoldfastError } from '../../../src/core/index.ts';
import { readByYauzl } from './other-reader.ts';
import type { Files } from './packages.ts';
import { extraField, type Fields, type Frame, type Piece, u32, u64, zip } from './zip-builder.ts';

/** mulberry32: a small generator whose whole state is its seed. */
export function dice(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number): number => next() % Math.max(1, limit);
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)] as T;
  return { next, below, pick, chance: (part: number): boolean => below(1000) < part * 1000 };
}

type Dice = ReturnType<typeof dice>;

const NUMBERS = [0, 1, 2, 8, 9, 12, 20, 33, 45, 63, 99, 0x7fff, 0xfffe, 0xffff, 0x7fffffff, 0xfffffffe, 0xffffffff];
const NAMES = [
  '../escape',
  '/etc/passwd',
  'C:/x',
  'a\\b',
  'nul',
  'CON.txt',
  'session.json.',
  'Session.json',
  'ſession.json',
  'session.json/x',
  'workspace',
  './session.json',
  'a//b',
  '',
  'x\0y',
  'a\u202eb',
  '．．／x',
  'session.json ',
  'new.txt',
  'manifest.json',
  'MANIFEST.JSON',
  'workspace/trees',
  'dir/',
  'é.txt',
  'e\u0301.txt',
];
const FIELD_NAMES = ['versionNeeded', 'flags', 'method', 'time', 'date', 'crc32', 'compressedSize', 'size'] as const;
const CENTRAL_NAMES = [...FIELD_NAMES, 'madeBy', 'disk', 'internalAttributes', 'localOffset'] as const;
const END_NAMES = [
  'disk',
  'directoryDisk',
  'entriesOnDisk',
  'entries',
  'directorySize',
  'directoryOffset',
  'commentLength',
] as const;

function someBytes(random: Dice): Buffer {
  return Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
}

function someExtra(random: Dice): Buffer {
  const id = random.pick([1, 1, 0x5455, 0x7875, 0x000a, 0x7075, 0xcafe]);
  const data = random.pick([someBytes(random), u64(BigInt(random.pick(NUMBERS))), Buffer.alloc(random.below(30))]);
  return random.chance(0.1) ? someBytes(random) : extraField(id, data);
}

type Wrong = (random: Dice, piece: Piece, files: readonly Piece[]) => Piece;

/** Ways to make one member wrong. */
const WRONG_MEMBERS: readonly Wrong[] = [
  (random, piece) => ({
    ...piece,
    local: { ...piece.local, [random.pick(FIELD_NAMES)]: random.pick(NUMBERS) } as Partial<Fields>,
  }),
  (random, piece) => ({
    ...piece,
    central: { ...piece.central, [random.pick(CENTRAL_NAMES)]: random.pick(NUMBERS) } as Partial<Fields>,
  }),
  (random, piece) => {
    const change = { [random.pick(FIELD_NAMES)]: random.pick(NUMBERS) } as Partial<Fields>;
    return { ...piece, local: change, central: change };
  },
  (random, piece) => ({ ...piece, name: random.pick(NAMES), flags: 0x800 }),
  (random, piece) => ({ ...piece, localName: random.pick(NAMES) }),
  (random, piece) => ({ ...piece, localExtra: someExtra(random) }),
  (random, piece) => ({ ...piece, centralExtra: someExtra(random) }),
  (random, piece) => ({
    ...piece,
    externalAttributes: random.pick([0, 8, 0x10, 0x400, ...[1, 2, 4, 6, 8, 10, 12].map((kind) => (kind << 28) >>> 0)]),
  }),
  (random, piece) => ({
    ...piece,
    descriptor: random.pick(['signed', 'bare', 'signed64', 'bare64', someBytes(random)] as const),
  }),
  (random, piece) => ({ ...piece, method: random.pick([0, 8, 8, 9, 12, 93]) }),
  (random, piece) => ({ ...piece, before: someBytes(random) }),
  (random, piece) => ({ ...piece, comment: random.pick(['', 'note', 'PK\u0005\u0006']) }),
  (random, piece) => ({ ...piece, data: someBytes(random) }),
  (random, piece, all) => ({ ...piece, content: random.pick(all).content ?? '' }),
  (_, piece) => ({ ...piece, centralOnly: true }),
  (_, piece) => ({ ...piece, localOnly: true }),
  (random, piece) => ({ ...piece, flags: random.pick([0, 1, 2, 8, 0x20, 0x40, 0x800, 0x2000, 0x8000]) }),
];

/** Ways to make the set of members wrong. */
const WRONG_SETS: readonly ((random: Dice, pieces: Piece[]) => void)[] = [
  (random, pieces) => void pieces.splice(random.below(pieces.length), 1),
  (random, pieces) => void pieces.push(random.pick(pieces)),
  (random, pieces) => void pieces.push({ name: random.pick(NAMES), flags: 0x800, content: 'x' }),
  (_, pieces) => void pieces.reverse(),
  (random, pieces) => {
    const a = random.below(pieces.length);
    const b = random.below(pieces.length);
    [pieces[a], pieces[b]] = [{ ...(pieces[b] as Piece), name: pieces[a]?.name ?? '' }, pieces[a] as Piece];
  },
];

/** Ways to make the frame around the members wrong. */
const WRONG_FRAMES: readonly ((random: Dice, whole: Buffer) => Frame)[] = [
  (random) => ({ prefix: someBytes(random), countPrefix: random.chance(0.5) }),
  (random) => ({ suffix: someBytes(random) }),
  (random) => ({ comment: random.pick(['x', 'PK\u0005\u0006']) }),
  (random) => ({ beforeDirectory: someBytes(random) }),
  (random) => ({ afterDirectory: someBytes(random) }),
  (random) => ({ end: { [random.pick(END_NAMES)]: random.pick(NUMBERS) } }),
  (random) => ({
    zip64: random.pick(['plain', { entries: 3n }, { directoryOffset: 1n }, { recordSize: 45n }] as const),
  }),
  (_, whole) => ({ comment: whole.subarray(0, 0xffff) }),
  (_, whole) => ({ suffix: whole }),
  (_, whole) => ({ prefix: whole, countPrefix: false }),
];

/** Ways to damage finished bytes. */
const DAMAGE: readonly ((random: Dice, bytes: Buffer) => Buffer)[] = [
  (random, bytes) => flipped(random, bytes, 1),
  (random, bytes) => flipped(random, bytes, 1 + random.below(8)),
  (random, bytes) => bytes.subarray(0, random.below(bytes.length)),
  (random, bytes) => bytes.subarray(random.below(60)),
  (random, bytes) => overwritten(random, bytes, u32(random.pick(NUMBERS))),
  (random, bytes) => overwritten(random, bytes, someBytes(random)),
  (random, bytes) => {
    const [from, to, length] = [random.below(bytes.length), random.below(bytes.length), random.below(80)];
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, from + length), bytes.subarray(to)]);
  },
  (random, bytes) => {
    const from = random.below(bytes.length);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + 1 + random.below(20))]);
  },
];

function flipped(random: Dice, bytes: Buffer, times: number): Buffer {
  const copy = Buffer.from(bytes);
  for (let i = 0; i < times; i += 1) {
    const at = random.below(copy.length);
    copy[at] = (copy[at] as number) ^ (1 << random.below(8));
  }
  return copy;
}

function overwritten(random: Dice, bytes: Buffer, by: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  by.copy(copy, random.below(copy.length));
  return copy;
}

/** The archive of one seed: the same bytes every time. */
export function fuzzedArchive(seed: number, files: Files): Buffer {
  const random = dice(seed);
  const pieces = [...files].map(([name, content]): Piece => ({ name, content, method: random.pick([0, 8, 8]) }));
  const whole = (): Buffer => zip(pieces);
  if (random.chance(0.5)) {
    const at = random.below(pieces.length);
    pieces[at] = random.pick(WRONG_MEMBERS)(random, pieces[at] as Piece, pieces);
  }
  if (random.chance(0.2)) random.pick(WRONG_SETS)(random, pieces);
  const frame = random.chance(0.3) ? random.pick(WRONG_FRAMES)(random, whole()) : {};
  let bytes = zip(pieces, frame);
  while (random.chance(0.4)) bytes = random.pick(DAMAGE)(random, bytes);
  return bytes;
}

export interface FuzzVerdict {
  /** A code when refused whole, `problems` when the report says no, `accepted`, or what is wrong with the reader. */
  readonly outcome: string;
  readonly fault?: string;
}

/**
 * What must hold for any bytes whatever: the reader answers in time with a report or a coded refusal, and what it
 * accepts is the package that was not changed, read alike by another reader.
 */
export async function judge(bytes: Buffer, original: Files): Promise<FuzzVerdict> {
  try {
    const report = await verifyPackage(bytesSource(bytes), { limits: { readMs: 10_000 } });
    if (!report.ok) return { outcome: 'problems' };
    const fault = (await changedContent(bytes, original)) ?? (await readDifferently(bytes));
    return fault === undefined ? { outcome: 'accepted' } : { outcome: 'accepted', fault };
  } catch (error) {
    if (error instanceof HoldfastError && /^(?:ARCHIVE|PACKAGE)_/.test(error.code))
      return error.code === 'ARCHIVE_TOO_SLOW' ? { outcome: error.code, fault: 'too slow' } : { outcome: error.code };
    return { outcome: 'crash', fault: error instanceof Error ? String(error.stack) : String(error) };
  }
}

async function changedContent(bytes: Buffer, original: Files): Promise<string | undefined> {
  const archive = await openArchive(bytesSource(bytes));
  if (archive.members.length !== original.size) return 'another number of members was accepted';
  for (const { name } of archive.members) {
    const content = await archive.bytes(name, Infinity);
    if (!original.get(name)?.equals(content)) return `changed content was accepted: ${name}`;
  }
  return undefined;
}

async function readDifferently(bytes: Buffer): Promise<string | undefined> {
  const ours = await openArchive(bytesSource(bytes));
  const theirs = await readByYauzl(bytes);
  if (theirs.size !== ours.members.length) return 'another reader sees another number of members';
  for (const { name } of ours.members)
    if (!theirs.get(name)?.equals(await ours.bytes(name, Infinity))) return `another reader sees another ${name}`;
  return undefined;
}

/** Judges `count` archives from `seed` on; gives how often each outcome came, and the seeds that show a fault. */
export async function fuzz(seed: number, count: number, files: Files, tick: (done: number) => void = () => {}) {
  const outcomes = new Map<string, number>();
  const faults: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const { outcome, fault } = await judge(fuzzedArchive(seed + i, files), files);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (fault !== undefined) faults.push(`seed ${seed + i}: ${fault}`);
    if (i % 1000 === 999) tick(i + 1);
  }
  return { outcomes, faults };
}
