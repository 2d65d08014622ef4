import { crc32 } from 'node:zlib';
import { fail, type FileSystem } from '../core/index.ts';
import { WorkAhead } from './ahead.ts';
import { passingPieces } from './chunk-memory.ts';
import { deflated } from './deflate.ts';
import { ARCHIVE_LIMITS } from './limits.ts';
import { NameSet, nameFault } from './member-names.ts';
import { printable } from './printable.ts';
import { encodeCentral, encodeEnd, encodeLocal, FLAG, METHOD, type WrittenMember } from './records.ts';

/**
 * Something to put in an archive. `content` is asked for once or twice and must give the same bytes each time; each of
 * its chunks is used up before the next one comes, so that all may lie in one buffer.
 */
export interface NewMember {
  readonly name: string;
  /** Its bytes, where they are known: a small content is then not copied. */
  readonly size?: number;
  content(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** Compressed data up to this size is kept while its size is found; larger content is read and deflated twice. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** Half of what readers accept: the writer never makes what a reader refuses. */
const STORED_ABOVE_RATIO = ARCHIVE_LIMITS.ratio / 2;

/** 1980-01-01 00:00:00, the first time that the format can say. */
const DOS_EPOCH = { time: 0, date: (1 << 5) | 1 } as const;
const MADE_BY_UNIX_2_0 = (3 << 8) | 20;
/** A regular file that its owner may read and write. */
const EXTERNAL_ATTRIBUTES = 0o100600 * 0x10000;

/**
 * Writes a ZIP file whose bytes depend on nothing but names, contents and the zlib build: members in code point order,
 * one fixed time, one mode, no extra fields, no comments, sizes before the data. Deflated at the usual level, but
 * stored where that would shrink more than a hundred times. Refuses names that `openArchive` would refuse.
 */
export async function* writeArchive(members: Iterable<NewMember>): AsyncGenerator<Buffer> {
  const ordered = checkedMembers(members);
  const written: WrittenMember[] = [];
  let offset = 0;
  for (const member of ordered) {
    const measured = await measure(member);
    const record = recordOf(member.name, measured, offset);
    written.push(record);
    for await (const bytes of memberBytes(member, measured, record)) {
      offset += bytes.length;
      if (offset > ARCHIVE_LIMITS.archiveBytes) throw tooLarge();
      yield bytes;
    }
  }
  yield* closing(written, offset);
}

const tooLarge = () =>
  fail('ARCHIVE_TOO_LARGE', `The archive would be larger than ${ARCHIVE_LIMITS.archiveBytes} bytes.`);

/** By code point: the UTF-8 bytes sort as the code points do. */
function checkedMembers(members: Iterable<NewMember>): NewMember[] {
  const ordered = [...members].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  if (ordered.length === 0) throw fail('ARCHIVE_EMPTY', 'An archive needs at least one member.');
  if (ordered.length > ARCHIVE_LIMITS.members)
    throw fail('ARCHIVE_TOO_MANY_MEMBERS', `An archive takes at most ${ARCHIVE_LIMITS.members} members.`);
  const names = new NameSet();
  for (const { name } of ordered) {
    const fault = nameFault(name, ARCHIVE_LIMITS) ?? names.add(name);
    if (fault) throw fault;
  }
  return ordered;
}

interface Measured {
  readonly crc32: number;
  readonly size: number;
  readonly compressedSize: number;
  readonly stored: boolean;
  /** The compressed bytes, where they were few enough to keep. */
  readonly kept: readonly Buffer[] | undefined;
}

async function measure(member: NewMember): Promise<Measured> {
  const input = { crc32: 0, size: 0 };
  let compressedSize = 0;
  let kept: Buffer[] | undefined = [];
  for await (const chunk of deflated(counted(member, input))) {
    compressedSize += chunk.length;
    if (compressedSize > KEPT_BYTES) kept = undefined;
    kept?.push(chunk);
  }
  const stored = input.size > compressedSize * STORED_ABOVE_RATIO;
  return { ...input, compressedSize: stored ? input.size : compressedSize, stored, kept: stored ? undefined : kept };
}

interface Input {
  crc32: number;
  size: number;
}

async function* counted(member: NewMember, into: Input): AsyncGenerator<Uint8Array> {
  for await (const chunk of member.content()) {
    into.size += chunk.length;
    if (into.size > ARCHIVE_LIMITS.memberBytes)
      throw fail('ARCHIVE_MEMBER_TOO_LARGE', `'${printable(member.name)}' is too large for an archive.`);
    into.crc32 = crc32(chunk, into.crc32);
    yield chunk;
  }
}

function recordOf(name: string, measured: Omit<Measured, 'kept'>, localOffset: number): WrittenMember {
  const bytes = Buffer.from(name);
  return {
    name: bytes,
    madeBy: MADE_BY_UNIX_2_0,
    versionNeeded: 20,
    flags: bytes.length === name.length ? 0 : FLAG.utf8,
    method: measured.stored ? METHOD.stored : METHOD.deflated,
    ...DOS_EPOCH,
    crc32: measured.crc32,
    compressedSize: measured.compressedSize,
    size: measured.size,
    externalAttributes: EXTERNAL_ATTRIBUTES,
    localOffset,
  };
}

async function* memberBytes(member: NewMember, measured: Measured, record: WrittenMember): AsyncGenerator<Buffer> {
  yield encodeLocal(record);
  if (measured.kept) {
    yield* measured.kept;
    return;
  }
  const again = { crc32: 0, size: 0 };
  const content = counted(member, again);
  for await (const chunk of measured.stored ? content : deflated(content)) yield Buffer.from(chunk);
  if (again.size !== measured.size || again.crc32 !== measured.crc32) throw hasChanged(member);
}

const hasChanged = ({ name }: NewMember) =>
  fail('ARCHIVE_CHANGED', `'${printable(name)}' changed while it was being written.`);

/**
 * Writes the bytes of `writeArchive` to a file that must not be there yet, and says how many they are. Each content is
 * read and deflated once, whatever its size: the header in front of it is filled in afterwards. While one member is
 * written the next ones are deflated already, which changes no byte.
 */
export async function writeArchiveFile(
  files: FileSystem,
  path: string,
  members: Iterable<NewMember>,
): Promise<{ readonly size: number }> {
  const ordered = checkedMembers(members);
  const fd = files.open(path, 'wx', 0o600);
  const inputs = ordered.map(() => ({ crc32: 0, size: 0 }));
  const ahead = new WorkAhead(
    ordered.map((member, i) => () => deflated(counted(member, inputs[i] as Input), member.size)),
  );
  try {
    const file = new ArchiveFile(files, fd);
    for (const [i, member] of ordered.entries()) await file.add(member, inputs[i] as Input, ahead.chunks(i));
    return { size: file.close() };
  } finally {
    await ahead.stop();
    files.close(fd);
  }
}

/** A file that is written at places: what stands in front of a member is known after the member alone. */
class ArchiveFile {
  readonly #files: FileSystem;
  readonly #fd: number;
  readonly #written: WrittenMember[] = [];
  #end = 0;

  constructor(files: FileSystem, fd: number) {
    this.#files = files;
    this.#fd = fd;
  }

  /** `input` is what went into the deflated chunks, known when they have ended. */
  async add(member: NewMember, input: Input, chunks: AsyncIterable<Buffer>): Promise<void> {
    const header = this.#end;
    const data = header + encodeLocal(recordOf(member.name, NOTHING, header)).length;
    let compressedSize = await this.#put(data, passingPieces(chunks));
    const stored = input.size > compressedSize * STORED_ABOVE_RATIO;
    if (stored) {
      const again = { crc32: 0, size: 0 };
      compressedSize = await this.#put(data, counted(member, again));
      if (again.size !== input.size || again.crc32 !== input.crc32) throw hasChanged(member);
    }
    const record = recordOf(member.name, { ...input, compressedSize, stored }, header);
    this.#write(encodeLocal(record), header);
    this.#written.push(record);
    this.#end = data + compressedSize;
  }

  async #put(from: number, chunks: AsyncIterable<Uint8Array>): Promise<number> {
    let at = from;
    for await (const chunk of chunks) {
      this.#write(chunk, at);
      at += chunk.length;
      if (at > ARCHIVE_LIMITS.archiveBytes) throw tooLarge();
    }
    return at - from;
  }

  #write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.byteLength; )
      done += this.#files.write(this.#fd, bytes.subarray(done), position + done);
  }

  /** The directory, after the last member; gives the size of the file. */
  close(): number {
    for (const bytes of closing(this.#written, this.#end)) {
      this.#write(bytes, this.#end);
      this.#end += bytes.length;
    }
    return this.#end;
  }
}

const NOTHING = { crc32: 0, size: 0, compressedSize: 0, stored: false } as const;

function* closing(written: readonly WrittenMember[], directoryOffset: number): Generator<Buffer> {
  let size = 0;
  for (const record of written) {
    const bytes = encodeCentral(record);
    size += bytes.length;
    yield bytes;
  }
  if (directoryOffset + size > ARCHIVE_LIMITS.archiveBytes) throw tooLarge();
  yield encodeEnd(written.length, size, directoryOffset);
}
