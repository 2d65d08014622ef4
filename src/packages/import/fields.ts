import { canonicalJson, fail, isJsonObject, JsonNumber, type JsonObject, type JsonValue } from '../../core/index.ts';

export const wrongField = (field: string, noun: string): Error =>
  fail('PACKAGE_DOCUMENT_INVALID', `The field ${field} of ${noun} is missing or of a wrong type.`);

/** One record of a package, read field by field. What has another type than it must have is PACKAGE_DOCUMENT_INVALID. */
export class Fields {
  readonly record: JsonObject;
  readonly #noun: string;

  constructor(record: JsonObject, noun: string) {
    this.record = record;
    this.#noun = noun;
  }

  #wrong(field: string): Error {
    return wrongField(field, this.#noun);
  }

  value(field: string): JsonValue {
    return Object.hasOwn(this.record, field) ? (this.record[field] as JsonValue) : null;
  }

  /** A text, or null where the field is absent or null. */
  text(field: string): string | null {
    const value = this.value(field);
    if (value === null) return null;
    if (typeof value !== 'string' || value.includes('\0') || !value.isWellFormed()) throw this.#wrong(field);
    return value;
  }

  /** As `text`, with an empty text as null. */
  filled(field: string): string | null {
    return this.text(field) || null;
  }

  needText(field: string): string {
    const value = this.text(field);
    if (value === null) throw this.#wrong(field);
    return value;
  }

  /** A whole number from 0 that a database takes; a fraction is cut off, as times of other programs have them. */
  count(field: string): number | null {
    const value = this.value(field);
    if (value === null) return null;
    const plain = value instanceof JsonNumber ? value.value : value;
    if (typeof plain !== 'number' || plain < 0 || Math.trunc(plain) > Number.MAX_SAFE_INTEGER) throw this.#wrong(field);
    return Math.trunc(plain);
  }

  needCount(field: string): number {
    const value = this.count(field);
    if (value === null) throw this.#wrong(field);
    return value;
  }

  object(field: string): JsonObject | null {
    const value = this.value(field);
    if (value === null) return null;
    if (!isJsonObject(value)) throw this.#wrong(field);
    return value;
  }

  list(field: string): readonly JsonValue[] {
    const value = this.value(field);
    if (value === null) return [];
    if (!Array.isArray(value)) throw this.#wrong(field);
    return value;
  }

  objects(field: string): readonly JsonObject[] {
    const list = this.list(field);
    if (!list.every(isJsonObject)) throw this.#wrong(field);
    return list;
  }

  texts(field: string): readonly string[] {
    const list = this.list(field);
    if (!list.every((item) => typeof item === 'string')) throw this.#wrong(field);
    return list;
  }

  /** Text, or the canonical JSON of anything else: an error that is an object. */
  textOrJson(field: string): string | null {
    const value = this.value(field);
    return value === null || typeof value === 'string' ? this.text(field) : canonicalJson(value);
  }

  flag(field: string): boolean {
    const value = this.value(field);
    return value === true || value === 1;
  }
}

export const fieldsOf = (records: readonly JsonObject[], noun: string): Fields[] =>
  records.map((record) => new Fields(record, noun));
