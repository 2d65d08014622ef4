import {
  fail,
  HoldfastError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  readStrictJson,
} from '../../core/index.ts';
import type { GoalTree, Trace, TraceEvent, TraceMessage } from './model.ts';
import { checkedChange, checkedEvent, checkedGoals, checkedMessage, DOCUMENT_PROFILE, newTrace } from './records.ts';

export function corrupt(what: string, cause?: unknown): HoldfastError {
  return fail('TRACE_CORRUPT', `The stored trace cannot be trusted: ${what}.`, { cause });
}

/** The stored form of a trace, with the contracts' names. */
export function traceDocument(trace: Trace): JsonObject {
  return {
    trace_id: trace.traceId,
    mode: trace.mode,
    task: trace.task,
    model: trace.model,
    uid: trace.uid,
    context: trace.context,
    status: trace.status,
    error_message: trace.errorMessage,
    head_sequence: trace.headSequence,
    last_sequence: trace.lastSequence,
    last_event_id: trace.lastEventId,
    total_messages: trace.totalMessages,
    total_prompt_tokens: trace.totalPromptTokens,
    created_at_ms: trace.createdAt,
    updated_at_ms: trace.updatedAt,
  };
}

export function messageDocument(message: TraceMessage): JsonObject {
  return {
    message_id: message.messageId,
    trace_id: message.traceId,
    role: message.role,
    sequence: message.sequence,
    content: message.content,
    parent_sequence: message.parentSequence,
    branch_type: message.branchType,
    branch_id: message.branchId,
    prompt_tokens: message.promptTokens,
    completion_tokens: message.completionTokens,
    created_at_ms: message.createdAt,
  };
}

export function eventDocument(event: TraceEvent): JsonObject {
  return { event_id: event.eventId, type: event.type, data: event.data, created_at_ms: event.createdAt };
}

/** Runs a reading; whatever does not fit is `TRACE_CORRUPT`, naming the record by its role. */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof HoldfastError && cause.code !== 'TRACE_CORRUPT') throw corrupt(what, cause);
    throw cause;
  }
}

/** The JSON object of a text or bytes. Throws `TRACE_CORRUPT`. */
export function objectOf(text: string | Uint8Array, what: string): JsonObject {
  return reading(what, () => {
    const value = readStrictJson(text, DOCUMENT_PROFILE);
    if (isJsonObject(value)) return value;
    throw corrupt(`${what} is not an object`);
  });
}

const memberOf = (from: JsonObject, key: string): JsonValue => from[key] ?? null;

/** Reads a stored trace. Throws `TRACE_CORRUPT`. */
export function readTrace(from: JsonObject, traceId: string): Trace {
  return reading('the trace', () => {
    if (from['trace_id'] !== traceId) throw corrupt('its id is another one');
    const createdAt = timeOf(from['created_at_ms']);
    const made = newTrace({ traceId, mode: memberOf(from, 'mode') as string }, { nowMs: () => createdAt });
    const rest = {
      task: memberOf(from, 'task'),
      model: memberOf(from, 'model'),
      uid: memberOf(from, 'uid'),
      context: memberOf(from, 'context'),
      status: memberOf(from, 'status'),
      errorMessage: memberOf(from, 'error_message'),
      headSequence: memberOf(from, 'head_sequence'),
      lastSequence: memberOf(from, 'last_sequence'),
      lastEventId: memberOf(from, 'last_event_id'),
      totalMessages: memberOf(from, 'total_messages'),
      totalPromptTokens: memberOf(from, 'total_prompt_tokens'),
    } as Parameters<typeof checkedChange>[0];
    return { ...made, ...checkedChange(rest), updatedAt: timeOf(from['updated_at_ms']) };
  });
}

export function readMessage(from: JsonObject): TraceMessage {
  return reading('a message', () =>
    checkedMessage({
      messageId: memberOf(from, 'message_id'),
      traceId: memberOf(from, 'trace_id'),
      role: memberOf(from, 'role'),
      sequence: memberOf(from, 'sequence'),
      content: memberOf(from, 'content'),
      parentSequence: memberOf(from, 'parent_sequence'),
      branchType: memberOf(from, 'branch_type'),
      branchId: memberOf(from, 'branch_id'),
      promptTokens: memberOf(from, 'prompt_tokens'),
      completionTokens: memberOf(from, 'completion_tokens'),
      createdAt: memberOf(from, 'created_at_ms'),
    } as TraceMessage),
  );
}

export function readEvent(from: JsonObject): TraceEvent {
  return reading('an event', () => ({
    eventId: timeOf(from['event_id']),
    ...checkedEvent(from['type'], from['data']),
    createdAt: timeOf(from['created_at_ms']),
  }));
}

export function readGoals(text: string | Uint8Array): GoalTree {
  return reading('the goal tree', () => checkedGoals(objectOf(text, 'the goal tree')));
}

function timeOf(value: JsonValue | undefined): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw corrupt('a number');
}
