import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { sealManifest, writeArchive } from '../../src/archive/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { type Piece, zip } from './support/zip-builder.ts';

const VERIFY = join(import.meta.dirname, 'children', 'verify-file.ts');
/** What reading may cost beyond the process itself, and beyond the file, which is never held. */
const ROOM_KIB = 64 * 1024;
const MIB = 1024 * 1024;

interface Measured {
  readonly outcome: { readonly ok?: boolean; readonly problems?: readonly string[]; readonly code?: string };
  readonly grownKib: number;
}

/** Verifies in a process of its own whose heap is small, too. */
async function measure(file: string): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-old-space-size=64', VERIFY, file]);
  const { outcome, before, peak } = JSON.parse(stdout) as {
    outcome: Measured['outcome'];
    before: number;
    peak: number;
  };
  return { outcome, grownKib: peak - before };
}

/** Text that deflates about as well as prose does. */
function prose(seed: number, bytes: number): Buffer {
  const parts: string[] = [];
  let state = seed;
  let length = 0;
  while (length < bytes) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const word = (state >>> 8).toString(36).slice(0, 3 + (state >>> 29));
    parts.push(word);
    length += word.length + 1;
  }
  return Buffer.from(parts.join(' ')).subarray(0, bytes);
}

async function writePackage(file: string, members: number, bytes: number): Promise<void> {
  const contents = Array.from({ length: members }, (_, i) => prose(i + 1, bytes));
  const files = contents.map((content, i) => ({ path: `workspace/blobs/${i}`, content }));
  const rows = files.map(({ path, content }) => {
    return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') };
  });
  const manifest = { path: 'manifest.json', content: Buffer.from(sealManifest(rows).text) };
  const parts = [...files, manifest].map(({ path, content }) => ({ name: path, content: () => [content] }));
  await pipeline(Readable.from(writeArchive(parts)), createWriteStream(file));
}

check('verifying a package six times as large takes no more memory, and never 64 MiB', async (t) => {
  const folder = await temporaryFolder(t);
  for (const [members, bytes] of [
    [1, 4 * MIB],
    [6, 4 * MIB],
  ] as const) {
    const file = join(folder, `${members}.zip`);
    await writePackage(file, members, bytes);
    const { outcome, grownKib } = await measure(file);
    assert.equal(outcome.ok, true);
    assert.ok(grownKib < ROOM_KIB, `${members} members: ${grownKib} KiB`);
  }
});

const nothing = Buffer.alloc(16 * MIB);
const zeros = deflateRawSync(nothing);
const liar = (size: number): Partial<Piece> => ({ local: { size }, central: { size } });
/** Declares just little enough to pass the bound on growth, and would give sixteen mebibytes. */
const small = { content: nothing, data: zeros, ...liar(zeros.length * 200) };
const emptyBlocks = (count: number): Buffer => Buffer.alloc(5 * count, Buffer.from([0, 0, 0, 0xff, 0xff]));

const BOMBS: readonly (readonly [what: string, bytes: () => Buffer, code: string | RegExp])[] = [
  ['a member that gives more than it declares', () => bomb([small]), /longer than it declares/],
  ['many members that give more than they declare', () => bomb(Array.from({ length: 60 }, () => small)), /longer than/],
  ['a member that declares what it gives', () => bomb([{ content: nothing }]), 'ARCHIVE_RATIO'],
  ['archives in archives in archives, which are never opened', nested, /^hash mismatch: bomb-0$/],
  ['many members that share one stream', shared, 'ARCHIVE_OVERLAP'],
  ['a directory that announces four thousand million members', millions, 'ARCHIVE_TOO_MANY_MEMBERS'],
  ['a directory of gigabytes', () => zip([{}], { end: { directorySize: 0xfffffff0 } }), 'ARCHIVE_DIRECTORY_TOO_LARGE'],
  [
    'millions of empty blocks',
    () => bomb([{ content: 'x', data: Buffer.concat([emptyBlocks(2_000_000), deflateRawSync('x')]) }]),
    'ARCHIVE_PADDED',
  ],
  [
    'a manifest of more than eight mebibytes',
    () => zip([{ name: 'manifest.json', method: 0, content: Buffer.alloc(9 * MIB, ' ') }]),
    'ARCHIVE_MEMBER_TOO_LARGE',
  ],
  [
    'a manifest of a million brackets',
    () => zip([{ name: 'manifest.json', method: 0, content: '['.repeat(1e6) }]),
    'PACKAGE_MANIFEST_INVALID',
  ],
  [
    'a manifest of a million rows',
    () => zip([{ name: 'manifest.json', method: 0, content: `{"files":[${'{},'.repeat(1e6)}{}]}` }]),
    'PACKAGE_MANIFEST_INVALID',
  ],
];

/** The members with a manifest that lists them, so that each is read. */
function bomb(pieces: readonly Piece[]): Buffer {
  const named = pieces.map((piece, i): Piece => ({ ...piece, name: `bomb-${i}` }));
  const rows = named.map(({ name }) => ({ path: String(name), size: 1, sha256: '0'.repeat(64) }));
  return zip([...named, { name: 'manifest.json', content: sealManifest(rows).text }]);
}

function nested(): Buffer {
  let inner = zip([{ name: 'bomb', content: nothing }]);
  for (let depth = 0; depth < 3; depth += 1)
    inner = zip(Array.from({ length: 8 }, (_, i): Piece => ({ name: `${depth}-${i}.zip`, content: inner })));
  return bomb([{ method: 0, content: Buffer.concat(Array.from({ length: 200 }, () => inner)) }]);
}

function shared(): Buffer {
  const first: Piece = { name: 'b-0', content: nothing, data: zeros, ...liar(zeros.length * 10) };
  const others = Array.from({ length: 100 }, (_, i): Piece => {
    return { ...first, name: `b-${i + 1}`, centralOnly: true, central: { size: zeros.length * 10, localOffset: 0 } };
  });
  return zip([first, ...others]);
}

function millions(): Buffer {
  return zip([{}], {
    end: { entries: 0xffff, entriesOnDisk: 0xffff },
    zip64: { entries: 4_000_000_000n, entriesOnDisk: 4_000_000_000n },
  });
}

for (const [what, make, expected] of BOMBS)
  check(`a bomb ends within its bounds: ${what}`, async (t) => {
    const file = join(await temporaryFolder(t), 'bomb.zip');
    writeFileSync(file, make());
    const { outcome, grownKib } = await measure(file);
    if (typeof expected === 'string') assert.equal(outcome.code, expected);
    else assert.match(outcome.problems?.join('\n') ?? '', expected);
    assert.ok(grownKib < ROOM_KIB, `${grownKib} KiB`);
  });
