// Every kind of archive that is refused, built byte by byte: the code it must be refused with, what it is, its bytes.
import { deflateRawSync } from 'node:zlib';
import type { ErrorCode } from '../../../src/core/index.ts';
import { extraField, type Piece, u16, u64, zip } from './zip-builder.ts';

export interface Hostile {
  readonly code: ErrorCode;
  readonly what: string;
  readonly bytes: Buffer;
}

const hostile = (code: ErrorCode, what: string, bytes: Buffer): Hostile => ({ code, what, bytes });
const named = (code: ErrorCode, what: string, name: string | Buffer, flags = 0x800): Hostile =>
  hostile(code, what, zip([{ name, flags }]));
const two = (code: ErrorCode, what: string, a: string, b: string): Hostile =>
  hostile(
    code,
    what,
    zip([
      { name: a, flags: 0x800 },
      { name: b, flags: 0x800 },
    ]),
  );
const mode = (bits: number): number => bits * 0x10000;

const good: readonly Piece[] = [{ name: 'a.txt' }, { name: 'b/c.txt', method: 0 }];
const plain = zip(good);
const junk = Buffer.from('bytes that belong to nobody');
const central = (changes: Piece['central']): Buffer => zip([{ name: 'a.txt', ...(changes && { central: changes }) }]);
const local = (changes: Piece['local']): Buffer => zip([{ name: 'a.txt', ...(changes && { local: changes }) }]);

