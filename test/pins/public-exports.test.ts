import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { assert, check } from '../support/index.ts';
import { readRepository } from '../structure/source-tree.ts';

const root = join(import.meta.dirname, '..', '..');
const repository = readRepository();
after(() => repository.close());

type Entry = string | { readonly default: string };
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, Entry> };
const entries = Object.entries(exports).filter(([entry]) => entry !== './package.json');

/** `.` is pinned in `index.json`, `./store/sqlite` in `store-sqlite.json`. */
function pinOf(entry: string): string {
  const name = entry === '.' ? 'index' : entry.slice(2).replaceAll('/', '-');
  return join(import.meta.dirname, 'public-exports', `${name}.json`);
}

/** What a module exports, types included. */
function exportsOf(target: Entry): string[] {
  const built = typeof target === 'string' ? target : target.default;
  const path = built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');
  const file = repository.files.find((one) => one.path === path);
  const symbol = file === undefined ? undefined : repository.checker.getSymbolAtLocation(file.ast);
  if (symbol === undefined) throw new Error(`${path} is no module`);
  return repository.checker.getExportsOfModule(symbol).map(({ name }) => name);
}

check('each entry exports what its pin says, types included, and nothing else', () => {
  for (const [entry, target] of entries) {
    assert.ok(existsSync(pinOf(entry)), `${entry} has no pin`);
    const pinned = JSON.parse(readFileSync(pinOf(entry), 'utf8')) as string[];
    assert.deepEqual(exportsOf(target).toSorted(), pinned.toSorted(), entry);
  }
});

check('every entry but package.json has declarations beside its code, and the rest of the package is closed', () => {
  for (const [entry, target] of entries) {
    const types = typeof target === 'string' ? undefined : (target as { types?: string }).types;
    assert.equal(types, (typeof target === 'string' ? target : target.default).replace(/\.js$/, '.d.ts'), entry);
    assert.doesNotMatch(entry, /\*/);
  }
});
