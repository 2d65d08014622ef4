import fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { canonicalJson, systemClock } from '../../src/core/index.ts';
import { readTreeDocument, treeDocument, treeIdOf, WorkspaceStore } from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { openSessionWorld } from '../support/session-world.ts';

/** A workspace as plain pairs: path to content and rights. */
type Files = Record<string, string>;

const part = fc.constantFrom('a', 'b', 'c', '\u00e9', '\u{1f600}', 'z.txt');
const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const content = fc.constantFrom('', '1', 'two', 'x'.repeat(5000));
/** No path is another's folder. */
const workspace = fc.dictionary(path, content, { maxKeys: 8 }).map((files) => {
  const names = Object.keys(files).filter((name) => !Object.keys(files).some((other) => other.startsWith(`${name}/`)));
  return Object.fromEntries(names.map((name) => [name, files[name] ?? '']));
});

function write(directory: string, files: Files): void {
  fs.rmSync(directory, { recursive: true, force: true });
  fs.mkdirSync(directory);
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(join(directory, name, '..'), { recursive: true });
    fs.writeFileSync(join(directory, name), text);
  }
}

function read(directory: string): Files {
  const names = fs.readdirSync(directory, { recursive: true }) as string[];
  const regular = names.filter((name) => fs.lstatSync(join(directory, name)).isFile());
  return Object.fromEntries(regular.map((name) => [name, fs.readFileSync(join(directory, name), 'utf8')]));
}

check(
  'whatever a workspace becomes, each capture comes back as it was, and equal workspaces are one tree',
  async () => {
    await using world = await openSessionWorld();
    const base = join(world.file, '..');
    const directory = join(base, 'workspace');
    const { store, context } = world;
    const open = () => new WorkspaceStore({ store, folder: join(base, 'cas'), clock: systemClock, ids: context.ids });
    const workspaces = open();
    await fc.assert(
      fc.asyncProperty(
        fc.array(workspace, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(3)),
        async (states, back) => {
          const trees: string[] = [];
          for (const state of states) {
            write(directory, state);
            trees.push((await workspaces.capture(directory)).treeId);
          }
          for (const index of back) {
            const at = index % states.length;
            await workspaces.restore(trees[at] ?? '', directory, await open().capture(directory));
            assert.deepEqual(read(directory), states[at]);
            assert.equal((await workspaces.capture(directory)).treeId, trees[at]);
          }
          for (const [a, one] of states.entries())
            for (const [b, other] of states.entries()) {
              const changes = await workspaces.diff(trees[a] ?? '', trees[b] ?? '');
              const names = new Set([...Object.keys(one), ...Object.keys(other)]);
              const differ = [...names].filter((name) => one[name] !== other[name]);
              assert.deepEqual(changes.map((change) => change.path).toSorted(), differ.toSorted());
            }
        },
      ),
      { numRuns: 20 },
    );
  },
);

const name = fc.string({ unit: 'grapheme', minLength: 1 });
const blob = fc.stringMatching(/^[0-9a-f]{64}$/);
const entry = fc.record({ path: name, blob, size: fc.maxSafeNat(), mode: fc.nat(0o777) });
const tree = fc.record({
  entries: fc.array(entry),
  skipped: fc.array(fc.record({ path: name, reason: fc.constantFrom('excluded', 'a "reason"') })),
});

check('the document of a tree is the canonical JSON of its parts, whatever the names', () => {
  fc.assert(
    fc.property(tree, ({ entries, skipped }) => {
      assert.equal(treeDocument({ entries, skipped }), canonicalJson({ version: 1, entries, skipped }));
    }),
  );
  const empty = { entries: [], skipped: [] };
  assert.deepEqual(readTreeDocument(treeIdOf(empty), treeDocument(empty)), empty);
});
