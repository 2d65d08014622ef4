import { fail, isJsonObject, JSON_PROFILES, type JsonValue, readStrictJson, requireWithin } from '../../core/index.ts';
import { readRecord, recordDocument } from '../codec.ts';
import type { EffectRecord } from '../model.ts';

const VERSION = 1;
const KEYS = ['record', 'type', 'v'];
export const LINE_FEED = 0x0a;

/** One record as a line of the journal: canonical JSON and a line feed. Throws `LIMIT_REACHED`. */
export function lineOf(entry: EffectRecord): Uint8Array {
  const line = Buffer.from(`${JSON.stringify({ record: recordDocument(entry), type: entry.type, v: VERSION })}\n`);
  requireWithin('journalJsonBytes', line.byteLength - 1);
  return line;
}

/** Reads a complete line, without its line feed. Key order and blanks between tokens do not matter. */
export function readLine(bytes: Uint8Array): EffectRecord {
  const line: JsonValue = readStrictJson(bytes, JSON_PROFILES.journal);
  const keys = isJsonObject(line) ? Object.keys(line).sort() : [];
  if (!isJsonObject(line) || keys.length !== KEYS.length || !keys.every((key, i) => key === KEYS[i]))
    throw fail('EFFECT_RECORD_INVALID', 'A line is an object with exactly the keys v, type and record.');
  if (line['v'] !== VERSION)
    throw fail('EFFECT_RECORD_INVALID', 'The line has a version that this build does not know.');
  return readRecord(line['type'], line['record']);
}
