import { execFile } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import { fileSource, openArchive, sealManifest, verifyPackage, writeArchive } from '../../src/archive/index.ts';
import { interleave } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const MIB = 1024 * 1024;
const ROUNDS = 7;

/** Half noise, half words: deflates to about half its size. */
function content(seed: number, bytes: number): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes; at += 64) blocks.push(Buffer.from(hash('sha256', `${seed}:${at}`, 'hex')));
  return Buffer.concat(blocks).subarray(0, bytes);
}

/** A package with large members and small ones, `megabytes` of archive in all. */
async function writePackage(file: string, megabytes: number): Promise<void> {
  const small = Math.round(megabytes * 4);
  const sizes = [
    ...Array.from({ length: 6 }, () => Math.round((megabytes * 1.45 * MIB) / 6)),
    ...Array.from({ length: small }, () => Math.round((megabytes * 0.3 * MIB) / small)),
  ];
  const files = sizes.map((size, i) => ({ path: `workspace/blobs/${i}`, size, content: () => [content(i, size)] }));
  const rows = files.map(({ path, size, content: bytes }) => {
    return {
      path,
      size,
      sha256: createHash('sha256')
        .update(bytes()[0] as Buffer)
        .digest('hex'),
    };
  });
  const manifest = { name: 'manifest.json', content: () => [Buffer.from(sealManifest(rows).text)] };
  const members = files.map((entry) => ({ name: entry.path, content: entry.content }));
  await pipeline(Readable.from(writeArchive([...members, manifest])), createWriteStream(file));
}

interface Place {
  readonly at: number;
  readonly length: number;
}

/** Where the members' data stands, so that the comparison pays for nothing but reading, inflating and hashing. */
async function placesOf(file: string): Promise<Place[]> {
  const source = await fileSource(file);
  const { members } = await openArchive(source);
  const places: Place[] = [];
  let at = 0;
  for (const { compressedSize } of members) {
    const header = await source.read(at, 30);
    at += 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    places.push({ at, length: compressedSize });
    at += compressedSize;
  }
  await source.close();
  return places;
}

async function inflateAndHash(file: string, places: readonly Place[]): Promise<void> {
  const handle = await open(file, 'r');
  for (const { at, length } of places) {
    const bytes = Buffer.allocUnsafe(length);
    await handle.read(bytes, 0, length, at);
    createHash('sha256').update(inflateRawSync(bytes)).digest('hex');
  }
  await handle.close();
}

async function verify(file: string): Promise<void> {
  const source = await fileSource(file);
  const { ok, problems } = await verifyPackage(source);
  await source.close();
  if (!ok) throw new Error(problems.join('\n'));
}

/** How much a process of its own grows while it verifies, in MiB. */
async function growth(file: string): Promise<number> {
  const child = join(import.meta.dirname, '..', '..', 'test', 'archive', 'children', 'verify-file.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [child, file], { maxBuffer: 16 * MIB });
  const { before, peak } = JSON.parse(stdout) as { before: number; peak: number };
  return (peak - before) / 1024;
}

/** Verifying a package of a hundred megabytes beside inflating and hashing the same bytes with Node's own means. */
export const archiveSuite: BenchSuite = {
  name: 'archive',
  async run(folder) {
    const [small, large] = [join(folder, 'small.zip'), join(folder, 'large.zip')];
    await writePackage(small, 10);
    await writePackage(large, 100);
    const places = await placesOf(large);
    const count = (job: () => Promise<void>) => () => job().then(() => 1);
    const contenders = [
      { name: 'verify', run: count(() => verify(large)) },
      { name: 'inflate', run: count(() => inflateAndHash(large, places)) },
    ];
    const times = await interleave(contenders, ROUNDS, { warmUp: 1 });
    const [ours, theirs] = [times.get('verify')?.medianUs ?? 0, times.get('inflate')?.medianUs ?? 0];
    const [smallGrowth, largeGrowth] = [await growth(small), await growth(large)];
    const seconds = (us: number) => `${(us / 1e6).toFixed(2)} s`;
    return {
      rows: [
        { what: 'verify, 100 MB', value: seconds(ours), note: 'archive and files hashed, CRC and structure checked' },
        { what: 'inflate and hash', value: seconds(theirs), note: 'the same files, with zlib and crypto alone' },
        { what: 'as fast as', value: (theirs / ours).toFixed(2), note: 'must be at least 0.7' },
        { what: 'memory, 10 MB', value: `${smallGrowth.toFixed(0)} MiB`, note: 'growth of the process' },
        { what: 'memory, 100 MB', value: `${largeGrowth.toFixed(0)} MiB`, note: 'must not grow with the package' },
      ],
      figures: {
        ratios: {
          archive_verify: theirs / ours,
          archive_memory_growth: Math.max(1, largeGrowth) / Math.max(1, smallGrowth),
        },
      },
    };
  },
};
