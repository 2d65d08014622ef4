import { fail, requireWithin } from '../../core/index.ts';
import { appendFeed, type ReadTx, type Tx } from '../../store/index.ts';
import { pageSize } from '../bounds.ts';
import { afterNumber, type PageQuery } from '../history.ts';
import type { SessionContext } from '../ledger.ts';
import { ledgerRefusal } from '../ledger-place.ts';
import type { Page, Principal } from '../model.ts';
import { requireSession } from '../service.ts';
import type { Fields, NewRecord, RecordOf } from './field.ts';
import { sqlOf } from './record-queries.ts';
import { keyColumn, recordOf, type Shape, storedValues } from './shape.ts';

/** How a record may come into a session. */
export interface RecordEntry {
  /** The importer writes into a session that is still quarantined, and the record is whole as it is given. */
  readonly imported?: true;
}

/**
 * Adds a record after those of its kind in the session, in the caller's transaction. SESSION_NOT_FOUND,
 * SESSION_QUARANTINED, SESSION_REVERTING, INVALID_VALUE, LIMIT_REACHED; STORE_CONSTRAINT where a record of that id is
 * there, or one that it names is not. One statement and a feed entry; what is imported has no feed entry of its own.
 */
export async function addRecord<F extends Fields>(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  shape: Shape<F>,
  values: NewRecord<F>,
  entry: RecordEntry = {},
): Promise<RecordOf<F>> {
  const params = storedValues(shape, stamped(shape, context, values, entry));
  const imported = entry.imported ? 1 : 0;
  const row = await tx.get(sqlOf(shape).insert, [...params, rootFrameId, principal.tenant, imported]);
  if (!row) {
    await requireSession(tx, principal, rootFrameId);
    throw await ledgerRefusal(tx, null, rootFrameId, principal);
  }
  requireWithin('sessionRecords', Number(row['position']));
  if (!entry.imported) {
    const reference = String(row[keyColumn(shape) ?? 'root_frame_id']);
    await appendFeed(tx, { tenantId: principal.tenant, kind: `${shape.kind}.added`, reference });
  }
  return recordOf(shape, row);
}

/** The values with the id and the times that they were given without; what is imported has them. */
function stamped(
  shape: Shape,
  context: SessionContext,
  values: Readonly<Record<string, unknown>>,
  { imported }: RecordEntry,
): Readonly<Record<string, unknown>> {
  if (imported) return values;
  const createdAt = values['createdAt'] ?? context.clock.nowMs();
  const id = values['id'] ?? (keyColumn(shape) === null ? null : context.ids.next());
  return { ...values, id, createdAt, updatedAt: values['updatedAt'] ?? createdAt };
}

/** One page of a kind, in the order in which its records were added. SESSION_NOT_FOUND. */
export async function listRecords<F extends Fields>(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  shape: Shape<F>,
  query: PageQuery = {},
): Promise<Page<RecordOf<F>>> {
  await requireSession(tx, principal, rootFrameId);
  const limit = pageSize(query.limit);
  const rows = await tx.all(sqlOf(shape).page, [rootFrameId, afterNumber(query.after, 0), limit + 1]);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return {
    items: rows.slice(0, limit).map((row) => recordOf(shape, row)),
    next: last ? String(last['position']) : null,
  };
}

const WALK_ROWS = 500;

/** Every record of a kind in order, read page by page in the caller's transaction. The caller has checked the session. */
export async function* walkRecords<F extends Fields>(
  tx: ReadTx,
  rootFrameId: string,
  shape: Shape<F>,
): AsyncGenerator<RecordOf<F>> {
  for (let after = 0; ; ) {
    const rows = await tx.all(sqlOf(shape).page, [rootFrameId, after, WALK_ROWS]);
    for (const row of rows) yield recordOf(shape, row);
    if (rows.length < WALK_ROWS) return;
    after = Number(rows.at(-1)?.['position']);
  }
}

/** The record of that id in that session, or RECORD_NOT_FOUND. */
export async function requireRecord<F extends Fields>(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  shape: Shape<F>,
  id: string,
): Promise<RecordOf<F>> {
  const row = await tx.get(sqlOf(shape).get, [id, rootFrameId, principal.tenant]);
  if (row) return recordOf(shape, row);
  throw fail('RECORD_NOT_FOUND', `There is no such ${shape.kind.replaceAll('_', ' ')} in this session.`);
}

/**
 * Writes a record that may change anew, with what `change` names of it. RECORD_NOT_FOUND, SESSION_QUARANTINED,
 * SESSION_REVERTING, INVALID_VALUE, LIMIT_REACHED; STORE_CONSTRAINT for what never changes.
 */
export async function changeRecord<F extends Fields>(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  shape: Shape<F>,
  id: string,
  change: Partial<RecordOf<F>>,
): Promise<RecordOf<F>> {
  const before = await requireRecord(tx, principal, rootFrameId, shape, id);
  const values = { ...before, ...change, id, updatedAt: context.clock.nowMs() };
  const row = await tx.get(sqlOf(shape).update, [...storedValues(shape, values), rootFrameId, id]);
  if (!row) throw await ledgerRefusal(tx, null, rootFrameId, principal);
  await appendFeed(tx, { tenantId: principal.tenant, kind: `${shape.kind}.changed`, reference: id });
  return recordOf(shape, row);
}

/** How many records of a kind a session has, and the place of the last: changes when one is added. */
export async function countRecords(
  tx: ReadTx,
  rootFrameId: string,
  shape: Shape,
): Promise<{ readonly records: number; readonly last: number }> {
  const row = await tx.get(sqlOf(shape).mark, [rootFrameId]);
  return { records: Number(row?.['records'] ?? 0), last: Number(row?.['last'] ?? 0) };
}
