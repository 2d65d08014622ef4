import {
  asJsonValue,
  canonicalJson,
  type Clock,
  fail,
  HoldfastError,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonProfile,
  type JsonValue,
  LIMITS,
  readStrictJson,
  requireText,
} from '../../core/index.ts';
import { checkTraceId, messageIdOf } from './ids.ts';
import {
  type GoalTree,
  MESSAGE_ROLES,
  type NewTrace,
  type PageRequest,
  type Trace,
  type TraceChange,
  TRACE_STATUSES,
  type TraceFilter,
  type TraceMessage,
  type TraceStatus,
} from './model.ts';

/** Bounds of one stored document of a trace. */
export const DOCUMENT_PROFILE: JsonProfile = {
  ...JSON_PROFILES.transcript,
  name: 'trace document',
  bytes: LIMITS.traceDocumentBytes,
};
const CONTEXT_PROFILE: JsonProfile = { ...DOCUMENT_PROFILE, name: 'trace', bytes: LIMITS.traceMetaBytes };

export function invalid(field: string, rule: string): Error {
  return fail('TRACE_RECORD_INVALID', `The field ${field} ${rule}.`, { details: { field } });
}

/** A copy of JSON within a document's bounds, as it will be read again. */
function storable(value: unknown, field: string, profile: JsonProfile = DOCUMENT_PROFILE): JsonValue {
  try {
    return readStrictJson(canonicalJson(asJsonValue(value, profile)), profile);
  } catch (cause) {
    if (!(cause instanceof HoldfastError)) throw cause;
    throw fail('TRACE_RECORD_INVALID', `The field ${field} is not JSON within its bounds: ${cause.message}`, {
      cause,
      details: { field },
    });
  }
}

function storableObject(value: unknown, field: string, profile?: JsonProfile): JsonObject {
  const copy = storable(value, field, profile);
  if (isJsonObject(copy)) return copy;
  throw invalid(field, 'must be an object');
}

type Checks<T> = { readonly [K in keyof T]-?: (value: unknown, field: string) => T[K] };

const count = (value: unknown, field: string): number => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(field, 'must be a whole number from 0');
};

const textOrNull =
  (max: number) =>
  (value: unknown, field: string): string | null => {
    if (value === null) return null;
    try {
      return requireText(field, value, max);
    } catch (cause) {
      if (cause instanceof HoldfastError) throw invalid(field, 'must be text within its bounds, or null');
      throw cause;
    }
  };

const name = (value: unknown, field: string): string => {
  const text = textOrNull(LIMITS.runNameCodePoints)(value, field);
  if (text !== null) return text;
  throw invalid(field, 'must be text');
};

const oneOf =
  <T extends string>(words: readonly T[]) =>
  (value: unknown, field: string): T => {
    const word = words.find((one) => one === value);
    if (word !== undefined) return word;
    throw invalid(field, `must be one of ${words.join(', ')}`);
  };

const CHANGE_CHECKS: Checks<TraceChange> = {
  task: textOrNull(LIMITS.runPromptCodePoints),
  model: textOrNull(LIMITS.runNameCodePoints),
  uid: textOrNull(LIMITS.runNameCodePoints),
  context: (value, field) => storableObject(value, field, CONTEXT_PROFILE),
  status: oneOf(TRACE_STATUSES),
  errorMessage: textOrNull(LIMITS.runPromptCodePoints),
  headSequence: count,
  lastSequence: count,
  lastEventId: count,
  totalMessages: count,
  totalPromptTokens: count,
};

/** A change with every field checked and copied. Throws `TRACE_RECORD_INVALID`, also for a field that there is not. */
export function checkedChange(change: TraceChange): TraceChange {
  if (typeof change !== 'object' || change === null) throw invalid('change', 'must be an object');
  const entries = Object.entries(change).map(([key, value]) => {
    if (!Object.hasOwn(CHANGE_CHECKS, key)) throw invalid(key.slice(0, 64), 'is not a field that can be changed');
    return [key, CHANGE_CHECKS[key as keyof TraceChange](value, key)];
  });
  return Object.fromEntries(entries) as TraceChange;
}

/** A whole new trace. Throws `TRACE_ID_INVALID`, `TRACE_RECORD_INVALID`. */
export function newTrace(input: NewTrace, clock: Clock): Trace {
  const { traceId, mode, ...rest } = input;
  const now = clock.nowMs();
  return {
    traceId: checkTraceId(traceId),
    mode: name(mode, 'mode'),
    task: null,
    model: null,
    uid: null,
    context: {},
    status: 'running',
    errorMessage: null,
    headSequence: 0,
    lastSequence: 0,
    lastEventId: 0,
    totalMessages: 0,
    totalPromptTokens: 0,
    ...checkedChange(rest),
    createdAt: now,
    updatedAt: now,
  };
}

export type MessageParts = Pick<TraceMessage, 'traceId' | 'role' | 'sequence' | 'content'> &
  Partial<Pick<TraceMessage, 'parentSequence' | 'branchType' | 'branchId' | 'promptTokens' | 'completionTokens'>>;

