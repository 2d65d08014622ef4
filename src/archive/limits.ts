import { LIMITS } from '../core/index.ts';

/** The bounds of one reading of an archive. Each is checked before memory or time is spent on what it bounds. */
export interface ArchiveLimits {
  /** Bytes of the whole file: what an import or verify request may carry. */
  readonly archiveBytes: number;
  /** Sum of the declared sizes of all members: what an importer would have to store. */
  readonly totalBytes: number;
  /** Declared size of one member. */
  readonly memberBytes: number;
  /** Members in the directory: each costs a read, a name check and a manifest row. */
  readonly members: number;
  /** Bytes of the central directory, held in memory while it is parsed. */
  readonly directoryBytes: number;
  /** Declared size divided by compressed size of one member: beyond it, it is a bomb. */
  readonly ratio: number;
  /** Bytes of one member's name in UTF-8. */
  readonly nameBytes: number;
  /** Bytes of one part of a name: the longest file name that common file systems take. */
  readonly namePartBytes: number;
  /** Milliseconds for one whole reading: slow streams end here. */
  readonly readMs: number;
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  archiveBytes: LIMITS.archiveBytes,
  totalBytes: LIMITS.archiveTotalBytes,
  memberBytes: LIMITS.archiveMemberBytes,
  members: LIMITS.archiveMembers,
  directoryBytes: LIMITS.archiveDirectoryBytes,
  ratio: LIMITS.archiveRatio,
  nameBytes: LIMITS.archiveNameBytes,
  namePartBytes: LIMITS.archiveNamePartBytes,
  readMs: LIMITS.archiveReadMs,
};

/** How much of a file is in memory at a time while it is read in order. */
export const CHUNK_BYTES = 256 * 1024;

/** A member up to this size is inflated in one call; a larger one as a stream of chunks. */
export const WHOLE_MEMBER_BYTES = 1024 * 1024;
