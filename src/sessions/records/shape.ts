import { fail, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { Row, SqlValue } from '../../store/index.ts';
import type { Fields, RecordOf } from './field.ts';

/** A kind of record: its table and its fields. */
export interface Shape<F extends Fields = Fields> {
  readonly kind: string;
  readonly table: string;
  /** The field `id` names a record; without it a record is named by all that it says. */
  readonly fields: F;
}

/** The columns of a shape in order. */
export const columnsOf = (shape: Shape): string[] => Object.values(shape.fields).map((field) => field.column);

/** The column of the field that names a record, or null. */
export const keyColumn = (shape: Shape): string | null => shape.fields['id']?.column ?? null;

/** What the columns of a record hold, every field checked. INVALID_VALUE, LIMIT_REACHED. */
export function storedValues(shape: Shape, values: Readonly<Record<string, unknown>>): SqlValue[] {
  return Object.entries(shape.fields).map(([name, field]) => field.store(field.check(values[name])));
}

/** A row as a record. */
export function recordOf<F extends Fields>(shape: Shape<F>, row: Row): RecordOf<F> {
  const entries = Object.entries(shape.fields).map(([name, field]) => [name, field.load(row[field.column] ?? null)]);
  return Object.fromEntries(entries) as RecordOf<F>;
}

/** The column of what no field knows, and the one that says where a record stands: the session does, no document. */
const [MORE, PLACE] = ['more', 'root_frame_id'];

/** A record in the shape in which it travels: every field there, under its name in documents. */
export function documentOf<F extends Fields>(shape: Shape<F>, record: RecordOf<F>): JsonObject {
  const values = record as Readonly<Record<string, JsonValue>>;
  const known = Object.entries(shape.fields).filter(([, { column }]) => column !== MORE);
  return {
    ...(isJsonObject(values[MORE] ?? null) ? (values[MORE] as JsonObject) : {}),
    ...Object.fromEntries(
      known.map(([name, field]) => {
        const value = values[name] ?? null;
        return [field.column, field.write ? field.write(value) : value];
      }),
    ),
  };
}

/** A document as a record: fields that it lacks are null, members that nobody here knows are `more`. INVALID_VALUE. */
export function fromDocument<F extends Fields>(shape: Shape<F>, document: JsonValue): RecordOf<F> {
  if (!isJsonObject(document)) throw fail('INVALID_VALUE', `A record of kind ${shape.kind} is an object.`);
  const columns = new Set(columnsOf(shape).filter((column) => column !== MORE));
  const unknown = Object.entries(document).filter(([key]) => !columns.has(key) && key !== PLACE);
  const read = ({ column, ...field }: Fields[string]): unknown => {
    if (column === MORE) return unknown.length === 0 ? null : Object.fromEntries(unknown);
    const value = Object.hasOwn(document, column) ? (document[column] as JsonValue) : null;
    return field.read ? field.read(value) : value;
  };
  const entries = Object.entries(shape.fields).map(([name, field]) => [name, field.check(read(field))]);
  return Object.fromEntries(entries) as RecordOf<F>;
}
