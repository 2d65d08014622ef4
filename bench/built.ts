import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundleProgram } from '../scripts/bundle.ts';

const PLACE = join(import.meta.dirname, '..', 'reports', 'bench');

/**
 * A bench program with all that it imports as plain JavaScript, built as the package is, and where that is. Memory is
 * measured so: a process that runs the sources also holds the compiler that strips their types, which nobody who
 * installs it has.
 */
export function builtProgram(file: string): string {
  mkdirSync(PLACE, { recursive: true });
  const target = join(PLACE, `${basename(file, '.ts')}.js`);
  bundleProgram(file, target);
  return target;
}
