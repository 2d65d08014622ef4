import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeArchive, writeArchiveFile } from '../../src/archive/index.ts';
import { nodeFileSystem } from '../../src/core/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { dice } from './support/fuzz.ts';
import { readAll } from './support/read-all.ts';

type Content = Iterable<Uint8Array>;

async function written(members: Record<string, () => Content>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const parts = Object.entries(members).map(([name, content]) => ({ name, content }));
  for await (const chunk of writeArchive(parts)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const of = (text: string) => () => [Buffer.from(text)];

check(
  'the records say what the package contract fixes: one time, one mode, no flags, no extras, sizes first',
  async () => {
    const bytes = await written({ b: of('hello hello hello'), a: of('') });
    const directory = bytes.readUInt32LE(bytes.length - 6);
    assert.equal(bytes.readUInt32LE(0), 0x04034b50);
    assert.equal(bytes.readUInt16LE(4), 20, 'version needed');
    assert.equal(bytes.readUInt16LE(6), 0, 'flags');
    assert.equal(bytes.readUInt16LE(10), 0, 'midnight');
    assert.equal(bytes.readUInt16LE(12), 33, '1980-01-01');
    assert.equal(bytes.readUInt16LE(28), 0, 'no extra field');
    assert.equal(bytes.subarray(30, 31).toString(), 'a', 'code point order');
    assert.equal(bytes.readUInt16LE(directory + 4), (3 << 8) | 20, 'made by Unix 2.0');
    assert.equal(bytes.readUInt32LE(directory + 38), 0o100600 * 0x10000, 'a regular file, 0600');
    assert.equal(bytes.readUInt16LE(directory + 32), 0, 'no comment');
    assert.equal(bytes.readUInt16LE(bytes.length - 2), 0, 'no archive comment');
  },
);

check('names are in code point order, not in that of UTF-16 units', async () => {
  const contents = await readAll(await written({ '\u{1f600}': of('a'), '\uff5e': of('b'), z: of('c') }));
  assert.deepEqual([...contents.keys()], ['z', '\uff5e', '\u{1f600}']);
});

check('what would shrink more than a hundred times is stored, so that every reader accepts it', async () => {
  const bytes = await written({ zeros: () => [Buffer.alloc(3_000_000)] });
  assert.equal(bytes.readUInt16LE(8), 0);
  assert.equal((await readAll(bytes)).get('zeros')?.length, 3_000_000);
});

check('a member too large to keep compressed is read twice, and refused when it is not the same twice', async () => {
  const random = dice(7);
  const noise = Buffer.from(Array.from({ length: 5_000_000 }, () => random.below(256)));
  assert.ok((await readAll(await written({ noise: () => [noise] }))).get('noise')?.equals(noise));
  let times = 0;
  const fickle = () => [noise, Buffer.from([(times += 1)])];
  await assert.rejects(written({ fickle }), { code: 'ARCHIVE_CHANGED' });
});

check(
  'a file gets the same bytes as a stream, each content read once; only what is stored is read again',
  async (t) => {
    const random = dice(11);
    const noise = Buffer.from(Array.from({ length: 5_000_000 }, () => random.below(256)));
    let reads = 0;
    const members = {
      noise: () => {
        reads += 1;
        return [noise.subarray(0, 7), noise.subarray(7)];
      },
      zeros: () => [Buffer.alloc(3_000_000)],
      é: of('text'),
      empty: of(''),
    };
    const streamed = await written(members);
    reads = 0;
    const path = join(await temporaryFolder(t), 'a.zip');
    const parts = Object.entries(members).map(([name, content]) => ({ name, content }));
    const { size } = await writeArchiveFile(nodeFileSystem, path, parts);
    assert.equal(reads, 1);
    assert.equal(size, streamed.length);
    assert.ok(readFileSync(path).equals(streamed));
    let times = 0;
    const fickle = [{ name: 'a', content: () => [Buffer.alloc(100_000 + (times += 1))] }];
    const again = `${path}.2`;
    await assert.rejects(writeArchiveFile(nodeFileSystem, again, fickle), { code: 'ARCHIVE_CHANGED' });
  },
);

check('the writer refuses what the reader would refuse', async () => {
  await assert.rejects(written({}), { code: 'ARCHIVE_EMPTY' });
  await assert.rejects(written({ '../x': of('a') }), { code: 'ARCHIVE_NAME_OUTSIDE' });
  await assert.rejects(written({ a: of('a'), A: of('a') }), { code: 'ARCHIVE_NAME_COLLISION' });
  const many = Object.fromEntries(Array.from({ length: 4097 }, (_, i) => [`m${i}`, of('')]));
  await assert.rejects(written(many), { code: 'ARCHIVE_TOO_MANY_MEMBERS' });
  const half = Buffer.alloc(33 * 1024 * 1024);
  await assert.rejects(written({ big: () => [half, half] }), { code: 'ARCHIVE_MEMBER_TOO_LARGE' });
});

check(
  'what fails while other members are deflated ahead reaches the caller as it is, and leaves nothing at work',
  async (t) => {
    const folder = await temporaryFolder(t);
    const error = new Error('the source failed');
    const random = dice(3);
    const noise = Buffer.from(Array.from({ length: 100_000 }, () => random.below(256)));
    let open = 0;
    async function* source(chunks: number, fails: boolean): AsyncGenerator<Uint8Array> {
      open += 1;
      try {
        for (let i = 0; i < chunks; i += 1) yield noise;
        if (fails) throw error;
      } finally {
        open -= 1;
      }
    }
    for (const failing of [0, 1, 7])
      for (const chunks of [1, 40]) {
        const parts = Array.from({ length: 8 }, (_, i) => ({
          name: `m${i}`,
          content: () => source(chunks, i === failing),
        }));
        const path = join(folder, `${failing}-${chunks}.zip`);
        await assert.rejects(writeArchiveFile(nodeFileSystem, path, parts), error);
        assert.equal(open, 0);
      }
  },
);

check('an error of a member’s source reaches the caller as it is', async () => {
  const error = new Error('the source failed');
  const failing = (): Content => {
    throw error;
  };
  await assert.rejects(written({ failing }), error);
});
