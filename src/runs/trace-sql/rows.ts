import { canonicalJson, type JsonObject, type JsonValue, readStrictJson } from '../../core/index.ts';
import type { Row, SqlValue } from '../../store/index.ts';
import { corrupt, readEvent, reading, readMessage, readTrace } from '../trace/documents.ts';
import { messageIdOf } from '../trace/ids.ts';
import type { Trace, TraceEvent, TraceMessage } from '../trace/model.ts';
import { DOCUMENT_PROFILE } from '../trace/records.ts';

/** What a change of a trace writes, in the order of its statement. */
export function changedColumns(trace: Trace): SqlValue[] {
  return [
    trace.task,
    trace.model,
    trace.uid,
    canonicalJson(trace.context),
    trace.status,
    trace.errorMessage,
    trace.headSequence,
    trace.lastSequence,
    trace.lastEventId,
    trace.totalMessages,
    trace.totalPromptTokens,
  ];
}

export function messageColumns(message: TraceMessage): SqlValue[] {
  return [
    message.traceId,
    message.sequence,
    message.role,
    canonicalJson(message.content),
    message.parentSequence,
    message.branchType,
    message.branchId,
    message.promptTokens,
    message.completionTokens,
    message.createdAt,
  ];
}

function jsonOf(row: Row, column: string): JsonValue {
  const text = row[column];
  return reading(`the column ${column}`, () => {
    if (typeof text !== 'string') throw corrupt(`the column ${column} holds no text`);
    return readStrictJson(text, DOCUMENT_PROFILE);
  });
}

/** A row as the document that it stands for, its JSON columns read. */
function documentOf(row: Row, json: readonly string[]): JsonObject {
  const read = json.map((column): [string, JsonValue] => [column, jsonOf(row, column)]);
  return { ...(row as JsonObject), ...Object.fromEntries(read) };
}

export function traceOf(row: Row): Trace {
  const document = documentOf(row, ['context']);
  return readTrace(document, String(row['trace_id']));
}

export function messageOf(row: Row): TraceMessage {
  const document = documentOf(row, ['content']);
  return readMessage({ ...document, message_id: messageIdOf(String(row['trace_id']), Number(row['sequence'])) });
}

export function eventOf(row: Row): TraceEvent {
  return readEvent(documentOf(row, ['data']));
}
