import { fail, HoldfastError, type JsonObject } from '../../core/index.ts';
import { type Fields, fromDocument, type RecordOf, type Shape } from '../../sessions/index.ts';

/** The records that an import adds to its session, kind by kind, each kind in its order. */
export class PlannedRecords {
  readonly #of = new Map<Shape, readonly RecordOf<Fields>[]>();

  /**
   * Documents with their new identities, as records that the session takes. What has another type than it must have
   * is PACKAGE_DOCUMENT_INVALID; two of one identity are PACKAGE_IDENTITY.
   */
  add(shape: Shape, documents: readonly JsonObject[]): this {
    const records = documents.map((document) => recordFrom(shape, document));
    if (Object.hasOwn(shape.fields, 'id') && new Set(records.map(({ id }) => id)).size < records.length)
      throw fail('PACKAGE_IDENTITY', `Two records of kind ${shape.kind} have one identity.`);
    this.#of.set(shape, records);
    return this;
  }

  of(shape: Shape): readonly RecordOf<Fields>[] {
    return this.#of.get(shape) ?? [];
  }
}

/** One document as a record; what has no time was made at none. PACKAGE_DOCUMENT_INVALID. */
export function recordFrom<F extends Fields>(shape: Shape<F>, document: JsonObject): RecordOf<F> {
  const timed = Object.hasOwn(shape.fields, 'createdAt') ? { created_at: document['created_at'] ?? 0 } : {};
  try {
    return fromDocument(shape, { ...document, ...timed });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const message = `A record of kind ${shape.kind} cannot be kept: ${error.message}`;
    throw fail('PACKAGE_DOCUMENT_INVALID', message, { cause: error });
  }
}
