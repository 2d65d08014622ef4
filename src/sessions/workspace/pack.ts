import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { fail, type FaultPoints, type FileSystem, sha256Hex, syncFolder, wrapFileError } from '../../core/index.ts';

/** Where a content lies: in which pack, from which byte, how many. */
export interface BlobPlace {
  readonly pack: string;
  readonly offset: number;
  readonly size: number;
}

const MAGIC = Buffer.from('HFPACK1\n');
const ENTRY_BYTES = 32 + 6 + 6;
/** Number of entries, place of the index, SHA-256 of the index, magic. */
const FOOTER_BYTES = 6 + 6 + 32 + MAGIC.length;
const BUFFER_BYTES = 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

export const packName = (id: string): string => `${id}.pack`;

/**
 * One file that holds many contents: magic, the contents one after another, an index, a footer. It is written under a
 * temporary name and takes its own when it is whole and synced, so that a pack is whole or not there.
 */
export class PackWriter {
  readonly id: string;
  readonly places = new Map<string, BlobPlace>();
  readonly #files: FileSystem;
  readonly #folder: string;
  readonly #temporary: string;
  readonly #fd: number;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #buffered = 0;
  #written = 0;
  #isOpen = true;

  constructor(files: FileSystem, folder: string, id: string) {
    this.id = id;
    this.#files = files;
    this.#folder = folder;
    this.#temporary = join(folder, `${id}.part`);
    this.#fd = files.open(this.#temporary, 'wx', 0o600);
    this.#put(MAGIC);
  }

  get #offset(): number {
    return this.#written + this.#buffered;
  }

  /** Adds a content that is not in this pack yet. */
  add(sha: string, bytes: Uint8Array): void {
    if (this.places.has(sha)) return;
    this.places.set(sha, { pack: this.id, offset: this.#offset, size: bytes.byteLength });
    this.#put(bytes);
  }

  /**
   * Adds a content that is too large for memory, chunk by chunk. `known` says whether it is stored elsewhere: then what
   * was written of it is taken back. Gives its SHA-256.
   */
  async addLarge(chunks: AsyncIterable<Uint8Array>, known: (sha: string) => boolean): Promise<string> {
    const start = this.#offset;
    const hash: Hash = createHash('sha256');
    for await (const chunk of chunks) {
      hash.update(chunk);
      this.#put(chunk);
    }
    const sha = hash.digest('hex');
    if (known(sha) || this.places.has(sha)) this.#takeBack(start);
    else this.places.set(sha, { pack: this.id, offset: start, size: this.#offset - start });
    return sha;
  }

  /** Takes back what was written from an offset on: a file that changed while it was read. */
  #takeBack(offset: number): void {
    if (offset >= this.#written) this.#buffered = offset - this.#written;
    else [this.#written, this.#buffered] = [offset, 0];
  }

  /** Takes back whatever came after the last content that was added whole. */
  forgetUnfinished(): void {
    let end = MAGIC.length;
    for (const { offset, size } of this.places.values()) end = Math.max(end, offset + size);
    this.#takeBack(end);
  }

  #put(bytes: Uint8Array): void {
    if (bytes.byteLength > BUFFER_BYTES - this.#buffered) this.#flush();
    if (bytes.byteLength > BUFFER_BYTES) {
      this.#writeAt(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.byteLength;
  }

  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#buffered);
    this.#buffered = 0;
    this.#writeAt(bytes);
  }

  #writeAt(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.byteLength; ) {
      const wrote = this.#files.write(this.#fd, bytes.subarray(done), this.#written);
      done += wrote;
      this.#written += wrote;
    }
  }

  /** Makes the pack whole and durable: one sync of the file, one of the folder. */
  finish(faults: FaultPoints): void {
    const index = Buffer.concat([...this.places].map(([sha, place]) => entryBytes(sha, place)));
    const indexAt = this.#offset;
    this.#put(index);
    const footer = Buffer.alloc(FOOTER_BYTES);
    footer.writeUIntBE(this.places.size, 0, 6);
    footer.writeUIntBE(indexAt, 6, 6);
    footer.set(Buffer.from(sha256Hex(index), 'hex'), 12);
    footer.set(MAGIC, 44);
    this.#put(footer);
    this.#flush();
    this.#files.truncate(this.#fd, this.#written);
    this.#files.fsync(this.#fd);
    this.#close();
    void faults.reach('file-temp-written');
    this.#files.rename(this.#temporary, join(this.#folder, packName(this.id)));
    syncFolder(this.#files, this.#folder);
    void faults.reach('file-renamed');
  }

  /** Once, whatever becomes of it: somebody else may be given the same number at once. */
  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#files.close(this.#fd);
  }

  /** Gives the pack up and removes what there is of it. */
  abandon(): void {
    try {
      this.#close();
    } catch {
      // What could not be written is given up anyway.
    }
    try {
      this.#files.unlink(this.#temporary);
    } catch {
      // A part that stays is swept with the garbage.
    }
  }
}

function entryBytes(sha: string, { offset, size }: BlobPlace): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES);
  entry.write(sha, 0, 'hex');
  entry.writeUIntBE(offset, 32, 6);
  entry.writeUIntBE(size, 38, 6);
  return entry;
}

