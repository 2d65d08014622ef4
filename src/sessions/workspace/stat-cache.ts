import { join } from 'node:path';
import { type FileFacts, type FileSystem, readFileWithin, sha256Hex, writeAll } from '../../core/index.ts';
import type { SeenFile } from './model.ts';

interface Known extends SeenFile {
  readonly blob: string;
}

/** Times are kept to this: a change within it of the moment of looking would not be seen. */
const GRAIN_MS = 2000;
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * What was captured from a folder, by path, size and times, so that unchanged files need not be read again. Only a
 * help: one that is missing, or does not fit its digest, is as good as empty. A file that was changed within two seconds
 * of being looked at is not trusted, since its next change might carry the same time.
 */
export class StatCache {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #known: Map<string, Known>;
  readonly #next = new Map<string, Known>();
  #changed = false;

  constructor(files: FileSystem, cacheFolder: string, directory: string) {
    this.#files = files;
    this.#path = join(cacheFolder, `${sha256Hex(directory)}.json`);
    this.#known = this.#load();
  }

  /** The content of an unchanged file. */
  blobOf(path: string, facts: FileFacts, nowMs: number): string | undefined {
    const known = this.#known.get(path);
    if (!known || !sameFile(known, facts)) return undefined;
    return nowMs - Math.max(facts.modifiedMs, facts.changedMs) > GRAIN_MS ? known.blob : undefined;
  }

  /** Notes what was captured. Files that changed too recently are not noted. */
  note(path: string, facts: FileFacts, blob: string, nowMs: number): void {
    if (nowMs - Math.max(facts.modifiedMs, facts.changedMs) <= GRAIN_MS) return;
    const { size, modifiedMs, changedMs, identity } = facts;
    this.#next.set(path, { size, modifiedMs, changedMs, identity, blob });
    const before = this.#known.get(path);
    if (before?.blob !== blob || !sameFile(before, facts)) this.#changed = true;
  }

  /** Writes the notes down where they differ from what is there. Not synced: it may be lost, never half. */
  save(temporaryName: string): void {
    if (!this.#changed && this.#next.size === this.#known.size) return;
    const body = JSON.stringify(
      [...this.#next].map(([path, k]) => [path, k.size, k.modifiedMs, k.changedMs, k.identity, k.blob]),
    );
    const temporary = `${this.#path}.${temporaryName}`;
    const fd = this.#files.open(temporary, 'wx', 0o600);
    try {
      writeAll(this.#files, fd, Buffer.from(`${sha256Hex(body)}\n${body}`));
    } finally {
      this.#files.close(fd);
    }
    this.#files.rename(temporary, this.#path);
  }

  #load(): Map<string, Known> {
    try {
      const text = Buffer.from(readFileWithin(this.#files, this.#path, MAX_BYTES) ?? []).toString('utf8');
      const body = text.slice(65);
      if (text.slice(0, 64) !== sha256Hex(body)) return new Map();
      const rows = JSON.parse(body) as [string, number, number, number, string, string][];
      return new Map(
        rows.map(([path, size, modifiedMs, changedMs, identity, blob]) => [
          path,
          { size, modifiedMs, changedMs, identity, blob },
        ]),
      );
    } catch {
      return new Map();
    }
  }
}

export function sameFile(seen: SeenFile, facts: FileFacts): boolean {
  return (
    facts.kind === 'file' &&
    seen.size === facts.size &&
    seen.modifiedMs === facts.modifiedMs &&
    seen.changedMs === facts.changedMs &&
    seen.identity === facts.identity
  );
}
