import { bytesSource, openArchive } from '../../src/archive/index.ts';
import { ERROR_TABLE, HoldfastError } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { HOSTILE } from './support/hostile-archives.ts';
import { readAll } from './support/read-all.ts';
import { extraField, type Piece, u64, zip } from './support/zip-builder.ts';

for (const { code, what, bytes } of HOSTILE)
  check(`refused with ${code}: ${what}`, async () => {
    await assert.rejects(readAll(bytes), (error) => {
      assert.ok(error instanceof HoldfastError, String(error));
      assert.equal(error.code, code, error.message);
      return true;
    });
  });

/** Proved where they arise: by a file on disk, a clock, or a question for a member that is not there. */
const ELSEWHERE = [
  'ARCHIVE_UNREADABLE',
  'ARCHIVE_CHANGED',
  'ARCHIVE_TOO_SLOW',
  'ARCHIVE_NO_MEMBER',
  'ARCHIVE_TOO_LARGE',
];

check('every code of an archive has an archive that is refused with it', () => {
  const proved = new Set<string>([...HOSTILE.map(({ code }) => code), ...ELSEWHERE]);
  const codes = Object.keys(ERROR_TABLE).filter((code) => code.startsWith('ARCHIVE_'));
  assert.deepEqual(
    codes.filter((code) => !proved.has(code)),
    [],
  );
});

const sentinel = 0xffffffff;
const wide = (...values: number[]) => extraField(1, Buffer.concat(values.map((value) => u64(BigInt(value)))));
const stored = { name: 'a', method: 0, content: 'hello' } as const;
const ORDINARY: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['stored and deflated members', zip([stored, { name: 'b/c' }])],
  ['an empty member', zip([{ method: 0, content: '' }, { content: '' }])],
  ['a name beyond ASCII that says so', zip([{ name: 'naïve/日本.txt', flags: 0x800 }])],
  ['a signed descriptor', zip([{ descriptor: 'signed' }, stored])],
  ['a bare descriptor', zip([{ descriptor: 'bare' }, { name: 'b', descriptor: 'bare' }])],
  ['wide descriptors', zip([{ descriptor: 'signed64' }, { name: 'b', descriptor: 'bare64' }])],
  [
    'a descriptor whose sizes also stand before',
    zip([{ method: 0, content: 'abc', descriptor: 'signed', local: { compressedSize: 3, size: 3 } }]),
  ],
  [
    'times in extra fields',
    zip([{ localExtra: extraField(0x5455, Buffer.alloc(9)), centralExtra: extraField(0x5455, Buffer.alloc(5)) }]),
  ],
  ['owners in extra fields', zip([{ centralExtra: extraField(0x7875, Buffer.alloc(11)) }])],
  ['mode 0 and made on DOS', zip([{ externalAttributes: 0, central: { madeBy: 20 } }])],
  ['an archive attribute of DOS', zip([{ externalAttributes: 0x20 }])],
  ['ZIP64 end records', zip([stored], { zip64: 'plain' })],
  [
    'ZIP64 end records that hold all values',
    zip([stored], {
      zip64: 'plain',
      end: { entries: 0xffff, entriesOnDisk: 0xffff, directorySize: sentinel, directoryOffset: sentinel },
    }),
  ],
  [
    'ZIP64 sizes in both headers',
    zip([
      {
        ...stored,
        central: { size: sentinel, compressedSize: sentinel, localOffset: sentinel },
        centralExtra: wide(5, 5, 0),
        local: { size: sentinel, compressedSize: sentinel },
        localExtra: wide(5, 5),
      },
    ]),
  ],
  ['a ZIP as a stored member', zip([{ method: 0, content: zip([stored]) }])],
  ['flags that say how hard the encoder tried', zip([{ flags: 6 }])],
];

for (const [what, bytes] of ORDINARY)
  check(`accepted: ${what}`, async () => {
    const contents = await readAll(bytes);
    assert.ok(contents.size > 0);
  });

check('each bound holds at its edge', async () => {
  const pieces: Piece[] = [
    { name: 'ab', method: 0, content: 'x'.repeat(100) },
    { name: 'cd', content: '' },
  ];
  const bytes = zip(pieces);
  const directory = bytes.length - 22 - bytes.readUInt32LE(bytes.length - 6);
  const edges = {
    archiveBytes: [bytes.length, 'ARCHIVE_TOO_LARGE'],
    totalBytes: [100, 'ARCHIVE_TOTAL_TOO_LARGE'],
    memberBytes: [100, 'ARCHIVE_MEMBER_TOO_LARGE'],
    members: [2, 'ARCHIVE_TOO_MANY_MEMBERS'],
    directoryBytes: [directory, 'ARCHIVE_DIRECTORY_TOO_LARGE'],
    ratio: [1, 'ARCHIVE_RATIO'],
    nameBytes: [2, 'ARCHIVE_NAME_LENGTH'],
    namePartBytes: [2, 'ARCHIVE_NAME_LENGTH'],
  } as const;
  for (const [name, [edge, code]] of Object.entries(edges)) {
    await openArchive(bytesSource(bytes), { limits: { [name]: edge } });
    const below = name === 'ratio' ? 0.9 : edge - 1;
    await assert.rejects(openArchive(bytesSource(bytes), { limits: { [name]: below } }), { code }, name);
  }
});

check('a reading that takes too long ends, and so does one that is cancelled', async () => {
  let now = 0;
  const clock = { nowMs: () => (now += 10) };
  await assert.rejects(readAll(zip([stored]), { clock, limits: { readMs: 5 } }), { code: 'ARCHIVE_TOO_SLOW' });
  await assert.rejects(readAll(zip([stored]), { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
});

check('a member that is asked for with a smaller bound, or is not there, is refused', async () => {
  const archive = await openArchive(bytesSource(zip([stored])));
  assert.equal((await archive.bytes('a', 5)).toString(), 'hello');
  await assert.rejects(archive.bytes('a', 4), { code: 'ARCHIVE_MEMBER_TOO_LARGE' });
  await assert.rejects(archive.bytes('b', 4), { code: 'ARCHIVE_NO_MEMBER' });
});