function damaged(id: string): Error {
  return fail('WORKSPACE_PACK_CORRUPT', `The workspace pack ${id} is damaged.`, { details: { pack: id } });
}

/** The index of a pack, proved against its digest; WORKSPACE_PACK_CORRUPT, or what the file system says. */
export function readPackIndex(files: FileSystem, folder: string, id: string): Map<string, BlobPlace> {
  return withFile(files, join(folder, packName(id)), (fd) => {
    const { size } = files.factsOf(fd);
    if (size < MAGIC.length + FOOTER_BYTES) throw damaged(id);
    const footer = readAt(files, fd, size - FOOTER_BYTES, FOOTER_BYTES);
    const count = footer.readUIntBE(0, 6);
    const indexAt = footer.readUIntBE(6, 6);
    const bytes = count * ENTRY_BYTES;
    if (!footer.subarray(44).equals(MAGIC) || indexAt + bytes + FOOTER_BYTES !== size) throw damaged(id);
    const index = readAt(files, fd, indexAt, bytes);
    if (sha256Hex(index) !== footer.toString('hex', 12, 44)) throw damaged(id);
    const places = new Map<string, BlobPlace>();
    for (let at = 0; at < bytes; at += ENTRY_BYTES) {
      const place = { pack: id, offset: index.readUIntBE(at + 32, 6), size: index.readUIntBE(at + 38, 6) };
      places.set(index.toString('hex', at, at + 32), place);
    }
    return places;
  });
}

/**
 * The chunks of one content as it lies in its pack, at most 1 MiB each. Whoever reads proves the digest at the end. With
 * `into`, every chunk is a view of that one buffer, for who is done with a chunk when asking for the next.
 */
export function* packChunks(files: FileSystem, folder: string, place: BlobPlace, into?: Buffer): Generator<Buffer> {
  const most = into?.length ?? CHUNK_BYTES;
  const fd = files.open(join(folder, packName(place.pack)), 'r');
  try {
    for (let done = 0; done < place.size; ) {
      const length = Math.min(most, place.size - done);
      const bytes = readAt(files, fd, place.offset + done, length, into?.subarray(0, length));
      done += bytes.length;
      yield bytes;
    }
  } finally {
    files.close(fd);
  }
}

function withFile<T>(files: FileSystem, path: string, body: (fd: number) => T): T {
  let fd: number;
  try {
    fd = files.open(path, 'r');
  } catch (error) {
    throw wrapFileError(error, 'a workspace pack');
  }
  try {
    return body(fd);
  } finally {
    files.close(fd);
  }
}

/** Exactly so many bytes; fewer are damage. */
function readAt(
  files: FileSystem,
  fd: number,
  position: number,
  length: number,
  bytes: Buffer = Buffer.allocUnsafe(length),
): Buffer {
  for (let done = 0; done < length; ) {
    const read = files.read(fd, bytes.subarray(done), position + done);
    if (read === 0) throw fail('WORKSPACE_PACK_CORRUPT', 'A workspace pack ends too early.');
    done += read;
  }
  return bytes;
}
