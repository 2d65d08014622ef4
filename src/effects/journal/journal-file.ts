import { constants } from 'node:fs';
import { dirname } from 'node:path';
import {
  errnoOf,
  fail,
  type FaultPoints,
  type FileFacts,
  type FileSystem,
  requireWithin,
  syncFolder,
  writeAll,
} from '../../core/index.ts';
import type { LogState } from '../log-state.ts';
import { LINE_FEED, readLine } from './line.ts';

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const OTHERS_WRITE = 0o022;
const OTHERS_READ = 0o055;
/** Every claim that found room can be settled: its outcome takes less than a kilobyte. */
const ROOM_FOR_ENDINGS = 16 * 1024 * 1024;

/**
 * The file of one run's journal. It knows how far it was read; lines are taken in once, whole, in order. What it cannot
 * trust it refuses: `EFFECT_JOURNAL_UNSAFE` for the file's place and rights, `EFFECT_JOURNAL_DAMAGED` for its content.
 */
export class JournalFile {
  readonly path: string;
  readonly #files: FileSystem;
  readonly #faults: FaultPoints;
  #identity: string | undefined;
  #readTo = 0;
  #failedSync = false;

  constructor(path: string, files: FileSystem, faults: FaultPoints) {
    this.path = path;
    this.#files = files;
    this.#faults = faults;
  }

  /** Where the last whole line ends that was taken in or written. */
  get end(): number {
    return this.#readTo;
  }

  exists(): boolean {
    try {
      this.#files.lstat(this.path);
      return true;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return false;
      throw error;
    }
  }

  /** Takes in what was added since the last look. It never changes the file; a missing file has no lines. */
  refresh(state: LogState): void {
    const fd = this.#openToRead();
    if (fd === undefined) return;
    try {
      this.#takeIn(fd, this.#inspect(fd), state);
    } finally {
      this.#files.close(fd);
    }
  }

  /**
   * Under the lock: takes in others' lines, cuts off a torn last fragment, asks for the lines to add, writes them and
   * forces them to disk. If that fails the file is cut back to its last whole line; after a failed forcing nothing more
   * is written through this object, since the kernel may have dropped what it could not write.
   */
  append(state: LogState, lines: () => readonly Uint8Array[]): void {
    if (this.#failedSync) throw fail('EFFECT_NOT_DURABLE', 'An earlier write could not be forced to disk.');
    const fd = this.#files.open(this.path, APPEND, 0o600);
    try {
      const facts = this.#inspect(fd);
      this.#narrow(facts);
      this.#takeIn(fd, facts, state);
      if (facts.size > this.#readTo) this.#files.truncate(fd, this.#readTo);
      this.#write(fd, Buffer.concat(lines()));
    } finally {
      this.#files.close(fd);
    }
  }

  #write(fd: number, bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return;
    const first = this.#readTo === 0;
    try {
      writeAll(this.#files, fd, bytes);
      void this.#faults.reach('log-appended');
      this.#sync(fd, first);
    } catch (error) {
      this.#cutBack(fd);
      throw error;
    }
    void this.#faults.reach('log-synced');
    this.#readTo += bytes.byteLength;
  }

  #sync(fd: number, first: boolean): void {
    try {
      this.#files.fdatasync(fd);
      if (first) syncFolder(this.#files, dirname(this.path));
    } catch (error) {
      this.#failedSync = true;
      throw error;
    }
  }

  #cutBack(fd: number): void {
    try {
      this.#files.truncate(fd, this.#readTo);
    } catch {
      // What stays behind the last whole line is a torn fragment, or whole lines that this object will not build on.
      this.#failedSync = true;
    }
  }

  #openToRead(): number | undefined {
    try {
      return this.#files.open(this.path, READ);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' && this.#identity === undefined) return undefined;
      if (errnoOf(error) === 'ENOENT') throw unsafe('The journal is gone.');
      if (errnoOf(error) === 'ELOOP') throw unsafe('The journal is a symbolic link.');
      throw error;
    }
  }

  #inspect(fd: number): FileFacts {
    const facts = this.#files.factsOf(fd);
    if (facts.kind !== 'file') throw unsafe('The journal is not a regular file.');
    if (facts.links !== 1) throw unsafe('The journal has more than one name.');
    if ((facts.mode & OTHERS_WRITE) !== 0) throw unsafe('Others may write to the journal.');
    if (process.getuid && facts.uid !== process.getuid()) throw unsafe('The journal belongs to another user.');
    if (this.#identity !== undefined && facts.identity !== this.#identity) throw unsafe('The journal was replaced.');
    this.#identity = facts.identity;
    requireWithin('effectJournalBytes', facts.size - ROOM_FOR_ENDINGS);
    if (facts.size < this.#readTo) throw damaged('The journal became shorter than what was already read.');
    return facts;
  }

  #narrow(facts: FileFacts): void {
    if ((facts.mode & OTHERS_READ) !== 0) this.#files.chmod(this.path, 0o600);
  }

  #takeIn(fd: number, facts: FileFacts, state: LogState): void {
    const tail = readRange(this.#files, fd, this.#readTo, facts.size);
    for (let start = 0, end = tail.indexOf(LINE_FEED); end >= 0; end = tail.indexOf(LINE_FEED, start)) {
      addLine(state, tail.subarray(start, end));
      this.#readTo += end + 1 - start;
      start = end + 1;
    }
  }
}

/** The folder holds what names the journal, so it must be as private as the journal itself. */
export function inspectFolder(files: FileSystem, folder: string): void {
  const fd = files.open(folder, 'r');
  try {
    const facts = files.factsOf(fd);
    if (facts.kind !== 'folder' || (facts.mode & OTHERS_WRITE) !== 0)
      throw unsafe('Others may write to the folder of the journal.');
  } finally {
    files.close(fd);
  }
}

function addLine(state: LogState, bytes: Uint8Array): void {
  try {
    state.add(readLine(bytes));
  } catch (cause) {
    throw damaged(`The record after ${state.size} others is invalid or disagrees with them.`, cause);
  }
}

function readRange(files: FileSystem, fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let done = 0;
  while (done < bytes.byteLength) {
    const got = files.read(fd, bytes.subarray(done), from + done);
    if (got === 0) break;
    done += got;
  }
  return bytes.subarray(0, done);
}

function unsafe(message: string): Error {
  return fail('EFFECT_JOURNAL_UNSAFE', message);
}

function damaged(message: string, cause?: unknown): Error {
  return fail('EFFECT_JOURNAL_DAMAGED', message, { cause });
}
