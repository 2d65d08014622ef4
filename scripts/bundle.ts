// Bundles src/ into the files of dist/: one an entry of package.json, the command, the program of a thread, and what
// they share. Most of what a command takes to start is opening modules: these are some eighty files instead of eight
// hundred.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';

const root = join(import.meta.dirname, '..');

interface Manifest {
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

/** Run as programs, so that they are files of their own though no entry names them. */
const PROGRAMS = ['src/cli/index.ts', 'src/tools/json-schema/schema-worker.ts'];

const entrySources = Object.values(manifest.exports)
  .filter((entry) => typeof entry !== 'string')
  .map((entry) => entry.default.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts'));

/** Names stay as they are written: stacks are read by people. */
const COMMON: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: `node${manifest.engines.node.replace(/^>=/, '')}`,
  packages: 'external',
  keepNames: true,
  logLevel: 'warning',
};

/** Writes the JavaScript of the package into `folder`. */
export function bundle(folder: string): void {
  buildSync({
    ...COMMON,
    entryPoints: [...entrySources, ...PROGRAMS],
    outdir: folder,
    outbase: 'src',
    chunkNames: 'shared/[name]-[hash]',
    splitting: true,
  });
}

/** Writes the program at `source`, with all that it imports from this checkout, into the one file `target`. */
export function bundleProgram(source: string, target: string): void {
  buildSync({ ...COMMON, entryPoints: [source], outfile: target });
}
