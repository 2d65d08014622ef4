import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import { installedWith, type LockFile } from '../structure/rules/dependencies.ts';

const LONGEST_MS = 180_000;

export interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

export const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/** The entries that a program can import: `holdfast`, `holdfast/store/sqlite`, … */
export const entries = Object.keys(manifest.exports)
  .filter((entry) => entry !== './package.json')
  .map((entry) => entry.replace(/^\./, 'holdfast'));

function run(cwd: string, program: string, ...args: string[]) {
  return spawnSync(program, args, { cwd, encoding: 'utf8', input: '', timeout: LONGEST_MS });
}

/** Runs Node.js in a folder; its output, or an error with what it said. */
export function node(cwd: string, ...args: string[]): string {
  const result = run(cwd, process.execPath, ...args);
  if (result.status !== 0) throw new Error(`node ${args.join(' ')}\n${result.stdout}${result.stderr}`);
  return result.stdout;
}

/** Runs Node.js in a folder; its exit code and what it said. */
export function exitOf(cwd: string, ...args: string[]): { readonly exit: number | null; readonly text: string } {
  const result = run(cwd, process.execPath, ...args);
  return { exit: result.status, text: `${result.stdout}${result.stderr}` };
}

/** The compiler, run on a folder's own tsconfig.json. */
export function compile(cwd: string, ...args: string[]): void {
  const packageFile = createRequire(import.meta.url).resolve('typescript/package.json');
  node(cwd, join(dirname(packageFile), 'bin', 'tsc'), ...args);
}

/** Builds and packs in `home`, without touching the checkout; gives the archive's path. */
export function pack(home: string): string {
  const staging = join(home, 'staging');
  mkdirSync(staging);
  for (const path of ['package.json', ...manifest.files.filter((file) => file !== 'dist')])
    cpSync(join(ROOT, path), join(staging, path), { recursive: true });
  node(ROOT, join(ROOT, 'scripts', 'build.ts'), '--out', join(staging, 'dist'));
  const packed = run(staging, 'npm', 'pack', '--ignore-scripts', '--pack-destination', home);
  const archive = readdirSync(home).find((name) => name.endsWith('.tgz'));
  if (packed.status !== 0 || archive === undefined) throw new Error(`npm pack\n${packed.stderr}`);
  return join(home, archive);
}

/**
 * Installs the archive in a new empty package. Where no registry answers, the archive is unpacked and the packages it
 * needs are linked from this checkout.
 */
export function install(home: string, archive: string): string {
  const consumer = join(home, 'consumer');
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--fetch-retries=0'];
  if (run(consumer, 'npm', 'install', ...options, archive).status !== 0) installByHand(consumer, archive);
  return consumer;
}

function installByHand(consumer: string, archive: string): void {
  const place = join(consumer, 'node_modules', 'holdfast');
  mkdirSync(place, { recursive: true });
  const unpacked = run(place, 'tar', '-xzf', archive, '--strip-components=1');
  if (unpacked.status !== 0) throw new Error(`tar\n${unpacked.stderr}`);
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: LockFile };
  for (const folder of installedWith(packages).filter((one) => one.lastIndexOf('node_modules/') === 0)) {
    mkdirSync(dirname(join(consumer, folder)), { recursive: true });
    symlinkSync(join(ROOT, folder), join(consumer, folder));
  }
}
