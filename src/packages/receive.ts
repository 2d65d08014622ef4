import { createHash } from 'node:crypto';
import { type ByteSource, fileSource } from '../archive/index.ts';
import { fail, LIMITS, wrapFileError, writeAll } from '../core/index.ts';
import type { PackageContext } from './model.ts';
import { takeStagingPlace } from './staging.ts';

/** A package that came over a wire, in a file of its own in the staging folder until it is closed. */
export interface ReceivedPackage {
  readonly source: ByteSource;
  readonly sizeBytes: number;
  /** SHA-256 of the bytes that came. */
  readonly sha256: string;
  /** Removes the file. */
  close(): Promise<void>;
}

const tooLarge = () => fail('ARCHIVE_TOO_LARGE', `A package has at most ${LIMITS.archiveBytes} bytes.`);

/** ARCHIVE_TOO_LARGE for a length that is announced: before a byte of it is taken. */
export function requireReceivable(announcedBytes: number): void {
  if (announcedBytes > LIMITS.archiveBytes) throw tooLarge();
}

/**
 * Writes what comes to a file of its own, never holding more than a chunk, and opens it. ARCHIVE_TOO_LARGE at the first
 * chunk beyond the bound; whatever goes wrong, the file is gone again.
 */
export async function receivePackage(
  context: PackageContext,
  chunks: AsyncIterable<Uint8Array>,
): Promise<ReceivedPackage> {
  const { files } = context;
  const place = await orWrapped(() => takeStagingPlace(context));
  try {
    const { sizeBytes, sha256 } = await writeDown(files, place.path, chunks);
    const source = await fileSource(place.path);
    const close = async (): Promise<void> => {
      try {
        await source.close();
      } finally {
        place.close();
      }
    };
    return { source, sizeBytes, sha256, close };
  } catch (error) {
    place.close();
    throw error;
  }
}

async function orWrapped<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw wrapFileError(error, 'a package that was received');
  }
}

async function writeDown(
  files: PackageContext['files'],
  path: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Pick<ReceivedPackage, 'sizeBytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const fd = files.open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) {
      sizeBytes += chunk.byteLength;
      requireReceivable(sizeBytes);
      hash.update(chunk);
      write(files, fd, chunk);
    }
  } finally {
    files.close(fd);
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

function write(files: PackageContext['files'], fd: number, chunk: Uint8Array): void {
  try {
    writeAll(files, fd, chunk);
  } catch (error) {
    throw wrapFileError(error, 'a package that is being received');
  }
}
