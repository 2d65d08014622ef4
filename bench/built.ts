import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const SRC = join(ROOT, 'src');
const PLACE = join(ROOT, 'node_modules', '.cache', 'bench');

let built = false;

/** Builds the package as it is installed; once a process. */
function build(): void {
  if (built) return;
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts', 'build.ts')], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the build failed: ${stderr}`);
  built = true;
}

/**
 * A bench program as plain JavaScript that runs on the built package, and where that is. Memory is measured so: a
 * process that runs the sources also holds the compiler that strips their types, which nobody who installs it has.
 */
export function builtProgram(file: string): string {
  build();
  mkdirSync(PLACE, { recursive: true });
  return written(file, new Set());
}

const IMPORT = /(from |import\()'(\.[^']+)\.ts'/g;

function written(file: string, done: Set<string>): string {
  const target = join(PLACE, `${basename(file, '.ts')}.js`);
  if (done.has(file)) return target;
  done.add(file);
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
  const rewritten = code.replace(IMPORT, (_, before: string, path: string) => {
    const imported = `${resolve(dirname(file), path)}.ts`;
    const inside = relative(SRC, imported);
    const to = inside.startsWith('..') ? written(imported, done) : join(DIST, inside.replace(/\.ts$/, '.js'));
    return `${before}'${pathToFileURL(to).href}'`;
  });
  writeFileSync(target, rewritten);
  return target;
}
