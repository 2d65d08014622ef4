import { fail, type HoldfastError } from '../core/index.ts';
import type { ArchiveLimits } from './limits.ts';
import {
  decodeEnd,
  decodeZip64End,
  type EndRecord,
  FIXED_BYTES,
  SENTINEL_16,
  SENTINEL_32,
  SIGNATURE,
  type Zip64End,
} from './records.ts';
import type { ByteSource } from './source.ts';

/** Where the central directory stands, and what it claims to hold. */
export interface DirectoryPlace {
  readonly entries: number;
  readonly offset: number;
  readonly size: number;
}

const LONGEST_COMMENT = 0xffff;

/**
 * Finds the end record, which must be the last 22 bytes of the file, and the ZIP64 records before it where there are
 * any; everything they say must agree. Reads at most 64 KiB, and that only to say what is wrong.
 */
export async function findDirectory(source: ByteSource, limits: ArchiveLimits): Promise<DirectoryPlace> {
  if (source.size > limits.archiveBytes)
    throw fail('ARCHIVE_TOO_LARGE', `The archive is larger than ${limits.archiveBytes} bytes.`);
  if (source.size < FIXED_BYTES.end) throw fail('ARCHIVE_NOT_ZIP', 'The file is too short to be a ZIP archive.');
  const endAt = source.size - FIXED_BYTES.end;
  const bytes = await source.read(endAt, FIXED_BYTES.end);
  if (bytes.readUInt32LE(0) !== SIGNATURE.end) throw await explainMissingEnd(source);
  const end = decodeEnd(bytes, 0);
  if (end.commentLength !== 0) throw fail('ARCHIVE_TRUNCATED', 'The archive ends inside its comment.');
  const zip64 = await readZip64(source, endAt);
  const place = zip64 ? placeOfZip64(end, zip64) : placeOf(end);
  if (place.entries === 0) throw fail('ARCHIVE_EMPTY', 'The archive holds no members.');
  if (place.entries > limits.members)
    throw fail('ARCHIVE_TOO_MANY_MEMBERS', `The archive has more than ${limits.members} members.`);
  if (place.size > limits.directoryBytes)
    throw fail('ARCHIVE_DIRECTORY_TOO_LARGE', `The central directory is larger than ${limits.directoryBytes} bytes.`);
  await checkPlace(source, place, zip64 ? zip64.at : endAt);
  return place;
}

async function explainMissingEnd(source: ByteSource): Promise<HoldfastError> {
  const start = Math.max(0, source.size - FIXED_BYTES.end - LONGEST_COMMENT);
  const tail = await source.read(start, source.size - start);
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(SIGNATURE.end, 0);
  const at = tail.lastIndexOf(mark, tail.length - FIXED_BYTES.end);
  if (at >= 0) {
    const { commentLength } = decodeEnd(tail, at);
    const after = tail.length - at - FIXED_BYTES.end;
    if (commentLength === after) return fail('ARCHIVE_COMMENT', 'The archive has a comment.');
    if (commentLength > after) return fail('ARCHIVE_TRUNCATED', 'The archive ends inside its comment.');
    return fail('ARCHIVE_TRAILING_DATA', 'Data stands after the end of the archive.');
  }
  const head = source.size >= 4 ? (await source.read(0, 4)).readUInt32LE(0) : 0;
  if (head === SIGNATURE.local) return fail('ARCHIVE_TRUNCATED', 'The archive has no end record: it is cut off.');
  return fail('ARCHIVE_NOT_ZIP', 'The file is not a ZIP archive.');
}

type Zip64 = Zip64End & { readonly at: number };

const zip64 = (says: string): HoldfastError => fail('ARCHIVE_ZIP64', `The ZIP64 records ${says}.`);

