import { fail, type HoldfastError } from '../core/index.ts';
import type { DirectoryMember } from './directory.ts';
import type { DirectoryPlace } from './end-record.ts';
import { readExtraFields } from './extra-fields.ts';
import { printable } from './printable.ts';
import { decodeLocal, FIXED_BYTES, FLAG, type LocalHeader, SENTINEL_32, SIGNATURE } from './records.ts';
import { type ByteSource, WindowReader } from './source.ts';

/** A member whose place in the file is known and checked. */
export interface PlacedMember extends DirectoryMember {
  readonly dataOffset: number;
}

/**
 * Walks the members in the order of their places. Every byte from the start of the file to the central directory must
 * belong to exactly one member: its header, its data, its descriptor. So nothing overlaps, nothing is shared, and
 * nothing is hidden; and each local header must say what the directory says.
 */
export async function placeMembers(
  source: ByteSource,
  place: DirectoryPlace,
  members: readonly DirectoryMember[],
): Promise<PlacedMember[]> {
  const ordered = members.toSorted((a, b) => a.localOffset - b.localOffset);
  const reader = new WindowReader(source);
  const placed: PlacedMember[] = [];
  let expected = 0;
  for (const [index, member] of ordered.entries()) {
    if (member.localOffset + FIXED_BYTES.local > place.offset) throw cutOff(member);
    if (member.localOffset < expected) throw overlap(member);
    if (member.localOffset > expected) throw await unexpected(source, expected, index === 0);
    const next = ordered[index + 1]?.localOffset ?? place.offset;
    const dataOffset = await readLocal(reader, member, place.offset);
    const dataEnd = dataOffset + member.compressedSize;
    if (dataEnd > place.offset) throw cutOff(member);
    expected = dataEnd + (await descriptorLength(reader, member, dataEnd, next));
    placed.push({ ...member, dataOffset });
  }
  if (expected > place.offset) throw fail('ARCHIVE_OVERLAP', 'A member overlaps the central directory.');
  if (expected < place.offset) throw await unexpected(source, expected, false);
  return placed;
}

function overlap(member: DirectoryMember): HoldfastError {
  return fail('ARCHIVE_OVERLAP', `'${printable(member.name)}' shares its data with another member.`);
}

function cutOff(member: DirectoryMember): HoldfastError {
  return fail('ARCHIVE_TRUNCATED', `'${printable(member.name)}' reaches past the data of the archive.`);
}

async function unexpected(source: ByteSource, at: number, leading: boolean): Promise<HoldfastError> {
  if (leading) return fail('ARCHIVE_LEADING_DATA', 'Data stands before the first member of the archive.');
  const signature = at + 4 <= source.size ? (await source.read(at, 4)).readUInt32LE(0) : 0;
  if (signature === SIGNATURE.central || signature === SIGNATURE.end)
    return fail('ARCHIVE_SECOND_DIRECTORY', 'The archive holds a second central directory.');
  return fail('ARCHIVE_HIDDEN_DATA', 'Data that belongs to no member stands between the members of the archive.');
}

/** Checks the local header against the directory; gives the place of the data. */
async function readLocal(reader: WindowReader, member: DirectoryMember, limit: number): Promise<number> {
  const at = member.localOffset;
  const bytes = await reader.read(at, FIXED_BYTES.local);
  if (bytes.readUInt32LE(0) !== SIGNATURE.local) throw disagrees(member, 'is missing');
  const local = decodeLocal(bytes);
  const nameAt = at + FIXED_BYTES.local;
  const dataOffset = nameAt + local.nameLength + local.extraLength;
  if (dataOffset > limit) throw cutOff(member);
  if (local.nameLength !== member.nameBytes.length) throw disagrees(member, 'has another name');
  const name = await reader.read(nameAt, local.nameLength);
  if (!name.equals(member.nameBytes)) throw disagrees(member, 'has another name');
  const zip64 = readExtraFields(await reader.read(nameAt + local.nameLength, local.extraLength));
  checkLocal(member, local, zip64);
  return dataOffset;
}

function disagrees(member: DirectoryMember, says: string): HoldfastError {
  const text = `The local header of '${printable(member.name)}' ${says} than the central directory says.`;
  return fail('ARCHIVE_LOCAL_HEADER', says === 'is missing' ? text.replace(' than', ' where') : text);
}

function checkLocal(member: DirectoryMember, local: LocalHeader, zip64: Buffer | undefined): void {
  const { record } = member;
  if (local.flags !== record.flags) throw disagrees(member, 'has other flags');
  if (local.method !== record.method) throw disagrees(member, 'has another method');
  if (local.time !== record.time || local.date !== record.date) throw disagrees(member, 'has another time');
  if ((local.versionNeeded & 0xff) > 63) throw disagrees(member, 'needs a newer version of the format');
  const later = (local.flags & FLAG.descriptor) !== 0;
  if (local.crc32 !== record.crc32 && !(later && local.crc32 === 0)) throw disagrees(member, 'has another checksum');
  const [wideSize, wideCompressed] = wideSizes(zip64);
  const sizes = [
    [local.size, wideSize, member.size],
    [local.compressedSize, wideCompressed, member.compressedSize],
  ] as const;
  for (const [short, wide, actual] of sizes) checkSize(member, short, wide, actual, later);
}

/** In a local header the ZIP64 field holds both sizes or is not there. */
function wideSizes(zip64: Buffer | undefined): readonly [bigint, bigint] | readonly [] {
  if (!zip64) return [];
  if (zip64.length !== 16) throw fail('ARCHIVE_ZIP64', 'A local header has a ZIP64 field of another form.');
  return [zip64.readBigUInt64LE(0), zip64.readBigUInt64LE(8)];
}

function checkSize(member: DirectoryMember, short: number, wide: bigint | undefined, actual: number, later: boolean) {
  const known = (value: number | bigint) => BigInt(value) === BigInt(actual) || (later && BigInt(value) === 0n);
  const shortFits = wide !== undefined && short === SENTINEL_32 ? true : known(short);
  if (!shortFits || (wide !== undefined && !known(wide))) throw disagrees(member, 'has another size');
}

const DESCRIPTOR_BYTES: ReadonlySet<number> = new Set([12, 16, 20, 24]);

/** The length of the data descriptor after a member's data: it fills what is left before the next record, and agrees. */
async function descriptorLength(reader: WindowReader, member: DirectoryMember, at: number, next: number) {
  if ((member.record.flags & FLAG.descriptor) === 0) return 0;
  const length = next - at;
  const broken = fail('ARCHIVE_DESCRIPTOR', `The data descriptor of '${printable(member.name)}' is missing or wrong.`);
  if (length < 0) throw overlap(member);
  if (!DESCRIPTOR_BYTES.has(length)) throw broken;
  const bytes = await reader.read(at, length);
  const signed = length === 16 || length === 24;
  if (signed && bytes.readUInt32LE(0) !== SIGNATURE.descriptor) throw broken;
  const start = signed ? 4 : 0;
  const wide = length - start === 20;
  const size = (index: number) =>
    wide ? bytes.readBigUInt64LE(start + 4 + 8 * index) : BigInt(bytes.readUInt32LE(start + 4 + 4 * index));
  const agrees =
    bytes.readUInt32LE(start) === member.record.crc32 &&
    size(0) === BigInt(member.compressedSize) &&
    size(1) === BigInt(member.size);
  if (!agrees) throw broken;
  return length;
}
