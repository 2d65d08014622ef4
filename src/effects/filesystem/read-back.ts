import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { fail, type FileSystem, LIMITS } from '../../core/index.ts';
import type { Coverage } from '../model.ts';
import type { Resource } from '../resources.ts';
import { refusedBySystem } from './real-path.ts';

/** What was seen of one file or folder. The digest is empty when nothing, a folder, or only a part was seen. */
export interface FileReading {
  readonly resource: Resource;
  readonly exists: boolean;
  readonly coverage: Coverage;
  readonly contentSha256: string;
  /** Bytes; null for what is missing and for folders. */
  readonly size: number | null;
}

const CHUNK = 64 * 1024;

/** Reads the object that the resource names, and no other: it is opened without following links and compared. */
export function readBackFile(files: FileSystem, resource: Resource): FileReading {
  const [kind = '', device = '', inode = ''] = resource.incarnation.split(':');
  const nothing = { resource, coverage: 'complete', contentSha256: '', size: null } as const;
  if (kind !== 'file') return { ...nothing, exists: kind === 'directory' };
  const fd = openQuietly(files, resource.location.at(-1) ?? '');
  try {
    const facts = files.factsOf(fd);
    if (facts.kind !== 'file' || facts.identity !== `${device}:${inode}`) throw replaced();
    if (facts.size > LIMITS.effectReadBackBytes)
      return { ...nothing, exists: true, coverage: 'partial', size: facts.size };
    return { ...nothing, exists: true, ...digestOf(files, fd) };
  } finally {
    files.close(fd);
  }
}

/** A file that grows while it is read is cut off at the bound and seen in part. */
function digestOf(files: FileSystem, fd: number): Pick<FileReading, 'coverage' | 'contentSha256' | 'size'> {
  const hash = createHash('sha256');
  const chunk = new Uint8Array(CHUNK);
  let size = 0;
  for (let got = files.read(fd, chunk, 0); got > 0; got = files.read(fd, chunk, size)) {
    hash.update(chunk.subarray(0, got));
    size += got;
    if (size > LIMITS.effectReadBackBytes) return { coverage: 'partial', contentSha256: '', size };
  }
  return { coverage: 'complete', contentSha256: hash.digest('hex'), size };
}

function openQuietly(files: FileSystem, path: string): number {
  try {
    return files.open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : '';
    throw code === 'ENOENT' || code === 'ELOOP' ? replaced() : refusedBySystem(cause);
  }
}

function replaced(): Error {
  return fail('RESOURCE_CHANGED', 'Another object stands at the path than a moment ago.');
}