async function readZip64(source: ByteSource, endAt: number): Promise<Zip64 | undefined> {
  const locatorAt = endAt - FIXED_BYTES.zip64Locator;
  if (locatorAt < 0) return undefined;
  const locator = await source.read(locatorAt, FIXED_BYTES.zip64Locator);
  if (locator.readUInt32LE(0) !== SIGNATURE.zip64Locator) return undefined;
  const at = locatorAt - FIXED_BYTES.zip64End;
  if (at < 0 || locator.readBigUInt64LE(8) !== BigInt(at)) throw zip64('are not where their locator says');
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1) throw split();
  const bytes = await source.read(at, FIXED_BYTES.zip64End);
  if (bytes.readUInt32LE(0) !== SIGNATURE.zip64End) throw zip64('are not where their locator says');
  const end = decodeZip64End(bytes);
  if (end.recordSize !== BigInt(FIXED_BYTES.zip64End - 12)) throw zip64('carry data of their own');
  if (end.disk !== 0 || end.directoryDisk !== 0) throw split();
  return { ...end, at };
}

const split = (): HoldfastError => fail('ARCHIVE_SPLIT', 'The archive is a part of a split archive.');

function placeOf(end: EndRecord): DirectoryPlace {
  if (end.disk !== 0 || end.directoryDisk !== 0 || end.entriesOnDisk !== end.entries) throw split();
  if (end.entries === SENTINEL_16 || end.directorySize === SENTINEL_32 || end.directoryOffset === SENTINEL_32)
    throw zip64('are announced, but missing');
  return { entries: end.entries, offset: end.directoryOffset, size: end.directorySize };
}

function placeOfZip64(end: EndRecord, record: Zip64): DirectoryPlace {
  if ((end.disk !== 0 && end.disk !== SENTINEL_16) || (end.directoryDisk !== 0 && end.directoryDisk !== SENTINEL_16))
    throw split();
  if (record.entriesOnDisk !== record.entries) throw split();
  const agrees = (short: number, long: bigint, sentinel: number) => short === sentinel || BigInt(short) === long;
  const same =
    agrees(end.entries, record.entries, SENTINEL_16) &&
    agrees(end.entriesOnDisk, record.entriesOnDisk, SENTINEL_16) &&
    agrees(end.directorySize, record.directorySize, SENTINEL_32) &&
    agrees(end.directoryOffset, record.directoryOffset, SENTINEL_32);
  if (!same) throw zip64('disagree with the end record');
  if (record.directoryOffset + record.directorySize > BigInt(record.at)) throw zip64('point past themselves');
  // The directory lies before the record, so offset and size fit; the count is bounded next.
  const entries = record.entries > BigInt(Number.MAX_SAFE_INTEGER) ? Infinity : Number(record.entries);
  return { entries, offset: Number(record.directoryOffset), size: Number(record.directorySize) };
}

/** The directory must end exactly where the end records begin. What stands in between is named as exactly as it can be. */
async function checkPlace(source: ByteSource, place: DirectoryPlace, recordsAt: number): Promise<void> {
  const slack = recordsAt - place.offset - place.size;
  if (slack === 0) return;
  if (slack < 0) throw fail('ARCHIVE_TRUNCATED', 'The central directory reaches past the end record.');
  const declared = await signatureAt(source, place.offset);
  const actual = await signatureAt(source, recordsAt - place.size);
  if (declared === SIGNATURE.central && actual !== SIGNATURE.central)
    throw fail('ARCHIVE_HIDDEN_DATA', 'Data stands between the central directory and the end record.');
  if (slack >= FIXED_BYTES.end && (await signatureAt(source, slack - FIXED_BYTES.end)) === SIGNATURE.end)
    throw fail('ARCHIVE_SECOND_DIRECTORY', 'A second archive stands before this one in the same file.');
  throw fail('ARCHIVE_LEADING_DATA', 'Data stands before the first member of the archive.');
}

async function signatureAt(source: ByteSource, at: number): Promise<number> {
  return at < 0 || at + 4 > source.size ? 0 : (await source.read(at, 4)).readUInt32LE(0);
}
