import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errnoOf, fail, type HoldfastError } from '../core/index.ts';
import { CHUNK_BYTES } from './limits.ts';

/** Where an archive's bytes are read from, by ranges. Nothing is ever written to it. */
export interface ByteSource {
  readonly size: number;
  /**
   * Exactly `length` bytes from `offset`: a view of the source, or of `into` (at least as long) where one is given, or a
   * new buffer. Fails with ARCHIVE_CHANGED when the source no longer has them.
   */
  read(offset: number, length: number, into?: Buffer): Promise<Buffer>;
  /** Fails with ARCHIVE_CHANGED when the source is not what it was when it was opened. */
  checkUnchanged(): Promise<void>;
  close(): Promise<void>;
}

const changed = (): HoldfastError => fail('ARCHIVE_CHANGED', 'The archive changed while it was being read.');

/** An archive that is in memory already. The bytes are not copied: they must not change meanwhile. */
export function bytesSource(bytes: Uint8Array): ByteSource {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    size: whole.length,
    async read(offset, length) {
      if (offset < 0 || length < 0 || offset + length > whole.length) throw changed();
      return whole.subarray(offset, offset + length);
    },
    async checkUnchanged() {},
    async close() {},
  };
}

/**
 * An archive on disk, opened for reading only; never read whole. Only a regular file will do: a pipe or device is
 * refused without being read (ARCHIVE_UNREADABLE, whose message never names the path).
 */
export async function fileSource(path: string): Promise<ByteSource> {
  const handle = await openForReading(path);
  try {
    const first = await handle.stat();
    if (first.isDirectory())
      throw fail('ARCHIVE_UNREADABLE', 'The archive is not a regular file: it is a folder.', {
        resolve: 'Name a package, for example one in that folder.',
      });
    if (!first.isFile()) throw fail('ARCHIVE_UNREADABLE', 'The archive is not a regular file.');
    return handleSource(handle, first.size, first.mtimeMs);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const WHY_NOT: Readonly<Record<string, string>> = {
  ENOENT: ': there is no such file',
  ENOTDIR: ': a part of its path is a file and no folder',
  EACCES: ': this user may not read it',
  EPERM: ': this user may not read it',
};

async function openForReading(path: string): Promise<FileHandle> {
  try {
    // Non-blocking, or opening a named pipe would wait for a writer.
    return await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (cause) {
    const why = WHY_NOT[String(errnoOf(cause))] ?? '';
    throw fail('ARCHIVE_UNREADABLE', `The archive cannot be opened for reading${why}.`, { cause });
  }
}

function handleSource(handle: FileHandle, size: number, mtimeMs: number): ByteSource {
  return {
    size,
    async read(offset, length, into = Buffer.allocUnsafe(length)) {
      let done = 0;
      while (done < length) {
        const { bytesRead } = await handle.read(into, done, length - done, offset + done);
        if (bytesRead === 0) throw changed();
        done += bytesRead;
      }
      return into.subarray(0, length);
    },
    async checkUnchanged() {
      const now = await handle.stat();
      if (now.size !== size || now.mtimeMs !== mtimeMs) throw changed();
    },
    close: () => handle.close(),
  };
}

/**
 * The bytes of a range in order, in chunks. With `into`, every chunk is a view of that one buffer, for who is done with
 * a chunk when asking for the next: reading a large file then makes no garbage.
 */
export async function* readRange(
  source: ByteSource,
  start: number,
  end: number,
  into?: Buffer,
): AsyncGenerator<Buffer> {
  for (let at = start; at < end; at += CHUNK_BYTES) yield await source.read(at, Math.min(CHUNK_BYTES, end - at), into);
}

/** Small reads in rising order, served from one window of a chunk, so that 4,096 headers do not cost 4,096 reads. */
export class WindowReader {
  readonly #source: ByteSource;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(source: ByteSource) {
    this.#source = source;
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const inside = offset >= this.#start && offset + length <= this.#start + this.#bytes.length;
    if (!inside) {
      const wanted = Math.max(length, Math.min(CHUNK_BYTES, this.#source.size - offset));
      this.#bytes = await this.#source.read(offset, wanted);
      this.#start = offset;
    }
    return this.#bytes.subarray(offset - this.#start, offset - this.#start + length);
  }
}