const names: readonly Hostile[] = [
  named('ARCHIVE_NAME_OUTSIDE', 'a name that leads outside', '../escape'),
  named('ARCHIVE_NAME_OUTSIDE', 'a name that leads outside in its middle', 'a/../../escape'),
  named('ARCHIVE_NAME_OUTSIDE', 'a name that is two dots', '..'),
  named('ARCHIVE_NAME_OUTSIDE', 'full-width dots and slash, which normalise to a way out', '．．／escape'),
  named('ARCHIVE_NAME_OUTSIDE', 'a two-dot leader, which normalises to a way out', '‥/escape'),
  named('ARCHIVE_NAME_ABSOLUTE', 'an absolute name', '/etc/passwd'),
  named('ARCHIVE_NAME_ABSOLUTE', 'an absolute name by a full-width slash', '／etc'),
  named('ARCHIVE_NAME_ABSOLUTE', 'a network share', '//server/share'),
  named('ARCHIVE_NAME_DRIVE', 'a drive letter', 'C:/windows/system.ini'),
  named('ARCHIVE_NAME_DRIVE', 'a drive letter without a slash', 'c:autoexec.bat'),
  named('ARCHIVE_NAME_NUL', 'a name with a NUL', 'notebook.json\0.txt'),
  named('ARCHIVE_NAME_BACKSLASH', 'a backslash', 'a\\b'),
  named('ARCHIVE_NAME_BACKSLASH', 'a way out with backslashes', '..\\..\\escape'),
  named('ARCHIVE_NAME_PART', 'an empty name', ''),
  named('ARCHIVE_NAME_PART', 'a part that is a dot', './session.json'),
  named('ARCHIVE_NAME_PART', 'an empty part', 'a//b'),
  named('ARCHIVE_NAME_PART', 'a dot in the middle', 'a/./b'),
  named('ARCHIVE_NAME_TRAILING', 'a trailing dot', 'session.json.'),
  named('ARCHIVE_NAME_TRAILING', 'a trailing blank', 'session.json '),
  named('ARCHIVE_NAME_TRAILING', 'a folder with a trailing blank', 'a /b'),
  named('ARCHIVE_NAME_TRAILING', 'a part of dots alone', 'a/.../b'),
  named('ARCHIVE_NAME_TRAILING', 'a leading blank', ' session.json'),
  named('ARCHIVE_NAME_TRAILING', 'a trailing no-break blank', 'a\u00a0/b'),
  named('ARCHIVE_NAME_CHARACTER', 'a control character', 'a\x1b[2Jb'),
  named('ARCHIVE_NAME_CHARACTER', 'a line break', 'a\nb'),
  named('ARCHIVE_NAME_CHARACTER', 'a character that turns the direction of text', 'a\u202etxt.exe'),
  named('ARCHIVE_NAME_CHARACTER', 'an invisible character', 'a\u200bb'),
  named('ARCHIVE_NAME_CHARACTER', 'a soft hyphen', 'a\u00adb'),
  named('ARCHIVE_NAME_CHARACTER', 'a stream of another file', 'session.json:hidden'),
  named('ARCHIVE_NAME_CHARACTER', 'a wildcard', 'a*b'),
  named('ARCHIVE_NAME_CHARACTER', 'a quote', 'a"b'),
  named('ARCHIVE_NAME_CHARACTER', 'a pipe', 'a|b'),
  named('ARCHIVE_NAME_DEVICE', 'a device', 'CON'),
  named('ARCHIVE_NAME_DEVICE', 'a device with an ending', 'data/nul.txt'),
  named('ARCHIVE_NAME_DEVICE', 'a port', 'com1.log'),
  named('ARCHIVE_NAME_DEVICE', 'a port with a raised digit', 'COM¹'),
  named('ARCHIVE_NAME_DEVICE', 'a console', 'CONIN$'),
  named('ARCHIVE_NAME_DEVICE', 'a device before its ending, with a blank', 'aux .txt'),
  named('ARCHIVE_NAME_ENCODING', 'a name that is not UTF-8', Buffer.from([0x61, 0xff, 0x62])),
  named('ARCHIVE_NAME_ENCODING', 'an overlong form of a slash', Buffer.from([0x61, 0xc0, 0xaf, 0x62])),
  named('ARCHIVE_NAME_ENCODING', 'a surrogate in UTF-8', Buffer.from([0xed, 0xa0, 0x80])),
  named('ARCHIVE_NAME_ENCODING', 'UTF-8 that does not say so', 'naïve.txt', 0),
  named('ARCHIVE_NAME_LENGTH', 'a part of 256 bytes', 'a'.repeat(256)),
  named('ARCHIVE_NAME_LENGTH', 'a name of 1025 bytes', `${'a/'.repeat(512)}b`),
  two('ARCHIVE_NAME_DUPLICATE', 'one name twice', 'a.txt', 'a.txt'),
  two('ARCHIVE_NAME_COLLISION', 'names that differ in case', 'a.txt', 'A.TXT'),
  two('ARCHIVE_NAME_COLLISION', 'a name composed and decomposed', 'caf\u00e9', 'cafe\u0301'),
  two('ARCHIVE_NAME_COLLISION', 'a sharp s and two of them', 'straße', 'STRASSE'),
  two('ARCHIVE_NAME_COLLISION', 'a ligature and its letters', 'ﬁle', 'file'),
  two('ARCHIVE_NAME_COLLISION', 'the Kelvin sign and a k', 'K', 'k'),
  two('ARCHIVE_NAME_COLLISION', 'two spellings of one folder', 'Data/a', 'data/b'),
  two('ARCHIVE_NAME_FOLDER', 'a file and a folder of one name', 'a', 'a/b'),
  two('ARCHIVE_NAME_FOLDER', 'a folder and a file of one name', 'a/b', 'a'),
  two('ARCHIVE_NAME_FOLDER', 'a file and a folder that differ in case', 'A', 'a/b'),
  named('ARCHIVE_FOLDER', 'a folder', 'folder/'),
];

