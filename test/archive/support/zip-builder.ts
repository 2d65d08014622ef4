// Builds ZIP files byte by byte, right or wrong, without a line of the product's own writer.
import { crc32, deflateRawSync } from 'node:zlib';

/** One member to write. What is not given follows from the content; `local` and `central` lie in one record only. */
export interface Piece {
  readonly name?: string | Buffer;
  readonly content?: string | Buffer;
  /** The bytes to write as the member's data, where they are not what `method` makes of the content. */
  readonly data?: Buffer;
  readonly method?: number;
  readonly flags?: number;
  readonly externalAttributes?: number;
  readonly local?: Partial<Fields>;
  readonly central?: Partial<Fields>;
  readonly localExtra?: Buffer;
  readonly centralExtra?: Buffer;
  readonly localName?: string | Buffer;
  readonly comment?: string;
  /** Written after the data. `right` makes the descriptor that fits. */
  readonly descriptor?: Buffer | 'signed' | 'bare' | 'signed64' | 'bare64';
  /** Bytes before the local header that belong to nobody. */
  readonly before?: Buffer;
  /** True leaves the local part out: the central record then needs a `localOffset`. */
  readonly centralOnly?: boolean;
  /** True leaves the central record out. */
  readonly localOnly?: boolean;
  readonly localSignature?: number;
}

export interface Fields {
  readonly versionNeeded: number;
  readonly flags: number;
  readonly method: number;
  readonly time: number;
  readonly date: number;
  readonly crc32: number;
  readonly compressedSize: number;
  readonly size: number;
  readonly madeBy: number;
  readonly disk: number;
  readonly internalAttributes: number;
  readonly localOffset: number;
}

export interface Frame {
  readonly prefix?: Buffer;
  /** False: offsets are those of a file without the prefix, as when something is glued before an archive. */
  readonly countPrefix?: boolean;
  readonly beforeDirectory?: Buffer;
  readonly afterDirectory?: Buffer;
  readonly suffix?: Buffer;
  readonly comment?: string | Buffer;
  readonly end?: Partial<EndFields>;
  readonly zip64?: Partial<Zip64Fields> | 'plain';
}

interface EndFields {
  disk: number;
  directoryDisk: number;
  entriesOnDisk: number;
  entries: number;
  directorySize: number;
  directoryOffset: number;
  commentLength: number;
}

interface Zip64Fields {
  recordSize: bigint;
  disk: number;
  entries: bigint;
  entriesOnDisk: bigint;
  directorySize: bigint;
  directoryOffset: bigint;
  locatorOffset: bigint;
  disks: number;
  signature: number;
}

const bytesOf = (value: string | Buffer): Buffer => (typeof value === 'string' ? Buffer.from(value) : value);
const u16 = (value: number): Buffer => Buffer.from([value & 0xff, (value >>> 8) & 0xff]);
const u32 = (value: number): Buffer => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)]);
const u64 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
};
export { u16, u32, u64 };

/** An extra field: identifier, length, data. */
export const extraField = (id: number, data: Buffer): Buffer => Buffer.concat([u16(id), u16(data.length), data]);

function commonBytes(fields: Fields): Buffer {
  const { versionNeeded, flags, method, time, date } = fields;
  const sizes = [fields.crc32, fields.compressedSize, fields.size].map(u32);
  return Buffer.concat([...[versionNeeded, flags, method, time, date].map(u16), ...sizes]);
}

function descriptorBytes(piece: Piece, fields: Fields): Buffer {
  const kind = piece.descriptor;
  if (kind === undefined) return Buffer.alloc(0);
  if (typeof kind !== 'string') return kind;
  const wide = kind.endsWith('64');
  const size = (value: number) => (wide ? u64(BigInt(value)) : u32(value));
  const signature = kind.startsWith('signed') ? u32(0x08074b50) : Buffer.alloc(0);
  return Buffer.concat([signature, u32(fields.crc32), size(fields.compressedSize), size(fields.size)]);
}

function fieldsOf(piece: Piece, offset: number): { fields: Fields; data: Buffer } {
  const content = bytesOf(piece.content ?? 'content of the member');
  const method = piece.method ?? 8;
  const data = piece.data ?? (method === 8 ? deflateRawSync(content) : content);
  const fields = {
    versionNeeded: 20,
    flags: (piece.flags ?? 0) | (piece.descriptor === undefined ? 0 : 8),
    method,
    time: 0,
    date: 33,
    crc32: crc32(content),
    compressedSize: data.length,
    size: content.length,
    madeBy: (3 << 8) | 20,
    disk: 0,
    internalAttributes: 0,
    localOffset: offset,
  };
  return { fields, data };
}

