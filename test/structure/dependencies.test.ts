import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, check } from '../support/index.ts';
import { ROOT } from './repository-files.ts';
import { installedWith, type LockFile } from './rules/dependencies.ts';

const MOST_PACKAGES = 30;
const MOST_BYTES = 25_000_000;

const lock = (JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: LockFile }).packages;

function sizeOf(path: string): number {
  const facts = lstatSync(path);
  if (!facts.isDirectory()) return facts.size;
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

check('an installation brings at most 30 packages and 25 MB, and none runs a script', () => {
  const packages = installedWith(lock);
  assert.ok(packages.length >= 5, 'the lock file was read');
  assert.ok(packages.length <= MOST_PACKAGES, packages.join('\n'));
  const bytes = packages.reduce((sum, folder) => sum + sizeOf(join(ROOT, folder)), 0);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
  assert.deepEqual(
    packages.filter((folder) => lock[folder]?.hasInstallScript === true),
    [],
  );
});

check('every package of the lock file is pinned by its digest, not by a place', () => {
  const places = Object.entries(lock).filter(([folder]) => folder.includes('node_modules/'));
  assert.deepEqual(
    places.filter(([, entry]) => entry.link !== true && entry.resolved !== undefined).map(([folder]) => folder),
    [],
  );
});

check('what an installation brings is found as Node.js finds it', () => {
  const sample: LockFile = {
    '': { dependencies: { a: '1', b: '1' }, optionalDependencies: { o: '1' } },
    'node_modules/a': { dependencies: { c: '2' } },
    'node_modules/a/node_modules/c': { dependencies: { d: '1' } },
    'node_modules/b': { dependencies: { c: '1' } },
    'node_modules/c': {},
    'node_modules/d': {},
    'node_modules/o': {},
    'node_modules/dev': {},
  };
  assert.deepEqual(installedWith(sample), [
    'node_modules/a',
    'node_modules/a/node_modules/c',
    'node_modules/b',
    'node_modules/c',
    'node_modules/d',
    'node_modules/o',
  ]);
});
