import { fail, type HoldfastError } from '../core/index.ts';
import type { DirectoryPlace } from './end-record.ts';
import { readExtraFields } from './extra-fields.ts';
import type { ArchiveLimits } from './limits.ts';
import { NameSet, nameFault } from './member-names.ts';
import { printable } from './printable.ts';
import { type CentralRecord, decodeCentral, FIXED_BYTES, FLAG, METHOD, SENTINEL_32, SIGNATURE } from './records.ts';
import type { ByteSource } from './source.ts';

/** A member as the central directory describes it, with sizes and place resolved. */
export interface DirectoryMember {
  readonly name: string;
  readonly nameBytes: Buffer;
  readonly record: CentralRecord;
  readonly compressedSize: number;
  readonly size: number;
  readonly localOffset: number;
}

/** Reads the central directory: exactly as many records as announced, in exactly the bytes announced. */
export async function readDirectory(
  source: ByteSource,
  place: DirectoryPlace,
  limits: ArchiveLimits,
): Promise<DirectoryMember[]> {
  const bytes = await source.read(place.offset, place.size);
  const members: DirectoryMember[] = [];
  const names = new NameSet();
  let at = 0;
  let total = 0;
  while (at < bytes.length) {
    if (members.length === place.entries) throw corrupt('holds more than the end record announces');
    const member = readMember(bytes, at);
    checkMember(member, names, limits);
    total += member.size;
    if (total > limits.totalBytes)
      throw fail('ARCHIVE_TOTAL_TOO_LARGE', `The members together are larger than ${limits.totalBytes} bytes.`);
    members.push(member);
    at += FIXED_BYTES.central + member.record.nameLength + member.record.extraLength;
  }
  if (members.length < place.entries) throw corrupt('holds fewer members than the end record announces');
  return members;
}

function corrupt(says: string): HoldfastError {
  return fail('ARCHIVE_DIRECTORY_CORRUPT', `The central directory is corrupt: it ${says}.`);
}

function readMember(bytes: Buffer, at: number): DirectoryMember {
  const nameAt = at + FIXED_BYTES.central;
  if (nameAt > bytes.length || bytes.readUInt32LE(at) !== SIGNATURE.central) throw corrupt('has a broken record');
  const record = decodeCentral(bytes, at);
  if (record.commentLength !== 0) throw fail('ARCHIVE_COMMENT', 'A member of the archive has a comment.');
  const extraAt = nameAt + record.nameLength;
  if (extraAt + record.extraLength > bytes.length) throw corrupt('has a record that reaches past its end');
  const nameBytes = bytes.subarray(nameAt, extraAt);
  const zip64 = readExtraFields(bytes.subarray(extraAt, extraAt + record.extraLength));
  return { name: decodeName(nameBytes, record.flags), nameBytes, record, ...resolveSizes(record, zip64) };
}

/** A name is UTF-8 and, beyond ASCII, says so: otherwise two readers would read two names. */
function decodeName(bytes: Buffer, flags: number): string {
  let name: string;
  try {
    name = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw fail('ARCHIVE_NAME_ENCODING', 'unsafe package path: a name is not UTF-8.', { cause });
  }
  if (name.length !== bytes.length && (flags & FLAG.utf8) === 0)
    throw fail('ARCHIVE_NAME_ENCODING', `unsafe package path: '${printable(name)}' does not say that it is UTF-8.`);
  return name;
}

type Resolved = Pick<DirectoryMember, 'size' | 'compressedSize' | 'localOffset'>;

/** The ZIP64 field holds exactly the values whose place in the record says so, in this order, and nothing else. */
function resolveSizes(record: CentralRecord, zip64: Buffer | undefined): Resolved {
  const wide = zip64 ?? Buffer.alloc(0);
  let used = 0;
  const resolve = (short: number): number => {
    if (short !== SENTINEL_32) return short;
    if (used + 8 > wide.length) throw fail('ARCHIVE_ZIP64', 'A member announces a ZIP64 value that is missing.');
    const value = wide.readBigUInt64LE(used);
    used += 8;
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw fail('ARCHIVE_ZIP64', 'A ZIP64 value is impossibly large.');
    return Number(value);
  };
  const size = resolve(record.size);
  const compressedSize = resolve(record.compressedSize);
  const localOffset = resolve(record.localOffset);
  if (used !== wide.length) throw fail('ARCHIVE_ZIP64', 'A member carries a ZIP64 value that nothing announces.');
  return { size, compressedSize, localOffset };
}

