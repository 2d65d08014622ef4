import { createHash } from 'node:crypto';
import { type Clock, fail, systemClock } from '../core/index.ts';
import { type TimeBudget, timeBudget } from './budget.ts';
import { isEncrypted, readDirectory } from './directory.ts';
import { findDirectory } from './end-record.ts';
import { ARCHIVE_LIMITS, type ArchiveLimits, CHUNK_BYTES } from './limits.ts';
import { type PlacedMember, placeMembers } from './local-headers.ts';
import { memberContent, scanMember } from './member-data.ts';
import { printable } from './printable.ts';
import { METHOD } from './records.ts';
import { type ByteSource, readRange } from './source.ts';

export interface ArchiveOptions {
  /** Bounds other than the usual ones; what is not named keeps its usual value. */
  readonly limits?: Partial<ArchiveLimits>;
  /** Ends the reading with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The clock of the time bound. */
  readonly clock?: Clock;
}

export interface ArchiveMember {
  readonly name: string;
  /** Declared bytes; certain once the content has been read to its end. */
  readonly size: number;
  readonly compressedSize: number;
  readonly method: 'stored' | 'deflated';
  readonly encrypted: boolean;
}

/** A ZIP file whose structure holds. Nothing is known of its contents before they are read. */
export interface Archive {
  /** Bytes of the whole file. */
  readonly size: number;
  /** In the order in which they stand in the file. */
  readonly members: readonly ArchiveMember[];
  has(name: string): boolean;
  /** A member's content in chunks; see `memberContent` for when it may be believed. */
  content(name: string): AsyncGenerator<Buffer>;
  /** Reads a member to its end; `visit` sees each chunk, which is gone when it returns. Leaves no garbage behind. */
  scan(name: string, visit: (chunk: Buffer) => void): Promise<void>;
  /** A member's whole content, believed. Refused with ARCHIVE_MEMBER_TOO_LARGE when it declares more than `max`. */
  bytes(name: string, max: number): Promise<Buffer>;
  /** SHA-256 of the whole file, in lower-case hex. */
  sha256(): Promise<string>;
  /** Fails with ARCHIVE_CHANGED when the file changed since it was opened: call it before believing anything read. */
  checkUnchanged(): Promise<void>;
}

/**
 * Opens a hostile ZIP file: checks every record of its structure against every other before a member is read, and
 * accepts only what all readers read alike. Each kind of refusal has its own code; `docs/formats/package.md` lists
 * them. Memory: the central directory (at most `directoryBytes`) and a few chunks. The source is the caller's to close.
 */
export async function openArchive(source: ByteSource, options: ArchiveOptions = {}): Promise<Archive> {
  const limits = { ...ARCHIVE_LIMITS, ...options.limits };
  const budget = timeBudget(options.clock ?? systemClock, limits.readMs, options.signal);
  const place = await findDirectory(source, limits);
  const listed = await readDirectory(source, place, limits);
  budget.check();
  const placed = await placeMembers(source, place, listed);
  budget.check();
  return archiveOf(source, placed, budget);
}

function archiveOf(source: ByteSource, placed: readonly PlacedMember[], budget: TimeBudget): Archive {
  const byName = new Map(placed.map((member) => [member.name, member]));
  const find = (name: string): PlacedMember => {
    const member = byName.get(name);
    if (!member) throw fail('ARCHIVE_NO_MEMBER', `The archive has no member '${printable(name)}'.`);
    return member;
  };
  return {
    size: source.size,
    members: placed.map(describe),
    has: (name) => byName.has(name),
    content: (name) => memberContent(source, find(name), budget),
    scan: async (name, visit) => scanMember(source, find(name), budget, visit),
    bytes: async (name, max) => wholeContent(source, find(name), max, budget),
    sha256: () => hashOf(source, budget),
    checkUnchanged: () => source.checkUnchanged(),
  };
}

function describe(member: PlacedMember): ArchiveMember {
  return {
    name: member.name,
    size: member.size,
    compressedSize: member.compressedSize,
    method: member.record.method === METHOD.stored ? 'stored' : 'deflated',
    encrypted: isEncrypted(member.record),
  };
}

async function wholeContent(source: ByteSource, member: PlacedMember, max: number, budget: TimeBudget) {
  if (member.size > max)
    throw fail('ARCHIVE_MEMBER_TOO_LARGE', `'${printable(member.name)}' is larger than ${max} bytes.`);
  const chunks: Buffer[] = [];
  for await (const chunk of memberContent(source, member, budget)) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

async function hashOf(source: ByteSource, budget: TimeBudget): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readRange(source, 0, source.size, Buffer.allocUnsafe(CHUNK_BYTES))) {
    budget.check();
    hash.update(chunk);
  }
  return hash.digest('hex');
}
