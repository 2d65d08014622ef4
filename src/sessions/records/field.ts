import {
  canonicalJson,
  codePointsWithin,
  fail,
  isJsonObject,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  LIMITS,
  requireText,
  requireWithin,
} from '../../core/index.ts';
import type { SqlValue } from '../../store/index.ts';
import { checkLongText } from '../bounds.ts';
import { jsonColumn } from '../rows.ts';

/** One field of a record: its name in documents and tables, what it takes, and how it is stored. */
export interface Field<T> {
  readonly column: string;
  /** The value, checked; INVALID_VALUE or LIMIT_REACHED. */
  check(value: unknown): T;
  store(value: T): SqlValue;
  load(value: SqlValue): T;
  /** What a document of another program says, as `check` takes it. */
  read?(value: JsonValue): JsonValue;
  /** The value as documents spell it. */
  write?(value: T): JsonValue;
}

/** The fields of a record by the names that code uses. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type ValueOf<F> = F extends Field<infer T> ? T : never;

/** A record as code sees it. */
export type RecordOf<F extends Fields> = { readonly [K in keyof F]: ValueOf<F[K]> };

type Optional<F extends Fields> = {
  [K in keyof F]: K extends 'id' | 'createdAt' | 'updatedAt' ? K : null extends ValueOf<F[K]> ? K : never;
}[keyof F];

/** A record as it is given: its id and its times are made where they are left out, what may be null is null. */
export type NewRecord<F extends Fields> = Omit<RecordOf<F>, Optional<F>> & Partial<Pick<RecordOf<F>, Optional<F>>>;

const wrong = (column: string, what: string): Error => fail('INVALID_VALUE', `${column} must be ${what}.`);

/** A name of something: 1 to 512 code points, not blank. */
export const id = (column: string): Field<string> => ({
  column,
  check(value) {
    return requireText(column, value, LIMITS.sessionIdCodePoints);
  },
  store: (value) => value,
  load: String,
  // An optional reference may be an empty text elsewhere.
  read: (value) => (value === '' ? null : value),
});

/** A text of any length within the bound for texts; it may be empty. */
export const text = (column: string): Field<string> => ({
  column,
  check(value) {
    if (typeof value !== 'string') throw wrong(column, 'a text');
    checkLongText(column, value);
    return value;
  },
  store: (value) => value,
  load: String,
});

/** One word of a closed list. */
export const oneOf = <const W extends string>(column: string, words: readonly W[]): Field<W> => ({
  column,
  check(value) {
    const word = words.find((known) => known === value);
    if (word === undefined) throw wrong(column, `one of ${words.join(', ')}`);
    return word;
  },
  store: (value) => value,
  load: (value) => String(value) as W,
});

/** A SHA-256 in lower-case hex. */
export const sha256 = (column: string): Field<string> => ({
  column,
  check(value) {
    if (typeof value !== 'string' || !/^[0-9a-f]{64}$/.test(value)) throw wrong(column, 'a SHA-256 in lower-case hex');
    return value;
  },
  store: (value) => value,
  load: String,
});

/** A whole number from 0: a place, a size, a time in milliseconds. */
export const count = (column: string): Field<number> => ({
  column,
  check(value) {
    const number = value instanceof JsonNumber ? value.value : value;
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
      throw wrong(column, 'a whole number from 0');
    return number;
  },
  store: (value) => value,
  load: Number,
  // Times of other programs may have a fraction: it is cut off.
  read(value) {
    const number = value instanceof JsonNumber ? value.value : value;
    return typeof number === 'number' ? Math.trunc(number) : value;
  },
});

/** A finite number. */
export const measure = (column: string): Field<number> => ({
  column,
  check(value) {
    const number = value instanceof JsonNumber ? value.value : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw wrong(column, 'a finite number');
    return number;
  },
  store: (value) => value,
  load: Number,
  // A whole one keeps its point in documents: it is the same text wherever it was written.
  write: (value) => (Number.isInteger(value) ? new JsonNumber(value) : value),
});

export const flag = (column: string): Field<boolean> => ({
  column,
  check(value) {
    if (typeof value !== 'boolean') throw wrong(column, 'true or false');
    return value;
  },
  store: (value) => (value ? 1 : 0),
  load: (value) => Number(value) !== 0,
  read: (value) => (value === 1 ? true : value === 0 ? false : value),
});

/** Any JSON value, null included, within the bound for one stored value. */
export const json = (column: string): Field<JsonValue> => ({
  column,
  check: (value) => (value ?? null) as JsonValue,
  store(value) {
    if (value === null) return null;
    const stored = canonicalJson(value);
    if (!codePointsWithin(stored, LIMITS.sessionJsonCodePoints)) requireWithin('sessionJsonCodePoints', stored.length);
    return stored;
  },
  load: jsonColumn,
});

/** The same field, or null. */
export const orNull = <T>(field: Field<T>): Field<T | null> => ({
  column: field.column,
  check: (value) => (value == null ? null : field.check(value)),
  store: (value) => (value === null ? null : field.store(value)),
  load: (value) => (value === null ? null : field.load(value)),
  read: (value) => (field.read ? field.read(value) : value),
  write: (value) => (value === null || !field.write ? (value as JsonValue) : field.write(value)),
});

/** Members of a document that nobody here knows: they stay with the record and travel on with it. */
export const more: Field<JsonObject | null> = {
  column: 'more',
  check(value) {
    if (value == null) return null;
    if (!isJsonObject(value as JsonValue)) throw wrong('more', 'an object');
    return value as JsonObject;
  },
  store: (value) => json('more').store(value),
  load: (value) => jsonColumn(value) as JsonObject | null,
};
