import { join } from 'node:path';
import {
  type Clock,
  errnoOf,
  fail,
  type FileSystem,
  type Ids,
  LIMITS,
  makeFolder,
  nodeFileSystem,
  requireWithin,
  sha256Hex,
  systemClock,
  systemIds,
  wrapFileError,
} from '../../core/index.ts';
import { corrupt, eventDocument, messageDocument, readGoals, readTrace, traceDocument } from '../trace/documents.ts';
import { checkTraceId, isTraceId, placeOfMessage } from '../trace/ids.ts';
import type {
  Attachment,
  AttachmentInput,
  GoalTree,
  IntegrityReport,
  NewTrace,
  PageRequest,
  Trace,
  TraceChange,
  TraceEvent,
  TraceFilter,
  TraceMessage,
} from '../trace/model.ts';
import type { ChangeOf, TraceStore } from '../trace/port.ts';
import {
  attachmentName,
  checkAttachmentName,
  checkedChange,
  checkedEvent,
  checkedGoals,
  checkedMessage,
  checkedStatuses,
  newTrace,
  pageAfter,
  pageAfterId,
  pageLimit,
} from '../trace/records.ts';
import { FileBatches } from './batches.ts';
import { FileRunHolds } from './holds.ts';
import { eventNumbers, messageAt, messageEvent, readEvents, readMessages, recount } from './integrity.ts';
import { TraceLocks } from './locks.ts';
import { numberedFile, TraceFolder } from './trace-folder.ts';

const META = 'meta.json';
const GOAL = 'goal.json';

export interface FileTraceStoreOptions {
  /** The folder that holds a folder for each trace. It is made, 0700, with the first one. */
  readonly folder: string;
  readonly files?: FileSystem;
  readonly clock?: Clock;
  /** Names of temporary files. */
  readonly ids?: Ids;
  /** How long a write waits for another process. Default and most: 5 seconds. */
  readonly lockWaitMs?: number;
}

/**
 * The file home of traces: a folder of JSON documents for each, every one replaced whole or not at all. For whoever
 * embeds runs alone and for runs that do not write; several processes may use one folder.
 */
export class FileTraceStore implements TraceStore {
  /** The approval batches of the traces in this folder. */
  readonly batches: FileBatches;
  /** Who carries out the runs of these traces. */
  readonly holds: FileRunHolds;
  readonly folder: string;
  readonly #files: FileSystem;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #locks: TraceLocks;