const kinds: readonly Hostile[] = [
  hostile('ARCHIVE_LINK', 'a symbolic link', zip([{ content: '/etc/passwd', externalAttributes: mode(0o120777) }])),
  hostile(
    'ARCHIVE_LINK',
    'a symbolic link that says it was made on DOS',
    zip([{ externalAttributes: mode(0o120777), central: { madeBy: 20 } }]),
  ),
  hostile('ARCHIVE_LINK', 'a reparse point', zip([{ externalAttributes: 0x400 }])),
  hostile('ARCHIVE_FOLDER', 'a folder by its mode', zip([{ externalAttributes: mode(0o040755) }])),
  hostile('ARCHIVE_FOLDER', 'a folder by its DOS attribute', zip([{ externalAttributes: 0x10 }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a character device', zip([{ externalAttributes: mode(0o020666) }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a block device', zip([{ externalAttributes: mode(0o060660) }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a named pipe', zip([{ externalAttributes: mode(0o010644) }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a socket', zip([{ externalAttributes: mode(0o140755) }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a kind of file that does not exist', zip([{ externalAttributes: mode(0o150644) }])),
  hostile('ARCHIVE_SPECIAL_FILE', 'a volume label', zip([{ externalAttributes: 0x08 }])),
];

const codings: readonly Hostile[] = [
  hostile('ARCHIVE_ENCRYPTED', 'an encrypted member', zip([{ flags: 1 }])),
  hostile('ARCHIVE_ENCRYPTED', 'a strongly encrypted member', zip([{ flags: 0x41 }])),
  hostile('ARCHIVE_ENCRYPTED', 'masked headers', zip([{ flags: 0x2000 }])),
  hostile('ARCHIVE_METHOD', 'bzip2', zip([{ method: 12 }])),
  hostile('ARCHIVE_METHOD', 'LZMA', zip([{ method: 14 }])),
  hostile('ARCHIVE_METHOD', 'deflate64', zip([{ method: 9 }])),
  hostile('ARCHIVE_METHOD', 'Zstandard', zip([{ method: 93 }])),
  hostile('ARCHIVE_METHOD', 'a method that nobody knows', zip([{ method: 0xfffe }])),
  hostile('ARCHIVE_FLAGS', 'compressed patch data', zip([{ flags: 0x20 }])),
  hostile('ARCHIVE_FLAGS', 'a reserved flag', zip([{ flags: 0x8000 }])),
  hostile('ARCHIVE_VERSION', 'a version of the format that does not exist', zip([{ central: { versionNeeded: 99 } }])),
];

const extras: readonly Hostile[] = [
  hostile('ARCHIVE_EXTRA_FIELD', 'another name in an extra field', zip([{ centralExtra: extraField(0x7075, junk) }])),
  hostile('ARCHIVE_EXTRA_FIELD', 'data in an unknown extra field', zip([{ localExtra: extraField(0xcafe, junk) }])),
  hostile('ARCHIVE_EXTRA_FIELD', 'data in a field for times', zip([{ localExtra: extraField(0x5455, junk) }])),
  hostile(
    'ARCHIVE_EXTRA_FIELD',
    'a field that overruns',
    zip([{ centralExtra: Buffer.concat([u16(0x5455), u16(9)]) }]),
  ),
  hostile('ARCHIVE_EXTRA_FIELD', 'half a field', zip([{ centralExtra: Buffer.from([0x55]) }])),
  hostile(
    'ARCHIVE_EXTRA_FIELD',
    'one field twice',
    zip([
      { centralExtra: Buffer.concat([extraField(0x5455, junk.subarray(0, 5)), extraField(0x5455, Buffer.alloc(5))]) },
    ]),
  ),
];

const gluedSecond = zip([{ name: 'other.txt' }]);
const places: readonly Hostile[] = [
  hostile('ARCHIVE_NOT_ZIP', 'nothing', Buffer.alloc(0)),
  hostile('ARCHIVE_NOT_ZIP', 'text', Buffer.from('this is not a ZIP file at all, only a line of text\n'.repeat(3))),
  hostile('ARCHIVE_NOT_ZIP', 'a gzip file', Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(60)])),
  hostile('ARCHIVE_EMPTY', 'an archive without members', zip([])),
  hostile('ARCHIVE_LEADING_DATA', 'data before the first member, counted', zip(good, { prefix: junk })),
  hostile('ARCHIVE_LEADING_DATA', 'data glued before the archive', zip(good, { prefix: junk, countPrefix: false })),
  hostile('ARCHIVE_LEADING_DATA', 'a program glued before it', Buffer.concat([Buffer.from('#!/bin/sh\n'), plain])),
  hostile('ARCHIVE_TRAILING_DATA', 'data after the end', zip(good, { suffix: junk })),
  hostile('ARCHIVE_TRAILING_DATA', 'one byte after the end', zip(good, { suffix: Buffer.alloc(1) })),
  hostile('ARCHIVE_COMMENT', 'a comment', zip(good, { comment: 'hello' })),
  hostile('ARCHIVE_COMMENT', 'a comment of a member', zip([{ comment: 'hello' }])),
  hostile('ARCHIVE_SECOND_DIRECTORY', 'a whole archive before the archive', Buffer.concat([gluedSecond, plain])),
  hostile('ARCHIVE_SECOND_DIRECTORY', 'a second directory and end record in the comment', secondDirectoryInComment()),
  hostile(
    'ARCHIVE_SECOND_DIRECTORY',
    'a directory among the members',
    zip(good, { beforeDirectory: directoryOf(plain) }),
  ),
  hostile('ARCHIVE_HIDDEN_DATA', 'data between two members', zip([{ name: 'a' }, { name: 'b', before: junk }])),
  hostile('ARCHIVE_HIDDEN_DATA', 'data before the directory', zip(good, { beforeDirectory: junk })),
  hostile('ARCHIVE_HIDDEN_DATA', 'data after the directory', zip(good, { afterDirectory: junk })),
  hostile('ARCHIVE_HIDDEN_DATA', 'a member that the directory does not list', zip([{}, { localOnly: true }, {}])),
  hostile('ARCHIVE_TRUNCATED', 'a file that is cut in its members', plain.subarray(0, 60)),
  hostile('ARCHIVE_TRUNCATED', 'a file that is cut in its end record', plain.subarray(0, plain.length - 5)),
  hostile('ARCHIVE_TRUNCATED', 'a comment that is not there', zip(good, { end: { commentLength: 5 } })),
  hostile('ARCHIVE_TRUNCATED', 'a directory past the end', zip(good, { end: { directoryOffset: 0x7fffffff } })),
  hostile(
    'ARCHIVE_TRUNCATED',
    'data past the directory',
    zip([
      {
        method: 0,
        content: 'x',
        data: Buffer.alloc(1),
        local: { compressedSize: 9999, size: 9999 },
        central: { compressedSize: 9999, size: 9999 },
      },
    ]),
  ),
  hostile('ARCHIVE_TRUNCATED', 'a member past the directory', central({ localOffset: 0 + plain.length * 4 })),
  hostile('ARCHIVE_SPLIT', 'a part of a split archive', zip(good, { end: { disk: 1 } })),
  hostile('ARCHIVE_SPLIT', 'a directory on another disk', zip(good, { end: { directoryDisk: 1 } })),
  hostile('ARCHIVE_SPLIT', 'members on another disk', zip(good, { end: { entriesOnDisk: 1 } })),
  hostile('ARCHIVE_SPLIT', 'a member on another disk', central({ disk: 3 })),
  hostile(
    'ARCHIVE_DIRECTORY_CORRUPT',
    'fewer members than announced',
    zip(good, { end: { entries: 3, entriesOnDisk: 3 } }),
  ),
  hostile(
    'ARCHIVE_DIRECTORY_CORRUPT',
    'more members than announced',
    zip(good, { end: { entries: 1, entriesOnDisk: 1 } }),
  ),
  hostile('ARCHIVE_DIRECTORY_CORRUPT', 'a broken record', broken(plain, directoryAt(plain), Buffer.from('XX'))),
  hostile(
    'ARCHIVE_DIRECTORY_CORRUPT',
    'a name past the directory',
    broken(plain, directoryAt(plain) + 28, u16(0xffff)),
  ),
  hostile(
    'ARCHIVE_OVERLAP',
    'two members with one local part',
    zip([{ name: 'a' }, { name: 'b', centralOnly: true, central: { localOffset: 0 } }]),
  ),
  hostile('ARCHIVE_OVERLAP', 'a member inside another', overlapping()),
  hostile(
    'ARCHIVE_OVERLAP',
    'a descriptor inside the next member',
    zip([{ name: 'a', descriptor: Buffer.alloc(0), central: { compressedSize: 60 } }, { name: 'b' }]),
  ),
];

const locals: readonly Hostile[] = [
  hostile('ARCHIVE_LOCAL_HEADER', 'another name', zip([{ name: 'a.txt', localName: 'b.txt' }])),
  hostile('ARCHIVE_LOCAL_HEADER', 'a longer name', zip([{ name: 'a.txt', localName: 'a.txt2' }])),
  hostile('ARCHIVE_LOCAL_HEADER', 'another checksum', local({ crc32: 1 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'another size', local({ size: 1 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'another compressed size', local({ compressedSize: 1 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'another method', local({ method: 0 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'other flags', local({ flags: 0x800 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'another time', local({ time: 77 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'another date', local({ date: 77 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'a newer version', local({ versionNeeded: 99 })),
  hostile('ARCHIVE_LOCAL_HEADER', 'no local header', zip([{ localSignature: 0x04034b51 }])),
  hostile(
    'ARCHIVE_LOCAL_HEADER',
    'sizes before a descriptor that differ',
    zip([{ descriptor: 'signed', local: { size: 3 } }]),
  ),
  hostile('ARCHIVE_DESCRIPTOR', 'no descriptor', zip([{ descriptor: Buffer.alloc(0) }])),
  hostile('ARCHIVE_DESCRIPTOR', 'a descriptor with another checksum', zip([{ descriptor: Buffer.alloc(12) }])),
  hostile('ARCHIVE_DESCRIPTOR', 'a descriptor with another signature', zip([{ descriptor: Buffer.alloc(16) }])),
  hostile('ARCHIVE_DESCRIPTOR', 'a descriptor of a wrong length', zip([{ descriptor: Buffer.alloc(17) }])),
];

const wide = (...values: bigint[]): Buffer => extraField(1, Buffer.concat(values.map(u64)));
const sentinel = 0xffffffff;
const zip64s: readonly Hostile[] = [
  hostile('ARCHIVE_ZIP64', 'announced, but missing', zip(good, { end: { directoryOffset: sentinel } })),
  hostile(
    'ARCHIVE_ZIP64',
    'a count that is announced, but missing',
    zip(good, { end: { entries: 0xffff, entriesOnDisk: 0xffff } }),
  ),
  hostile('ARCHIVE_ZIP64', 'another number of members', zip(good, { zip64: { entries: 3n, entriesOnDisk: 3n } })),
  hostile('ARCHIVE_ZIP64', 'another directory', zip(good, { zip64: { directoryOffset: 3n } })),
  hostile(
    'ARCHIVE_ZIP64',
    'a directory that wraps around',
    zip(good, { end: { directoryOffset: sentinel }, zip64: { directoryOffset: 0xffffffffffffff00n } }),
  ),
  hostile('ARCHIVE_ZIP64', 'a record that is elsewhere', zip(good, { zip64: { locatorOffset: 0n } })),
  hostile('ARCHIVE_ZIP64', 'a record of another kind', zip(good, { zip64: { signature: 0x06064b51 } })),
  hostile('ARCHIVE_ZIP64', 'a record with data of its own', zip(good, { zip64: { recordSize: 60n } })),
  hostile('ARCHIVE_SPLIT', 'a record on another disk', zip(good, { zip64: { disk: 1 } })),
  hostile('ARCHIVE_SPLIT', 'several disks', zip(good, { zip64: { disks: 2 } })),
  hostile('ARCHIVE_SPLIT', 'members on another disk in ZIP64', zip(good, { zip64: { entriesOnDisk: 1n } })),
  hostile('ARCHIVE_ZIP64', 'a size that nothing announces', zip([{ centralExtra: wide(5n) }])),
  hostile('ARCHIVE_ZIP64', 'a size that is announced, but missing', central({ size: sentinel })),
  hostile(
    'ARCHIVE_ZIP64',
    'an impossible size',
    zip([{ central: { size: sentinel }, centralExtra: wide(0xffffffffffffffffn) }]),
  ),
  hostile('ARCHIVE_ZIP64', 'a local field of another form', zip([{ localExtra: wide(1n) }])),
  hostile(
    'ARCHIVE_LOCAL_HEADER',
    'local sizes in ZIP64 that differ',
    zip([{ local: { size: sentinel, compressedSize: sentinel }, localExtra: wide(1n, 1n) }]),
  ),
];

const MIB = 1024 * 1024;
const zeros = Buffer.alloc(MIB);
const bounds: readonly Hostile[] = [
  hostile('ARCHIVE_RATIO', 'a mebibyte of one byte', zip([{ content: zeros }])),
  hostile('ARCHIVE_RATIO', 'a size for which there are no bytes', zip([{ method: 8, data: Buffer.alloc(0) }])),
  hostile('ARCHIVE_MEMBER_TOO_LARGE', 'a member that declares too much', central({ size: 64 * MIB + 1 })),
  hostile(
    'ARCHIVE_MEMBER_TOO_LARGE',
    'a member that declares 2^53 - 1 bytes',
    zip([{ central: { size: sentinel }, centralExtra: wide(2n ** 53n - 1n) }]),
  ),
  hostile(
    'ARCHIVE_TOTAL_TOO_LARGE',
    'members that declare too much together',
    zip(
      Array.from(
        { length: 5 },
        (_, i): Piece => ({ name: `m${i}`, central: { size: 60 * MIB, compressedSize: 30 * MIB } }),
      ),
    ),
  ),
  hostile(
    'ARCHIVE_TOO_MANY_MEMBERS',
    'more members than allowed',
    zip(Array.from({ length: 4097 }, (_, i): Piece => ({ name: `${i}`, method: 0, content: '' }))),
  ),
  hostile(
    'ARCHIVE_TOO_MANY_MEMBERS',
    'millions of members announced',
    zip(good, {
      end: { entries: 0xffff, entriesOnDisk: 0xffff },
      zip64: { entries: 9_000_000n, entriesOnDisk: 9_000_000n },
    }),
  ),
  hostile(
    'ARCHIVE_TOO_MANY_MEMBERS',
    'more members announced than can be counted',
    zip(good, {
      end: { entries: 0xffff, entriesOnDisk: 0xffff },
      zip64: { entries: 2n ** 64n - 1n, entriesOnDisk: 2n ** 64n - 1n },
    }),
  ),
  hostile(
    'ARCHIVE_DIRECTORY_TOO_LARGE',
    'a directory of more than eight mebibytes',
    zip([{ centralExtra: Buffer.alloc(0) }], { end: { directorySize: 8 * MIB + 1 } }),
  ),
  hostile(
    'ARCHIVE_PADDED',
    'a stream that is longer than it could be',
    zip([
      {
        content: 'x',
        data: Buffer.concat([
          Buffer.from([0, 0, 0, 0xff, 0xff]),
          ...Array.from({ length: 40 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])),
          deflateRawSync('x'),
        ]),
      },
    ]),
  ),
];

const content = Buffer.from('some content of a member that is deflated');
const deflated = deflateRawSync(content);
const streams: readonly Hostile[] = [
  hostile(
    'ARCHIVE_CRC',
    'a stored byte that was flipped',
    broken(plain, plain.indexOf('content of', 80), Buffer.from('k')),
  ),
  hostile('ARCHIVE_CRC', 'a wrong checksum in both records', zip([{ local: { crc32: 5 }, central: { crc32: 5 } }])),
  hostile(
    'ARCHIVE_SIZE',
    'stored sizes that differ',
    zip([{ method: 0, content, local: { size: 5 }, central: { size: 5 } }]),
  ),
  hostile(
    'ARCHIVE_SIZE',
    'a stream that is shorter than declared',
    zip([{ content, local: { size: 90 }, central: { size: 90 } }]),
  ),
  hostile(
    'ARCHIVE_STREAM_TOO_LONG',
    'a stream that is longer than declared',
    zip([{ content, local: { size: 30 }, central: { size: 30 } }]),
  ),
  hostile(
    'ARCHIVE_STREAM_TOO_LONG',
    'a member that declares to be empty and is not',
    zip([{ content, data: deflated, local: { size: 0, crc32: 0 }, central: { size: 0, crc32: 0 } }]),
  ),
  hostile(
    'ARCHIVE_STREAM_TRAILING',
    'data after the end of the stream',
    zip([{ content, data: Buffer.concat([deflated, Buffer.from('hidden')]) }]),
  ),
  hostile('ARCHIVE_STREAM_CORRUPT', 'a stream that is cut off', zip([{ content, data: deflated.subarray(0, -4) }])),
  hostile(
    'ARCHIVE_STREAM_CORRUPT',
    'a block of a kind that does not exist',
    zip([{ content: 'abc', data: Buffer.from([0x07, 1, 2]) }]),
  ),
  hostile(
    'ARCHIVE_STREAM_CORRUPT',
    'a distance before the beginning',
    zip([{ content: 'abcdef', data: Buffer.from('4b044200', 'hex') }]),
  ),
];

/** The same for a member so large that it is inflated as a stream. */
const large = Buffer.from(Array.from({ length: 400_000 }, (_, i) => `${(i * 7919) % 10_007}`).join(' '));
const largeDeflated = deflateRawSync(large);
const cut = large.length - 300_000;
const largeStreams: readonly Hostile[] = [
  hostile(
    'ARCHIVE_CRC',
    'a large member with a wrong checksum',
    zip([{ content: large, local: { crc32: 5 }, central: { crc32: 5 } }]),
  ),
  hostile(
    'ARCHIVE_SIZE',
    'a large stream that is too short',
    zip([{ content: large, local: { size: large.length + 9 }, central: { size: large.length + 9 } }]),
  ),
  hostile(
    'ARCHIVE_STREAM_TOO_LONG',
    'a large stream that is too long',
    zip([{ content: large, local: { size: cut }, central: { size: cut } }]),
  ),
  hostile(
    'ARCHIVE_STREAM_TRAILING',
    'a large stream with data behind it',
    zip([{ content: large, data: Buffer.concat([largeDeflated, Buffer.alloc(90_000)]) }]),
  ),
  hostile(
    'ARCHIVE_STREAM_CORRUPT',
    'a large stream that is cut off',
    zip([{ content: large, data: largeDeflated.subarray(0, -99) }]),
  ),
  hostile(
    'ARCHIVE_STREAM_CORRUPT',
    'a large stream that is damaged',
    zip([{ content: large, data: broken(largeDeflated, 5_000, Buffer.alloc(2_000, 0xff)) }]),
  ),
];

function directoryAt(archive: Buffer): number {
  return archive.readUInt32LE(archive.length - 6);
}

function directoryOf(archive: Buffer): Buffer {
  return archive.subarray(directoryAt(archive), archive.length - 22);
}

function broken(archive: Buffer, at: number, bytes: Buffer): Buffer {
  const copy = Buffer.from(archive);
  bytes.copy(copy, at);
  return copy;
}

/** A comment that holds a directory and an end record of its own: a reader that searches from the end sees these. */
function secondDirectoryInComment(): Buffer {
  const first = zip([{ name: 'a.txt' }]);
  const directory = directoryOf(first);
  const end = Buffer.from(first.subarray(first.length - 22));
  end.writeUInt32LE(first.length, 16);
  const comment = Buffer.concat([directory, end]);
  const whole = Buffer.concat([first, comment]);
  whole.writeUInt16LE(comment.length, first.length - 2);
  return whole;
}

/** The second member's local part lies inside the stored data of the first. */
function overlapping(): Buffer {
  const inner = zip([{ name: 'b', method: 0, content: 'inner' }]);
  const innerLocal = inner.subarray(0, directoryAt(inner));
  const at = 30 + 1;
  return zip([
    { name: 'a', method: 0, content: innerLocal },
    { name: 'b', method: 0, content: 'inner', centralOnly: true, central: { localOffset: at } },
  ]);
}

/** Archives that are refused when they are opened or when their members are read. */
export const HOSTILE: readonly Hostile[] = [
  ...names,
  ...kinds,
  ...codings,
  ...extras,
  ...places,
  ...locals,
  ...zip64s,
  ...bounds,
  ...streams,
  ...largeStreams,
];

/** An archive with nothing wrong about it. */
export const GOOD_ARCHIVE = plain;
