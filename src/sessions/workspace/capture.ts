import fs from 'node:fs';
import { ARCHIVE_LIMITS, foldName, nameFault } from '../../archive/index.ts';
import { type FileFacts, type FileSystem, LIMITS, requireWithin, sha256Hex } from '../../core/index.ts';
import type { Capture, SeenFile, SkippedName, SkipReason, TreeEntry } from './model.ts';
import type { BlobPlace, PackWriter } from './pack.ts';
import { type FoundFile, type ScanOptions, scanWorkspace } from './scan.ts';
import { sameFile, type StatCache } from './stat-cache.ts';
import { sortedTree } from './tree.ts';

const CHUNK_BYTES = 1024 * 1024;
/** After so much work the event loop gets a turn, so that readers and other runs go on. */
const FILES_A_TURN = 64;
const BYTES_A_TURN = 2 * 1024 * 1024;

export interface CaptureTools {
  readonly files: FileSystem;
  readonly cache: StatCache;
  readonly index: ReadonlyMap<string, BlobPlace>;
  /** The pack that takes what is not stored yet; made when it is first needed. */
  readonly pack: () => PackWriter;
  readonly nowMs: number;
}

export type Captured = Omit<Capture, 'treeId' | 'created'>;

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets the event loop have its turn after so much work. */
class Turns {
  #files = 0;
  #bytes = 0;

  async took(bytes: number): Promise<void> {
    this.#files += 1;
    this.#bytes += bytes;
    if (this.#files < FILES_A_TURN && this.#bytes < BYTES_A_TURN) return;
    [this.#files, this.#bytes] = [0, 0];
    await breathe();
  }
}

/** Reads a workspace into a tree; contents that are not stored yet go into the pack. */
export async function readWorkspace(tools: CaptureTools, directory: string, options: ScanOptions): Promise<Captured> {
  const entries: TreeEntry[] = [];
  const skipped: SkippedName[] = [];
  const seen = new Map<string, SeenFile>();
  const turns = new Turns();
  let filesRead = 0;
  let bytes = 0;
  for (const found of scanWorkspace(tools.files, directory, options, (name) => skipped.push(name))) {
    const known = tools.cache.blobOf(found.path, found.facts, tools.nowMs);
    const isKnown = known !== undefined && tools.index.has(known);
    const read = isKnown ? { blob: known, facts: found.facts } : await readFile(tools, found);
    if (!isKnown) filesRead += 1;
    if (typeof read === 'string') {
      skipped.push({ path: found.path, reason: read });
      continue;
    }
    const { blob, facts } = read;
    bytes += facts.size;
    requireWithin('workspaceBytes', bytes);
    entries.push({ path: found.path, blob, size: facts.size, mode: facts.mode & 0o777 });
    seen.set(found.path, facts);
    tools.cache.note(found.path, facts, blob, tools.nowMs);
    await turns.took(isKnown ? 0 : facts.size);
  }
  return { tree: sortedTree(entries, skipped), filesRead, seen, ...travelling(entries) };
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

/** Plain names travel; only the others are looked at part by part. */
const PLAIN = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+(?:\/(?:[a-z0-9_-]+\.)*[a-z0-9_-]+)*$/;
const DEVICE = /(?:^|\/)(?:con|prn|aux|nul|conin|conout|com\d|lpt\d)(?:\.|\/|$)/;

function travelling(entries: readonly TreeEntry[]): Pick<Capture, 'collisions' | 'cannotTravel'> {
  const byFold = new Map<string, string[]>();
  const cannotTravel: string[] = [];
  for (const { path } of entries) {
    const plain = PLAIN.test(path) && !DEVICE.test(path);
    if (!plain && nameFault(path, ARCHIVE_LIMITS) !== undefined) cannotTravel.push(path);
    const folded = plain ? path : foldName(path);
    const same = byFold.get(folded);
    if (same) same.push(path);
    else byFold.set(folded, [path]);
  }
  return { collisions: [...byFold.values()].filter((paths) => paths.length > 1), cannotTravel };
}

/** Whether a file is still what a capture saw. */
export function isUnchanged(files: FileSystem, at: string, seen: SeenFile | undefined): boolean {
  const facts = factsOrNone(files, at);
  return seen === undefined ? facts === undefined : facts !== undefined && sameFile(seen, facts);
}

function factsOrNone(files: FileSystem, at: string): FileFacts | undefined {
  try {
    return files.lstat(at);
  } catch {
    return undefined;
  }
}