function checkMember(member: DirectoryMember, names: NameSet, limits: ArchiveLimits): void {
  const fault = nameFault(member.name, limits) ?? names.add(member.name) ?? kindFault(member) ?? codingFault(member);
  if (fault) throw fault;
  checkSizes(member, limits);
}

const KIND = { mask: 0o170000, regular: 0o100000, folder: 0o040000, link: 0o120000 } as const;
const DOS = { volume: 0x08, folder: 0x10, device: 0x40, reparse: 0x400 } as const;

/** Only regular files travel. Mode bits count whatever system the record says it was made by. */
function kindFault({ name, record }: DirectoryMember): HoldfastError | undefined {
  const kind = (record.externalAttributes >>> 16) & KIND.mask;
  const dos = record.externalAttributes & 0xffff;
  if (kind === KIND.link || dos & DOS.reparse)
    return fail('ARCHIVE_LINK', `symlinks are not accepted: '${printable(name)}'.`);
  if (kind === KIND.folder || dos & DOS.folder)
    return fail('ARCHIVE_FOLDER', `unsafe package path: '${printable(name)}' is a folder.`);
  if ((kind !== 0 && kind !== KIND.regular) || dos & (DOS.volume | DOS.device))
    return fail('ARCHIVE_SPECIAL_FILE', `'${printable(name)}' is a device, a pipe or another special file.`);
  return undefined;
}

const KNOWN_FLAGS = FLAG.encrypted | FLAG.deflateHints | FLAG.descriptor | FLAG.strongEncryption | FLAG.utf8;
/** Version 6.3 of the format is the newest whose records are understood here. */
const NEWEST_VERSION = 63;

function codingFault({ name, record }: DirectoryMember): HoldfastError | undefined {
  const shown = printable(name);
  if (record.disk !== 0) return fail('ARCHIVE_SPLIT', `'${shown}' stands in another part of a split archive.`);
  if (record.flags & ~(KNOWN_FLAGS | FLAG.maskedHeaders))
    return fail('ARCHIVE_FLAGS', `'${shown}' has flags that are not understood.`);
  if (record.method !== METHOD.stored && record.method !== METHOD.deflated)
    return fail('ARCHIVE_METHOD', `unknown compression method ${record.method}: '${shown}'.`);
  if ((record.versionNeeded & 0xff) > NEWEST_VERSION)
    return fail('ARCHIVE_VERSION', `'${shown}' needs a newer version of the format.`);
  return undefined;
}

/** True when the member's data cannot be read without a key. */
export function isEncrypted(record: CentralRecord): boolean {
  return (record.flags & (FLAG.encrypted | FLAG.strongEncryption | FLAG.maskedHeaders)) !== 0;
}

/** The most that any deflate encoder makes of `size` bytes (zlib's own bound for its worst settings). */
const deflateBound = (size: number): number => size + Math.ceil(size / 8) + Math.ceil(size / 64) + 64;

function checkSizes({ name, record, size, compressedSize }: DirectoryMember, limits: ArchiveLimits): void {
  const shown = printable(name);
  if (size > limits.memberBytes)
    throw fail('ARCHIVE_MEMBER_TOO_LARGE', `'${shown}' is larger than ${limits.memberBytes} bytes.`);
  if (isEncrypted(record)) return;
  if (record.method === METHOD.stored && size !== compressedSize)
    throw fail('ARCHIVE_SIZE', `corrupt package member: '${shown}' is stored, but its two sizes differ.`);
  if (size > compressedSize * limits.ratio)
    throw fail('ARCHIVE_RATIO', `unsafe compression ratio: '${shown}' grows more than ${limits.ratio} times.`);
  if (record.method === METHOD.deflated && compressedSize > deflateBound(size))
    throw fail('ARCHIVE_PADDED', `corrupt package member: '${shown}' is longer compressed than it could be.`);
}
