import { fail, type JsonValue } from '../../core/index.ts';
import type { Row } from '../../store/index.ts';
import { readRecord, recordDocument } from '../codec.ts';
import type { EffectRecord } from '../model.ts';

/** A row holds these keys of the document in columns of its own. */
const COLUMNS = {
  claim: ['sequence', 'effect_id'],
  outcome: ['sequence', 'effect_id', 'execution', 'impact'],
  observation: ['sequence', 'observation_id'],
} as const;

/** The record's document without what its columns hold, as canonical JSON: keys without a value are not written. */
export function bodyOf(entry: EffectRecord): string {
  const document: Record<string, JsonValue | undefined> = recordDocument(entry);
  for (const key of COLUMNS[entry.type]) document[key] = undefined;
  return JSON.stringify(document);
}

/** The record of a row, read as strictly as when it was made. Throws `EFFECT_LEDGER_DAMAGED`. */
export function recordOf(row: Row): EffectRecord {
  try {
    const type = row['type'] as keyof typeof COLUMNS;
    const body = JSON.parse(row['body'] as string) as Record<string, unknown>;
    for (const key of COLUMNS[type]) {
      if (Object.hasOwn(body, key)) throw new Error(`the body repeats ${key}`);
      body[key] = row[key];
    }
    return readRecord(type, body);
  } catch (cause) {
    throw fail('EFFECT_LEDGER_DAMAGED', `The record at position ${String(row['sequence'])} cannot be read back.`, {
      cause,
    });
  }
}
