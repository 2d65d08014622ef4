import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The version of this package, as its package.json says, wherever the build put this module. */
export function version(): string {
  const text = readFileSync(fileURLToPath(import.meta.resolve('holdfast/package.json')), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
