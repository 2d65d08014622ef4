export { ARCHIVE_LIMITS, type ArchiveLimits } from './limits.ts';
export { foldName, nameFault } from './member-names.ts';
export { printable } from './printable.ts';
export { type Archive, type ArchiveMember, type ArchiveOptions, openArchive } from './reader.ts';
export { bytesSource, type ByteSource, fileSource } from './source.ts';
export { type NewMember, writeArchive } from './writer.ts';
