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
} from './model.ts';

/** A change, or a function of the trace as it is now, asked while nobody else can write; null changes nothing. */
export type ChangeOf<T, C> = C | ((now: T) => C | null);

/**
 * Where the records of runs lie. Ids are checked before anything is touched (`TRACE_ID_INVALID`), a record that does not
 * read as what it must be is `TRACE_CORRUPT` and never skipped, and additions to one trace happen one after another,
 * whichever process makes them. What has returned is durable.
 */
export interface TraceStore {
  /** @throws TRACE_RECORD_EXISTS, TRACE_RECORD_INVALID */
  createTrace(trace: NewTrace): Promise<Trace>;
  getTrace(traceId: string): Promise<Trace | null>;
  /** In the order of ids. */
  listTraces(filter?: TraceFilter): Promise<readonly Trace[]>;
  /** @throws TRACE_NOT_FOUND, TRACE_RECORD_INVALID */
  updateTrace(traceId: string, change: ChangeOf<Trace, TraceChange>): Promise<Trace>;

  getGoalTree(traceId: string): Promise<GoalTree | null>;
  updateGoalTree(traceId: string, tree: GoalTree): Promise<void>;

  /** Adds the message, its event `message_added`, and what both count. @throws TRACE_RECORD_EXISTS, LIMIT_REACHED */
  addMessage(message: TraceMessage): Promise<void>;
  getMessage(messageId: string): Promise<TraceMessage | null>;
  /** In the order of sequences; `after` is a sequence. All where no page is asked for. */
  getTraceMessages(traceId: string, page?: PageRequest<number>): Promise<readonly TraceMessage[]>;

  /** @throws TRACE_RECORD_EXISTS for a second attachment of this message with this suffix */
  writeMessageAttachment(traceId: string, messageId: string, attachment: AttachmentInput): Promise<Attachment>;
  /** The bytes of an attachment by its name; null where there is none. */
  readAttachment(traceId: string, name: string): Promise<Uint8Array | null>;

  /** Answers the event's number. */
  appendEvent(traceId: string, type: string, data: TraceEvent['data']): Promise<number>;
  /** `after` is an event's number. At most 1,000 where no page is asked for. */
  getEvents(traceId: string, page?: PageRequest<number>): Promise<readonly TraceEvent[]>;

  /** Counts again what is stored, and puts the trace's counters right. */
  reconcileTraceIntegrity(traceId: string): Promise<IntegrityReport>;
  close(): Promise<void>;
}
