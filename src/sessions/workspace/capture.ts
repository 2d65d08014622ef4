import fs from 'node:fs';
import { type FileFacts, type FileSystem, LIMITS, requireWithin, sha256Hex } from '../../core/index.ts';
import { blobAt, type FileTable, TableBuilder } from './file-table.ts';
import type { SeenFile, SkippedName, SkipReason } from './model.ts';
import type { PackWriter } from './pack.ts';
import { type FoundFile, type ScanOptions, scanWorkspace } from './scan.ts';
import { sameFile, type StatCache } from './stat-cache.ts';
import { breathe, Turns } from './turns.ts';

const CHUNK_BYTES = 1024 * 1024;
const FILES_A_TURN = 64;

export interface CaptureTools {
  readonly files: FileSystem;
  readonly cache: StatCache;
  /** Whether a content that the cache names is stored. */
  readonly isStored: (sha: string) => boolean;
  readonly index: { has(sha: string): boolean };
  /** The pack that takes what is not stored yet; made when it is first needed. */
  readonly pack: () => PackWriter;
}

/** What a walk found: the cache's own table when it found what the cache says. */
export interface Walked {
  readonly table: FileTable;
  /** In the order of the walk. */
  readonly skipped: readonly SkippedName[];
  readonly filesRead: number;
}

/** Reads a workspace; contents that are not stored yet go into the pack. */
export async function readWorkspace(tools: CaptureTools, directory: string, options: ScanOptions): Promise<Walked> {
  const { cache } = tools;
  const table = new TableBuilder(cache.table);
  const skipped: SkippedName[] = [];
  const turns = new Turns(FILES_A_TURN);
  let filesRead = 0;
  let bytes = 0;
  for (const found of scanWorkspace(tools.files, directory, options, (name) => skipped.push(name))) {
    const row = cache.rowOf(found.path, found.facts);
    const isKnown = row !== undefined && tools.isStored(blobAt(cache.table, row));
    if (isKnown) {
      table.known(row);
      bytes += found.facts.size;
    } else {
      filesRead += 1;
      const read = await readFile(tools, found);
      if (typeof read === 'string') {
        skipped.push({ path: found.path, reason: read });
        continue;
      }
      const { size, modifiedMs, changedMs, identity, mode } = read.facts;
      table.read({ path: found.path, blob: read.blob, size, modifiedMs, changedMs, identity, mode: mode & 0o777 });
      bytes += size;
    }
    requireWithin('workspaceBytes', bytes);
    if (turns.isDue(isKnown ? 0 : found.facts.size)) await breathe();
  }
  return { table: table.finish(), skipped, filesRead };
}

/** The workspace's file failed, not the place where it is stored. */
class Unreadable extends Error {}

/** A file's content, stored, with what the file was before and after; or why not. Tried twice when it changes. */
async function readFile(
  tools: CaptureTools,
  found: FoundFile,
): Promise<{ readonly blob: string; readonly facts: FileFacts } | SkipReason> {
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const fd = openNoFollow(tools.files, found.at);
    if (fd === undefined) return 'unreadable';
    try {
      const facts = tools.files.factsOf(fd);
      if (facts.kind !== 'file' || facts.identity !== found.facts.identity) return 'changed_while_read';
      if (facts.size > LIMITS.workspaceFileBytes) return 'too_large';
      const blob = await store(tools, fd, facts.size);
      if (blob !== undefined && sameFile(facts, tools.files.factsOf(fd))) return { blob, facts };
      tools.pack().forgetUnfinished();
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      tools.pack().forgetUnfinished();
      return 'unreadable';
    } finally {
      tools.files.close(fd);
    }
  }
  return 'changed_while_read';
}

function openNoFollow(files: FileSystem, at: string): number | undefined {
  try {
    // A pipe or a device that took the file's place must not hold us.
    return files.open(at, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

function readSome(files: FileSystem, fd: number, into: Uint8Array, position: number): number {
  try {
    return files.read(fd, into, position);
  } catch (cause) {
    throw new Unreadable('a file of the workspace could not be read', { cause });
  }
}

/** Undefined when the file ended before its size. */
async function store(tools: CaptureTools, fd: number, size: number): Promise<string | undefined> {
  if (size > CHUNK_BYTES) {
    const counted = { bytes: 0 };
    const chunks = fileChunks(tools.files, fd, size, counted);
    const sha = await tools.pack().addLarge(chunks, (known) => tools.index.has(known));
    return counted.bytes === size ? sha : undefined;
  }
  const bytes = Buffer.allocUnsafe(size);
  let done = 0;
  while (done < size) {
    const read = readSome(tools.files, fd, bytes.subarray(done), done);
    if (read === 0) return undefined;
    done += read;
  }
  const sha = sha256Hex(bytes);
  if (!tools.index.has(sha)) tools.pack().add(sha, bytes);
  return sha;
}

async function* fileChunks(
  files: FileSystem,
  fd: number,
  size: number,
  counted: { bytes: number },
): AsyncGenerator<Uint8Array> {
  while (counted.bytes < size) {
    const bytes = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - counted.bytes));
    const read = readSome(files, fd, bytes, counted.bytes);
    if (read === 0) return;
    counted.bytes += read;
    yield bytes.subarray(0, read);
    await breathe();
  }
}

/** Whether a file is still what a capture saw. */
export function isUnchanged(files: FileSystem, at: string, seen: SeenFile | undefined): boolean {
  const facts = factsOrNone(files, at);
  return seen === undefined ? facts === undefined : facts !== undefined && sameFile(seen, facts);
}

export function factsOrNone(files: FileSystem, at: string): FileFacts | undefined {
  try {
    return files.lstat(at);
  } catch {
    return undefined;
  }
}
