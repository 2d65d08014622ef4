import type { JsonObject, JsonValue } from '../../core/index.ts';

export const TRACE_STATUSES = ['running', 'waiting_confirmation', 'completed', 'failed', 'stopped'] as const;
export type TraceStatus = (typeof TRACE_STATUSES)[number];

/** Those in which a run is not at its end. */
export const UNFINISHED: readonly TraceStatus[] = ['running', 'waiting_confirmation'];

/** What is counted over a trace's messages and events. */
export interface TraceCounters {
  /** Highest sequence of the main line, where the runner keeps it. */
  readonly headSequence: number;
  readonly lastSequence: number;
  readonly lastEventId: number;
  readonly totalMessages: number;
  readonly totalPromptTokens: number;
}

/** The record of one run. Times are epoch milliseconds. */
export interface Trace extends TraceCounters {
  readonly traceId: string;
  readonly mode: string;
  readonly task: string | null;
  readonly model: string | null;
  readonly uid: string | null;
  readonly context: JsonObject;
  readonly status: TraceStatus;
  readonly errorMessage: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What may be changed of a trace, any field by its name. Counters may be set lower: a check puts them right. */
export type TraceChange = Partial<Omit<Trace, 'traceId' | 'mode' | 'createdAt' | 'updatedAt'>>;

/** A trace that is to be made. It is `running` unless told. */
export type NewTrace = Pick<Trace, 'traceId' | 'mode'> & TraceChange;

export const MESSAGE_ROLES = ['user', 'assistant', 'tool'] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/** One entry of a conversation. It never changes once it is stored. */
export interface TraceMessage {
  /** `<trace id>-<sequence in six digits>`. */
  readonly messageId: string;
  readonly traceId: string;
  readonly role: MessageRole;
  readonly sequence: number;
  /** Text of a user; an object of an assistant and of a tool. */
  readonly content: JsonValue;
  readonly parentSequence: number | null;
  /** Both are there on a side branch, and neither on the main line. */
  readonly branchType: string | null;
  readonly branchId: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly createdAt: number;
}

/** One line of a trace's activity. Numbers begin at 1 and have no gaps. */
export interface TraceEvent {
  readonly eventId: number;
  readonly type: string;
  readonly data: JsonObject;
  readonly createdAt: number;
}

/** The goals of a run: an object with a `mission`; the rest is carried, not interpreted. */
export interface GoalTree extends JsonObject {
  mission: string;
}

export interface AttachmentInput {
  /** Such as `.png`: a dot and up to 16 letters and digits. */
  readonly suffix: string;
  readonly data: Uint8Array;
}

export interface Attachment {
  readonly traceId: string;
  /** `attachments/<sequence><suffix>`, one for each suffix of a message. */
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Where the file lies; null where attachments are no files. */
  readonly path: string | null;
}

/** A page of a list in the order of its keys, from after the given one. At most 1,000 entries. */
export interface PageRequest<K> {
  readonly after?: K;
  readonly limit?: number;
}

export interface TraceFilter extends PageRequest<string> {
  readonly status?: readonly TraceStatus[];
}

/** What a check of a trace's counters found, with the stored names. */
export interface IntegrityReport {
  readonly messages: number;
  readonly last_sequence: number;
  readonly last_event_id: number;
}