  constructor(options: FileTraceStoreOptions) {
    this.folder = options.folder;
    this.#files = options.files ?? nodeFileSystem;
    this.#clock = options.clock ?? systemClock;
    this.#ids = options.ids ?? systemIds;
    this.#locks = new TraceLocks(this.#files, Math.min(options.lockWaitMs ?? Infinity, LIMITS.traceLockWaitMs));
    this.holds = new FileRunHolds(this.folder, this.#files);
    this.batches = new FileBatches({
      read: (traceId, body) => this.#read(traceId, body),
      write: (traceId, body) => this.#write(traceId, (folder) => body(folder)),
    });
  }

  createTrace(input: NewTrace): Promise<Trace> {
    return this.#told(() => {
      const made = newTrace(input, this.#clock);
      const folder = this.#folderOf(made.traceId);
      makeFolder(this.#files, folder.path);
      return this.#locks.hold(folder.path, () => {
        if (folder.exists(META)) throw fail('TRACE_RECORD_EXISTS', 'trace_id already exists.');
        folder.writeObject(META, traceDocument(made));
        return made;
      });
    });
  }

  getTrace(traceId: string): Promise<Trace | null> {
    return this.#told(() => this.#find(this.#folderOf(traceId), traceId));
  }

  listTraces(filter: TraceFilter = {}): Promise<readonly Trace[]> {
    return this.#told(() => {
      const limit = pageLimit(filter, LIMITS.tracePage);
      const after = pageAfterId(filter);
      const statuses = checkedStatuses(filter);
      const found: Trace[] = [];
      for (const name of this.#traceNames()) {
        if (found.length === limit) break;
        if (name <= after) continue;
        const trace = this.#listed(name);
        if (trace !== null && (statuses?.includes(trace.status) ?? true)) found.push(trace);
      }
      return found;
    });
  }

  updateTrace(traceId: string, change: ChangeOf<Trace, TraceChange>): Promise<Trace> {
    return this.#write(traceId, (folder, now) => {
      const wanted = typeof change === 'function' ? change(now) : change;
      return wanted === null ? now : this.#put(folder, now, checkedChange(wanted));
    });
  }

  getGoalTree(traceId: string): Promise<GoalTree | null> {
    return this.#read(traceId, (folder) => {
      const bytes = folder.read(GOAL);
      return bytes === null ? null : readGoals(bytes);
    });
  }

  updateGoalTree(traceId: string, tree: GoalTree): Promise<void> {
    return this.#write(traceId, (folder) => folder.writeObject(GOAL, checkedGoals(tree)));
  }

  addMessage(given: TraceMessage): Promise<void> {
    return this.#told(() => {
      const message = checkedMessage(given);
      return this.#write(message.traceId, (folder, now) => this.#add(folder, now, message));
    });
  }

  getMessage(messageId: string): Promise<TraceMessage | null> {
    return this.#told(() => {
      const place = placeOfMessage(messageId);
      return place === null ? null : messageAt(this.#folderOf(place.traceId), place.sequence);
    });
  }

  getTraceMessages(traceId: string, page: PageRequest<number> = {}): Promise<readonly TraceMessage[]> {
    return this.#read(traceId, (folder) => {
      const after = pageAfter(page);
      const wanted = folder.numbers('messages').filter((sequence) => sequence > after);
      return readMessages(folder, wanted.slice(0, pageLimit(page, LIMITS.traceMessages)));
    });
  }

  writeMessageAttachment(traceId: string, messageId: string, input: AttachmentInput): Promise<Attachment> {
    return this.#told(() => {
      const place = placeOfMessage(messageId);
      const name = attachmentName(place?.sequence ?? 0, input.suffix);
      requireWithin('traceAttachmentBytes', input.data.byteLength);
      return this.#write(traceId, (folder) => {
        if (place?.traceId !== traceId || messageAt(folder, place.sequence) === null)
          throw fail('TRACE_NOT_FOUND', 'The trace has no such message.');
        if (folder.exists(name)) throw fail('TRACE_RECORD_EXISTS', 'The message has such an attachment already.');
        folder.write(name, input.data);
        const bytes = input.data.byteLength;
        return { traceId, name, bytes, sha256: sha256Hex(input.data), path: folder.pathOf(name) };
      });
    });
  }

  readAttachment(traceId: string, name: string): Promise<Uint8Array | null> {
    return this.#told(() => {
      checkAttachmentName(name);
      return this.#read(traceId, (folder) => folder.read(name, LIMITS.traceAttachmentBytes));
    });
  }

  appendEvent(traceId: string, type: string, data: TraceEvent['data']): Promise<number> {
    return this.#told(() => {
      const checked = checkedEvent(type, data);
      return this.#write(traceId, (folder, now) => {
        const eventId = this.#nextEvent(folder, now);
        const name = numberedFile('events', eventId);
        folder.writeObject(name, eventDocument({ eventId, ...checked, createdAt: this.#clock.nowMs() }));
        this.#putOrUndo(folder, now, { lastEventId: eventId }, [name]);
        return eventId;
      });
    });
  }

  getEvents(traceId: string, page: PageRequest<number> = {}): Promise<readonly TraceEvent[]> {
    return this.#read(traceId, (folder) => {
      const after = pageAfter(page);
      return readEvents(folder, eventNumbers(folder).slice(after, after + pageLimit(page)));
    });
  }

  reconcileTraceIntegrity(traceId: string): Promise<IntegrityReport> {
    return this.#write(traceId, (folder, now) => {
      const counted = recount(folder);
      this.#put(folder, now, counted);
      return {
        messages: counted.totalMessages,
        last_sequence: counted.lastSequence,
        last_event_id: counted.lastEventId,
      };
    });
  }

  async close(): Promise<void> {
    // Nothing is held open between calls.
  }

  /** The message first, then its event, then the counters: whatever a crash leaves, a recount can finish. */
  #add(folder: TraceFolder, now: Trace, message: TraceMessage): void {
    const name = numberedFile('messages', message.sequence);
    if (folder.exists(name)) throw fail('TRACE_RECORD_EXISTS', 'message_id already exists.');
    requireWithin('traceMessages', now.totalMessages + 1);
    const eventId = this.#nextEvent(folder, now);
    const event = numberedFile('events', eventId);
    const counters = {
      totalMessages: now.totalMessages + 1,
      lastSequence: Math.max(now.lastSequence, message.sequence),
      totalPromptTokens: now.totalPromptTokens + (message.promptTokens ?? 0),
      lastEventId: eventId,
    };
    try {
      folder.writeObject(name, messageDocument(message));
      folder.writeObject(event, eventDocument(messageEvent(message, eventId)));
    } catch (error) {
      for (const written of [event, name]) folder.removeQuietly(written);
      throw error;
    }
    this.#putOrUndo(folder, now, counters, [event, name]);
  }

  /** The number after the last one, by the files where the counter is behind them. */
  #nextEvent(folder: TraceFolder, now: Trace): number {
    const next = now.lastEventId + 1;
    const free = folder.exists(numberedFile('events', next)) ? eventNumbers(folder).length + 1 : next;
    requireWithin('traceEvents', free);
    return free;
  }

  #putOrUndo(folder: TraceFolder, now: Trace, change: TraceChange, written: readonly string[]): void {
    try {
      this.#put(folder, now, change);
    } catch (error) {
      for (const name of written) folder.removeQuietly(name);
      throw error;
    }
  }

  #put(folder: TraceFolder, now: Trace, change: TraceChange): Trace {
    const next = { ...now, ...change, updatedAt: Math.max(now.updatedAt, this.#clock.nowMs()) };
    folder.writeObject(META, traceDocument(next));
    return next;
  }

  #folderOf(traceId: string): TraceFolder {
    const path = join(this.folder, checkTraceId(traceId));
    return new TraceFolder(path, { files: this.#files, ids: this.#ids });
  }

  #find(folder: TraceFolder, traceId: string): Trace | null {
    const document = folder.readObject(META);
    return document === null ? null : readTrace(document, traceId);
  }

  /** A folder that a killed process made and no more holds no trace; any other without its document is damaged. */
  #listed(name: string): Trace | null {
    const folder = this.#folderOf(name);
    const trace = this.#find(folder, name);
    if (trace === null && ['messages', 'events', GOAL].some((part) => folder.exists(part)))
      throw corrupt('its document is missing');
    return trace;
  }

  #traceNames(): readonly string[] {
    const names = this.#namesInFolder().filter((name) => !name.startsWith('.'));
    for (const name of names)
      if (!isTraceId(name) || this.#files.lstat(join(this.folder, name)).kind !== 'folder')
        throw corrupt('something in the folder of traces is no folder of a trace');
    return names;
  }

  #namesInFolder(): readonly string[] {
    try {
      return this.#files.readdir(this.folder);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  #require(folder: TraceFolder, traceId: string): Trace {
    const trace = this.#find(folder, traceId);
    if (trace === null) throw fail('TRACE_NOT_FOUND', 'There is no such trace.');
    return trace;
  }

  #read<T>(traceId: string, body: (folder: TraceFolder) => T): Promise<T> {
    return this.#told(() => {
      const folder = this.#folderOf(traceId);
      this.#require(folder, traceId);
      return body(folder);
    });
  }

  #write<T>(traceId: string, body: (folder: TraceFolder, now: Trace) => T): Promise<T> {
    return this.#told(() => {
      const folder = this.#folderOf(traceId);
      this.#require(folder, traceId);
      return this.#locks.hold(folder.path, () => body(folder, this.#require(folder, traceId)));
    });
  }

  /** Refusals come as rejected promises, and the operating system's errors as ours, with theirs as cause. */
  async #told<T>(body: () => T | Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (cause) {
      if (errnoOf(cause) === 'ERR_SQLITE_ERROR')
        throw fail('TRACE_STORE_BUSY', 'The lock of the trace could not be taken.', { cause });
      throw wrapFileError(cause, 'the trace');
    }
  }
}
