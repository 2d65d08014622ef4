import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { openFilesystem } from '../../../src/effects/index.ts';
import { assert, check } from '../../support/index.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const inside = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const target = fc.array(fc.constantFrom('a', 'b', 'c', '..', '.', 'ws', 'out'), { minLength: 1, maxLength: 5 });
const entry = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('folder' as const), at: inside }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('file' as const), at: inside }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('link' as const), at: inside, to: target }) },
);
const asked = fc.array(fc.constantFrom('a', 'b', 'c', 'd', '..', '.', 'ws'), { minLength: 1, maxLength: 6 });

function build(folder: string, entries: readonly (typeof entry extends fc.Arbitrary<infer E> ? E : never)[]): string {
  const ws = join(folder, 'ws');
  for (const place of ['ws', 'out/a', 'out/ws']) mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, 'out', 'b'), '');
  for (const one of entries) {
    try {
      const path = join(ws, one.at);
      mkdirSync(dirname(path), { recursive: true });
      if (one.kind === 'folder') mkdirSync(path);
      else if (one.kind === 'file') writeFileSync(path, '', { flag: 'wx' });
      else symlinkSync(one.to.join('/'), path);
    } catch {
      // Something stands there already: the tree is what it is.
    }
  }
  return ws;
}

check('whatever links a tree has, what is accepted is where the kernel says, and never outside the root', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-confine-')));
  let accepted = 0;
  let refused = 0;
  try {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 8 }),
        fc.array(asked, { minLength: 1, maxLength: 6 }),
        (entries, texts) => {
          const here = mkdtempSync(join(folder, 't'));
          const ws = build(here, entries);
          const filesystem = openFilesystem();
          const root = filesystem.seal(ws);
          for (const text of texts.map((parts) => parts.join('/'))) {
            const [path, code] = attempt(() => filesystem.resolve(root, text, { allowMissing: true }).location.at(-1));
            const real = attempt(() => realpathSync.native(`${ws}/${text}`))[0];
            if (path === undefined) refused += 1;
            else accepted += 1;
            if (path !== undefined) assert.ok(path === ws || path.startsWith(`${ws}/`), text);
            if (path !== undefined && real !== undefined) assert.equal(path, real, text);
            if (code === 'RESOURCE_OUTSIDE_ROOT' && real !== undefined)
              assert.ok(!`${real}/`.startsWith(`${ws}/`), text);
            if (path !== undefined && real === undefined)
              assert.equal(existsSync(path) && realpathSync(path) === path, existsSync(path));
          }
          rmSync(here, { recursive: true });
        },
      ),
      { numRuns: 300 },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  assert.ok(accepted > 100 && refused > 100, `${accepted} accepted, ${refused} refused: both happen`);
});

function attempt(call: () => string | undefined): [path: string | undefined, code: unknown] {
  try {
    return [call(), undefined];
  } catch (error) {
    return [undefined, (error as { code: unknown }).code];
  }
}