/** The bytes of an archive with these members, framed as told. */
export function zip(pieces: readonly Piece[], frame: Frame = {}): Buffer {
  const prefix = frame.prefix ?? Buffer.alloc(0);
  const base = frame.countPrefix === false ? 0 : prefix.length;
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = base;
  for (const [index, piece] of pieces.entries()) {
    const before = piece.before ?? Buffer.alloc(0);
    const { fields, data } = fieldsOf(piece, offset + before.length);
    const name = bytesOf(piece.name ?? `member-${index}.txt`);
    if (piece.centralOnly !== true) {
      const inHeader = piece.descriptor === undefined ? {} : { crc32: 0, compressedSize: 0, size: 0 };
      const localName = bytesOf(piece.localName ?? name);
      const extra = piece.localExtra ?? Buffer.alloc(0);
      const header = [
        u32(piece.localSignature ?? 0x04034b50),
        commonBytes({ ...fields, ...inHeader, ...piece.local }),
        u16(localName.length),
        u16(extra.length),
      ];
      const local = Buffer.concat([before, ...header, localName, extra, data, descriptorBytes(piece, fields)]);
      locals.push(local);
      offset += local.length;
    }
    if (piece.localOnly !== true) centrals.push(centralBytes(piece, { ...fields, ...piece.central }, name));
  }
  const gap = frame.beforeDirectory ?? Buffer.alloc(0);
  const directory = Buffer.concat(centrals);
  const after = frame.afterDirectory ?? Buffer.alloc(0);
  const directoryOffset = offset + gap.length;
  const tail = endBytes(frame, centrals.length, directory.length, directoryOffset, after.length + prefix.length - base);
  return Buffer.concat([prefix, ...locals, gap, directory, after, ...tail, frame.suffix ?? Buffer.alloc(0)]);
}

function centralBytes(piece: Piece, fields: Fields, name: Buffer): Buffer {
  const extra = piece.centralExtra ?? Buffer.alloc(0);
  const comment = bytesOf(piece.comment ?? '');
  return Buffer.concat([
    u32(0x02014b50),
    u16(fields.madeBy),
    commonBytes(fields),
    u16(name.length),
    u16(extra.length),
    u16(comment.length),
    u16(fields.disk),
    u16(fields.internalAttributes),
    u32((piece.externalAttributes ?? 0o100600 * 0x10000) >>> 0),
    u32(fields.localOffset),
    name,
    extra,
    comment,
  ]);
}

function endBytes(frame: Frame, entries: number, size: number, offset: number, shift: number): Buffer[] {
  const comment = bytesOf(frame.comment ?? '');
  const end = {
    disk: 0,
    directoryDisk: 0,
    entriesOnDisk: entries,
    entries,
    directorySize: size,
    directoryOffset: offset,
    commentLength: comment.length,
    ...frame.end,
  };
  const record = [
    u32(0x06054b50),
    ...[end.disk, end.directoryDisk, end.entriesOnDisk, end.entries].map(u16),
    u32(end.directorySize),
    u32(end.directoryOffset),
    u16(end.commentLength),
    comment,
  ];
  return frame.zip64 ? [zip64Bytes(frame.zip64, entries, size, offset, shift), ...record] : record;
}

function zip64Bytes(
  given: Partial<Zip64Fields> | 'plain',
  entries: number,
  size: number,
  offset: number,
  shift: number,
) {
  const fields = {
    recordSize: 44n,
    disk: 0,
    entries: BigInt(entries),
    entriesOnDisk: BigInt(entries),
    directorySize: BigInt(size),
    directoryOffset: BigInt(offset),
    locatorOffset: BigInt(offset + size + shift),
    disks: 1,
    signature: 0x06064b50,
    ...(given === 'plain' ? {} : given),
  };
  return Buffer.concat([
    u32(fields.signature),
    u64(fields.recordSize),
    u16(45),
    u16(45),
    u32(fields.disk),
    u32(0),
    u64(fields.entriesOnDisk),
    u64(fields.entries),
    u64(fields.directorySize),
    u64(fields.directoryOffset),
    u32(0x07064b50),
    u32(0),
    u64(fields.locatorOffset),
    u32(fields.disks),
  ]);
}
