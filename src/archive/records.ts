/**
 * The records of a ZIP file (APPNOTE 6.3.10, sections 4.3 and 4.5), as plain values: decoding takes bytes that are
 * already known to be long enough, and judges nothing.
 */

export const SIGNATURE = {
  local: 0x04034b50,
  central: 0x02014b50,
  end: 0x06054b50,
  zip64End: 0x06064b50,
  zip64Locator: 0x07064b50,
  descriptor: 0x08074b50,
} as const;

export const FIXED_BYTES = { local: 30, central: 46, end: 22, zip64End: 56, zip64Locator: 20 } as const;

export const FLAG = {
  encrypted: 1 << 0,
  deflateHints: 0b110,
  descriptor: 1 << 3,
  strongEncryption: 1 << 6,
  utf8: 1 << 11,
  maskedHeaders: 1 << 13,
} as const;

export const METHOD = { stored: 0, deflated: 8 } as const;

/** In a 16 or 32 bit field: the value stands in the ZIP64 record. */
export const SENTINEL_16 = 0xffff;
export const SENTINEL_32 = 0xffffffff;

/** What local header and central record both say about a member. */
export interface CommonFields {
  readonly versionNeeded: number;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly date: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
}

export interface LocalHeader extends CommonFields {
  readonly nameLength: number;
  readonly extraLength: number;
}

export interface CentralRecord extends CommonFields {
  readonly madeBy: number;
  readonly nameLength: number;
  readonly extraLength: number;
  readonly commentLength: number;
  readonly disk: number;
  readonly internalAttributes: number;
  readonly externalAttributes: number;
  readonly localOffset: number;
}

export interface EndRecord {
  readonly disk: number;
  readonly directoryDisk: number;
  readonly entriesOnDisk: number;
  readonly entries: number;
  readonly directorySize: number;
  readonly directoryOffset: number;
  readonly commentLength: number;
}

export interface Zip64End {
  readonly recordSize: bigint;
  readonly disk: number;
  readonly directoryDisk: number;
  readonly entriesOnDisk: bigint;
  readonly entries: bigint;
  readonly directorySize: bigint;
  readonly directoryOffset: bigint;
}

/** The fields that stand in the same order in both headers; `at` is where `versionNeeded` stands. */
function commonFields(bytes: Buffer, at: number): CommonFields {
  return {
    versionNeeded: bytes.readUInt16LE(at),
    flags: bytes.readUInt16LE(at + 2),
    method: bytes.readUInt16LE(at + 4),
    time: bytes.readUInt16LE(at + 6),
    date: bytes.readUInt16LE(at + 8),
    crc32: bytes.readUInt32LE(at + 10),
    compressedSize: bytes.readUInt32LE(at + 14),
    size: bytes.readUInt32LE(at + 18),
  };
}

export function decodeLocal(bytes: Buffer): LocalHeader {
  return { ...commonFields(bytes, 4), nameLength: bytes.readUInt16LE(26), extraLength: bytes.readUInt16LE(28) };
}

export function decodeCentral(bytes: Buffer, at: number): CentralRecord {
  return {
    ...commonFields(bytes, at + 6),
    madeBy: bytes.readUInt16LE(at + 4),
    nameLength: bytes.readUInt16LE(at + 28),
    extraLength: bytes.readUInt16LE(at + 30),
    commentLength: bytes.readUInt16LE(at + 32),
    disk: bytes.readUInt16LE(at + 34),
    internalAttributes: bytes.readUInt16LE(at + 36),
    externalAttributes: bytes.readUInt32LE(at + 38),
    localOffset: bytes.readUInt32LE(at + 42),
  };
}

export function decodeEnd(bytes: Buffer, at: number): EndRecord {
  return {
    disk: bytes.readUInt16LE(at + 4),
    directoryDisk: bytes.readUInt16LE(at + 6),
    entriesOnDisk: bytes.readUInt16LE(at + 8),
    entries: bytes.readUInt16LE(at + 10),
    directorySize: bytes.readUInt32LE(at + 12),
    directoryOffset: bytes.readUInt32LE(at + 16),
    commentLength: bytes.readUInt16LE(at + 20),
  };
}

export function decodeZip64End(bytes: Buffer): Zip64End {
  return {
    recordSize: bytes.readBigUInt64LE(4),
    disk: bytes.readUInt32LE(16),
    directoryDisk: bytes.readUInt32LE(20),
    entriesOnDisk: bytes.readBigUInt64LE(24),
    entries: bytes.readBigUInt64LE(32),
    directorySize: bytes.readBigUInt64LE(40),
    directoryOffset: bytes.readBigUInt64LE(48),
  };
}

/** What the writer says about a member: sizes are known before the header is written, so nothing follows the data. */
export interface WrittenMember extends CommonFields {
  readonly name: Buffer;
  readonly madeBy: number;
  readonly externalAttributes: number;
  readonly localOffset: number;
}

function putCommonFields(into: Buffer, at: number, fields: CommonFields): void {
  into.writeUInt16LE(fields.versionNeeded, at);
  into.writeUInt16LE(fields.flags, at + 2);
  into.writeUInt16LE(fields.method, at + 4);
  into.writeUInt16LE(fields.time, at + 6);
  into.writeUInt16LE(fields.date, at + 8);
  into.writeUInt32LE(fields.crc32, at + 10);
  into.writeUInt32LE(fields.compressedSize, at + 14);
  into.writeUInt32LE(fields.size, at + 18);
}

export function encodeLocal(member: WrittenMember): Buffer {
  const header = Buffer.alloc(FIXED_BYTES.local);
  header.writeUInt32LE(SIGNATURE.local, 0);
  putCommonFields(header, 4, member);
  header.writeUInt16LE(member.name.length, 26);
  return Buffer.concat([header, member.name]);
}

export function encodeCentral(member: WrittenMember): Buffer {
  const record = Buffer.alloc(FIXED_BYTES.central);
  record.writeUInt32LE(SIGNATURE.central, 0);
  record.writeUInt16LE(member.madeBy, 4);
  putCommonFields(record, 6, member);
  record.writeUInt16LE(member.name.length, 28);
  record.writeUInt32LE(member.externalAttributes, 38);
  record.writeUInt32LE(member.localOffset, 42);
  return Buffer.concat([record, member.name]);
}

export function encodeEnd(entries: number, directorySize: number, directoryOffset: number): Buffer {
  const record = Buffer.alloc(FIXED_BYTES.end);
  record.writeUInt32LE(SIGNATURE.end, 0);
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(directorySize, 12);
  record.writeUInt32LE(directoryOffset, 16);
  return record;
}
