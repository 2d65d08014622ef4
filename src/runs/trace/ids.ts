import { fail, LIMITS } from '../../core/index.ts';

const ID = /^[A-Za-z0-9@_-]+$/;
const DIGITS = 6;

export function isTraceId(id: unknown): id is string {
  return typeof id === 'string' && id.length <= LIMITS.traceIdCodePoints && ID.test(id);
}

/** Passes an id of letters, digits, `@`, `_` and `-`, which is also a safe name of a folder. Throws `TRACE_ID_INVALID`. */
export function checkTraceId(id: unknown): string {
  if (isTraceId(id)) return id;
  throw fail('TRACE_ID_INVALID', `A trace id has 1 to ${LIMITS.traceIdCodePoints} letters, digits, @, _ and -.`);
}

/** The id of a message: its trace's, and its place in it, so that either leads to the other. */
export function messageIdOf(traceId: string, sequence: number): string {
  return `${traceId}-${String(sequence).padStart(DIGITS, '0')}`;
}

export interface MessagePlace {
  readonly traceId: string;
  readonly sequence: number;
}

/** Where a message of this id lies; null for an id that no message can have. Throws `TRACE_ID_INVALID`. */
export function placeOfMessage(messageId: unknown): MessagePlace | null {
  const longest = LIMITS.traceIdCodePoints + 1 + DIGITS;
  if (typeof messageId !== 'string' || messageId.length > longest || !ID.test(messageId))
    throw fail('TRACE_ID_INVALID', 'A message id has letters, digits, @, _ and - only.');
  const parts = /^(.+)-(\d{6})$/.exec(messageId);
  const sequence = Number(parts?.[2] ?? 0);
  return parts?.[1] === undefined || sequence === 0 ? null : { traceId: checkTraceId(parts[1]), sequence };
}
