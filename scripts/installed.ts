// The package as it is installed, for tests and benches: built files start in half the time, and hold no compiler.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as Bundle from './bundle.ts';

const ROOT = join(import.meta.dirname, '..');
const PLACE = join(ROOT, 'reports', 'installed');
/** Besides src/, what an installed package consists of. */
const BESIDE = ['bin/holdfast.js', 'package.json', 'scripts/bundle.ts'];
const KEPT_MS = 3_600_000;

/** Loaded only where something must be built. */
const bundler = () => createRequire(import.meta.url)('./bundle.ts') as typeof Bundle;

/** Another text for every state of the files that make the package. */
function stateOfSources(): string {
  const hash = createHash('sha256');
  for (const path of [...globSync('src/**/*.ts', { cwd: ROOT }).sort(), ...BESIDE]) {
    const { mtimeMs, size } = statSync(join(ROOT, path));
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex').slice(0, 32);
}

function removeOld(): void {
  for (const name of readdirSync(PLACE)) {
    const folder = join(PLACE, name);
    try {
      if (Date.now() - statSync(folder).mtimeMs > KEPT_MS) rmSync(folder, { recursive: true, force: true });
    } catch {
      // Another run of tests removed it.
    }
  }
}

function built(): string {
  const folder = join(PLACE, stateOfSources());
  try {
    const now = new Date();
    utimesSync(folder, now, now);
    return folder;
  } catch {
    mkdirSync(PLACE, { recursive: true });
  }
  removeOld();
  const making = mkdtempSync(join(PLACE, 'making-'));
  for (const path of ['bin', 'package.json']) cpSync(join(ROOT, path), join(making, path), { recursive: true });
  bundler().bundle(join(making, 'dist'));
  try {
    renameSync(making, folder);
  } catch {
    // Another process was first, with the same.
    rmSync(making, { recursive: true, force: true });
  }
  return folder;
}

let place: string | undefined;

/** The folder of the package as it is installed, built from the sources as they are now. */
export function installedPackage(): string {
  place ??= built();
  return place;
}

/** The command as it is installed: the file that `holdfast` runs. */
export const installedCommand = (): string => join(installedPackage(), 'bin', 'holdfast.js');

/** A data folder in which nothing was done yet, made by the installed command; tests take copies of it. */
export function newData(): string {
  const folder = join(installedPackage(), 'new-data');
  if (existsSync(folder)) return folder;
  const making = mkdtempSync(join(installedPackage(), 'making-'));
  const made = spawnSync(process.execPath, [installedCommand(), 'migrate', '--data-dir', join(making, 'data')]);
  if (made.status !== 0) throw new Error(`holdfast migrate\n${String(made.stderr)}`);
  try {
    renameSync(join(making, 'data'), folder);
  } catch {
    // Another process was first, with the same.
  }
  rmSync(making, { recursive: true, force: true });
  return folder;
}

const programs = new Map<string, string>();

/** A program of this checkout with all that it imports as one file, beside the installed package. */
export function builtProgram(source: string): string {
  const known = programs.get(source);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(installedPackage(), 'program-'));
  const target = join(folder, 'program.js');
  bundler().bundleProgram(source, target);
  programs.set(source, target);
  return target;
}
