import fc from 'fast-check';
import { bytesSource, openArchive, writeArchive } from '../../src/archive/index.ts';
import { fuzz, judge } from '../archive/support/fuzz.ts';
import { readByYauzl } from '../archive/support/other-reader.ts';
import { type Files, filesOf, oracle, pack } from '../archive/support/packages.ts';
import { readAll } from '../archive/support/read-all.ts';
import { assert, check } from '../support/index.ts';

const SEED = 20_260;

check(
  `a thousand archives put together wrongly (seed ${SEED}): none crashes the reader, nothing changed is accepted`,
  async () => {
    const { outcomes, faults } = await fuzz(SEED, 1000, await filesOf('a-minimal'));
    assert.deepEqual(faults, []);
    assert.ok((outcomes.get('accepted') ?? 0) > 50, 'some archives are left alone');
    assert.ok(outcomes.size > 20, `many kinds of refusal are met: ${[...outcomes.keys()].join(' ')}`);
  },
);

/** Real packages, small enough to be read a few hundred times. */
const NAMES = ['a-minimal', 'd2-deliveries', 'e-native-tools', 'f2-odd-paths'] as const;
const packages = new Map<string, { bytes: Buffer; files: Files }>();
for (const name of NAMES) packages.set(name, { bytes: oracle(name), files: await filesOf(name) });

async function mustNotBeFooled(name: string, bytes: Buffer): Promise<void> {
  const { fault } = await judge(bytes, (packages.get(name) as { files: Files }).files);
  assert.equal(fault, undefined);
}

const somePackage = fc.constantFrom(...NAMES);

check('no byte of a real package can be changed so that its content is another and it is accepted', async () => {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    bits: fc.integer({ min: 1, max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(somePackage, fc.array(edit, { minLength: 1, maxLength: 4 }), async (name, edits) => {
      const bytes = Buffer.from((packages.get(name) as { bytes: Buffer }).bytes);
      for (const { at, bits } of edits) {
        const place = Math.floor(at * bytes.length);
        bytes[place] = (bytes[place] as number) ^ bits;
      }
      await mustNotBeFooled(name, bytes);
    }),
    { numRuns: 300 },
  );
});

check('no record of a real package can be removed, repeated, cut or moved so that it is accepted', async () => {
  await fc.assert(
    fc.asyncProperty(
      somePackage,
      fc.nat(),
      fc.nat(),
      fc.nat({ max: 400 }),
      fc.constantFrom('cut', 'repeat', 'move'),
      async (name, from, to, length, how) => {
        const { bytes } = packages.get(name) as { bytes: Buffer };
        const start = from % bytes.length;
        const piece = bytes.subarray(start, start + length + 1);
        const rest = Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + length + 1)]);
        const base = how === 'repeat' ? bytes : rest;
        const target = to % (base.length + 1);
        const changed = how === 'cut' ? rest : Buffer.concat([base.subarray(0, target), piece, base.subarray(target)]);
        await mustNotBeFooled(name, changed);
      },
    ),
    { numRuns: 200 },
  );
});

check(
  'a file of a real package that is edited, swapped or renamed is found, though its archive is made anew',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        somePackage,
        fc.nat(),
        fc.nat(),
        fc.constantFrom('edit', 'swap', 'rename', 'drop', 'add'),
        async (name, a, b, how) => {
          const files = new Map((packages.get(name) as { files: Files }).files);
          const paths = [...files.keys()].filter((path) => path !== 'manifest.json');
          const first = paths[a % paths.length] as string;
          const second = paths[b % paths.length] as string;
          const content = files.get(first) as Buffer;
          if (how === 'edit') files.set(first, Buffer.concat([content, Buffer.from(' ')]));
          if (how === 'swap') files.set(first, files.get(second) as Buffer).set(second, content);
          if (how === 'rename' || how === 'drop') files.delete(first);
          if (how === 'rename') files.set(`${first}-`, content);
          if (how === 'add') files.set('another.json', content);
          await mustNotBeFooled(name, pack(files));
        },
      ),
      { numRuns: 100 },
    );
  },
);

const fileName = fc
  .array(fc.stringMatching(/^[a-z0-9_é日]{1,12}$/u), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.map((part) => `x${part}`).join('/'));
const contents = fc.dictionary(fileName, fc.uint8Array({ maxLength: 2000 }), { minKeys: 1, maxKeys: 8 });

async function written(members: Record<string, Uint8Array>): Promise<Buffer> {
  const parts = Object.entries(members).map(([name, content]) => ({ name, content: () => [content] }));
  const chunks: Buffer[] = [];
  for await (const chunk of writeArchive(parts)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

check('what the writer writes, this reader and another read back, and twice it is the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(contents, async (members) => {
      const names = Object.keys(members);
      fc.pre(names.every((name) => !names.some((other) => other.startsWith(`${name}/`))));
      const bytes = await written(members);
      const reversed = Object.fromEntries(Object.entries(members).reverse());
      assert.ok((await written(reversed)).equals(bytes));
      const [ours, theirs] = [await readAll(bytes), await readByYauzl(bytes)];
      assert.deepEqual([...ours.keys()].sort(), Object.keys(members).sort());
      for (const [name, content] of Object.entries(members)) {
        assert.deepEqual(ours.get(name), Buffer.from(content));
        assert.deepEqual(theirs.get(name), Buffer.from(content));
      }
    }),
    { numRuns: 60 },
  );
});

check('the members of an archive are counted and named as they stand', async () => {
  const archive = await openArchive(bytesSource(await written({ b: new Uint8Array(3), a: new Uint8Array(0) })));
  assert.deepEqual(
    archive.members.map(({ name, size, encrypted }) => [name, size, encrypted]),
    [
      ['a', 0, false],
      ['b', 3, false],
    ],
  );
});
