import { isJsonObject } from '../../core/index.ts';
import { corrupt, eventDocument, readEvent, readMessage } from '../trace/documents.ts';
import type { TraceCounters, TraceEvent, TraceMessage } from '../trace/model.ts';
import { numberedFile, type TraceFolder } from './trace-folder.ts';

/** Every message of a trace, read and proven. */
export function readMessages(folder: TraceFolder, sequences: readonly number[]): readonly TraceMessage[] {
  return sequences.map((sequence) => {
    const message = messageAt(folder, sequence);
    if (message !== null) return message;
    throw corrupt('a message vanished while it was read');
  });
}

export function messageAt(folder: TraceFolder, sequence: number): TraceMessage | null {
  const document = folder.readObject(numberedFile('messages', sequence));
  if (document === null) return null;
  const message = readMessage(document);
  if (message.sequence === sequence) return message;
  throw corrupt('a message lies in the place of another');
}

export function readEvents(folder: TraceFolder, numbers: readonly number[]): readonly TraceEvent[] {
  return numbers.map((number) => {
    const document = folder.readObject(numberedFile('events', number));
    const event = document === null ? null : readEvent(document);
    if (event?.eventId === number) return event;
    throw corrupt('an event is missing or lies in the place of another');
  });
}

/** The event that a message makes. */
export function messageEvent(message: TraceMessage, eventId: number): TraceEvent {
  const data = { message_id: message.messageId, sequence: message.sequence, role: message.role };
  return { eventId, type: 'message_added', data, createdAt: message.createdAt };
}

/** The numbers of events without a gap. Throws `TRACE_CORRUPT`. */
export function eventNumbers(folder: TraceFolder): readonly number[] {
  const numbers = folder.numbers('events').toSorted((a, b) => a - b);
  if (numbers.some((number, i) => number !== i + 1)) throw corrupt('events are missing');
  return numbers;
}

/** Gives each stored message the event that a killed process did not write any more, and counts again. */
export function recount(folder: TraceFolder): Omit<TraceCounters, 'headSequence'> {
  folder.sweep();
  const messages = readMessages(folder, folder.numbers('messages'));
  const numbers = eventNumbers(folder);
  const told = new Set(readEvents(folder, numbers).flatMap(sequenceTold));
  let lastEventId = numbers.length;
  for (const message of messages.filter(({ sequence }) => !told.has(sequence))) {
    lastEventId += 1;
    folder.writeObject(numberedFile('events', lastEventId), eventDocument(messageEvent(message, lastEventId)));
  }
  return {
    totalMessages: messages.length,
    lastSequence: messages.reduce((highest, { sequence }) => Math.max(highest, sequence), 0),
    totalPromptTokens: messages.reduce((sum, { promptTokens }) => sum + (promptTokens ?? 0), 0),
    lastEventId,
  };
}

function sequenceTold(event: TraceEvent): number[] {
  const sequence = isJsonObject(event.data) ? event.data['sequence'] : undefined;
  return event.type === 'message_added' && typeof sequence === 'number' ? [sequence] : [];
}
