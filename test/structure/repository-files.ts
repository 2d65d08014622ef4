import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
const UNTRACKED = new Set(['.git', 'node_modules', 'dist', 'reports', '.holdfast']);

function* walk(folder: string): Generator<string> {
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (UNTRACKED.has(entry.name) || entry.name.endsWith('.tgz')) continue;
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

/** The repository's own files, as paths from its root: all but what .gitignore leaves out. */
export function repositoryPaths(): string[] {
  return [...walk('')];
}

/** A file's text; undefined for one that is no text. */
export function textOf(path: string): string | undefined {
  const bytes = readFileSync(join(ROOT, path));
  return bytes.includes(0) ? undefined : bytes.toString('utf8');
}

export function* repositoryTexts(): Generator<{ readonly path: string; readonly text: string }> {
  for (const path of repositoryPaths()) {
    const text = textOf(path);
    if (text !== undefined) yield { path, text };
  }
}