/** A message with the id of its place. Throws `TRACE_ID_INVALID`, `TRACE_RECORD_INVALID`. */
export function newMessage(parts: MessageParts, clock: Clock): TraceMessage {
  return checkedMessage({
    parentSequence: null,
    branchType: null,
    branchId: null,
    promptTokens: null,
    completionTokens: null,
    ...parts,
    messageId: messageIdOf(checkTraceId(parts.traceId), parts.sequence),
    createdAt: clock.nowMs(),
  });
}

const sequenceNumber = (value: unknown, field: string): number => {
  const sequence = count(value, field);
  if (sequence >= 1 && sequence <= LIMITS.traceSequence) return sequence;
  throw invalid(field, `must be from 1 to ${LIMITS.traceSequence}`);
};

const tokens = (value: unknown, field: string): number => {
  const number = count(value, field);
  if (number <= LIMITS.modelReplyTokens) return number;
  throw invalid(field, `must be at most ${LIMITS.modelReplyTokens}`);
};

const orNull =
  <T>(check: (value: unknown, field: string) => T) =>
  (value: unknown, field: string): T | null =>
    value === null ? null : check(value, field);

/** A message held against its form and against its own id. Throws `TRACE_ID_INVALID`, `TRACE_RECORD_INVALID`. */
export function checkedMessage(message: TraceMessage): TraceMessage {
  const traceId = checkTraceId(message.traceId);
  const sequence = sequenceNumber(message.sequence, 'sequence');
  if (message.messageId !== messageIdOf(traceId, sequence))
    throw invalid('message_id', 'does not fit trace and sequence');
  if ((message.branchType === null) !== (message.branchId === null))
    throw invalid('branch_id', 'and branch_type come together');
  return {
    messageId: message.messageId,
    traceId,
    role: oneOf(MESSAGE_ROLES)(message.role, 'role'),
    sequence,
    content: storable(message.content, 'content'),
    parentSequence: orNull(count)(message.parentSequence, 'parent_sequence'),
    branchType: orNull(name)(message.branchType, 'branch_type'),
    branchId: orNull(name)(message.branchId, 'branch_id'),
    promptTokens: orNull(tokens)(message.promptTokens, 'prompt_tokens'),
    completionTokens: orNull(tokens)(message.completionTokens, 'completion_tokens'),
    createdAt: count(message.createdAt, 'created_at'),
  };
}

/** A goal tree held against its form. Throws `TRACE_RECORD_INVALID`. */
export function checkedGoals(tree: unknown): GoalTree {
  const copy = storableObject(tree, 'goal');
  if (typeof copy['mission'] !== 'string') throw invalid('goal.mission', 'must be text');
  return copy as GoalTree;
}

/** The type and data of an event. Throws `TRACE_RECORD_INVALID`. */
export function checkedEvent(type: unknown, data: unknown): { readonly type: string; readonly data: JsonObject } {
  return { type: name(type, 'type'), data: storableObject(data, 'data') };
}

/** The name of an attachment below its trace. Throws `TRACE_RECORD_INVALID`, `LIMIT_REACHED`. */
export function attachmentName(sequence: number, suffix: unknown): string {
  if (typeof suffix !== 'string' || !/^\.[A-Za-z0-9]{1,16}$/.test(suffix))
    throw invalid('suffix', 'must be a dot and up to 16 letters and digits');
  return `attachments/${String(sequence).padStart(6, '0')}${suffix}`;
}

/** Passes the name of an attachment. Throws `TRACE_ID_INVALID`. */
export function checkAttachmentName(value: unknown): string {
  if (typeof value === 'string' && /^attachments\/\d{6}\.[A-Za-z0-9]{1,16}$/.test(value)) return value;
  throw fail('TRACE_ID_INVALID', 'This is not the name of an attachment.');
}

/** A page's bounds with their defaults. Throws `TRACE_RECORD_INVALID`, `LIMIT_REACHED`. */
export function pageLimit(page: PageRequest<unknown>, most: number = LIMITS.tracePage): number {
  const limit = page.limit ?? most;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > most) throw invalid('limit', `must be from 1 to ${most}`);
  return limit;
}

/** The number that a page begins after; 0 for the first. Throws `TRACE_RECORD_INVALID`. */
export const pageAfter = ({ after }: PageRequest<number>): number => (after === undefined ? 0 : count(after, 'after'));

/** The id that a page of traces begins after; an empty text for the first. Throws `TRACE_ID_INVALID`. */
export const pageAfterId = ({ after }: PageRequest<string>): string =>
  after === undefined || after === '' ? '' : checkTraceId(after);

/** The states that are asked for; undefined for all. Throws `TRACE_RECORD_INVALID`. */
export function checkedStatuses({ status }: TraceFilter): readonly TraceStatus[] | undefined {
  if (status === undefined) return undefined;
  if (!Array.isArray(status)) throw invalid('status', 'must be a list');
  return (status as readonly unknown[]).map((word) => oneOf(TRACE_STATUSES)(word, 'status'));
}
