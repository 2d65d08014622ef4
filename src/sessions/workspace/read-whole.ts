import fs from 'node:fs';
import {
  compareCodePoints,
  fail,
  type FileSystem,
  LIMITS,
  nodeFileSystem,
  requireWithin,
  sha256Hex,
} from '../../core/index.ts';
import type { SkippedName } from './model.ts';
import { type ScanOptions, scanWorkspace } from './scan.ts';
import { sameFile } from './stat-cache.ts';

/** A file as its bytes are now. */
export interface ReadFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
  /** The content, where it is no larger than was asked for. */
  readonly bytes: Buffer | null;
}

export interface ReadWorkspace {
  /** In the order of their paths. */
  readonly files: readonly ReadFile[];
  readonly skipped: readonly SkippedName[];
}

/**
 * Reads every byte of a workspace, whatever any cache says of it; keeps contents up to `keepBytes` each. Follows no
 * link; leaves out what a capture leaves out. A file or a folder that changes while it is read is WORKSPACE_CHANGED.
 * Otherwise as `scanWorkspace`: WORKSPACE_NOT_A_FOLDER, LIMIT_REACHED.
 */
export function readWorkspaceWhole(
  directory: string,
  keepBytes: number,
  options: ScanOptions = {},
  files: FileSystem = nodeFileSystem,
): ReadWorkspace {
  const found: ReadFile[] = [];
  const skipped: SkippedName[] = [];
  let bytes = 0;
  for (const { path, at } of scanWorkspace(files, directory, options, (name) => skipped.push(name))) {
    const read = readWhole(files, at);
    if (read === null) {
      skipped.push({ path, reason: 'unreadable' });
      continue;
    }
    bytes += read.length;
    requireWithin('workspaceBytes', bytes);
    const kept = read.length <= keepBytes ? read : null;
    found.push({ path, size: read.length, sha256: sha256Hex(read), bytes: kept });
  }
  const byPath = (a: { readonly path: string }, b: { readonly path: string }): number =>
    compareCodePoints(a.path, b.path);
  return { files: found.toSorted(byPath), skipped: skipped.toSorted(byPath) };
}

/** Null where it cannot be read. */
function readWhole(files: FileSystem, at: string): Buffer | null {
  let fd: number;
  try {
    fd = files.open(at, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const before = files.factsOf(fd);
    if (before.kind !== 'file' || before.size > LIMITS.workspaceFileBytes) throw changed();
    const bytes = Buffer.alloc(before.size);
    let done = 0;
    while (done < bytes.length) {
      const read = files.read(fd, bytes.subarray(done), done);
      if (read === 0) throw changed();
      done += read;
    }
    if (!sameFile(before, files.factsOf(fd))) throw changed();
    return bytes;
  } finally {
    files.close(fd);
  }
}

const changed = (): Error => fail('WORKSPACE_CHANGED', 'A file of the workspace changed while it was read.');
