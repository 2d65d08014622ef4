import type { ReadTx, Tx } from '../store/index.ts';
import { exact } from './rows.ts';

// How an operation is found by its status reference. A ledger of operations alone has the contracts' index for it. In the
// composed system the newest operations are looked through, the last one first, and each full batch of them is put in the
// order of its references at once: a digest leads each operation of a commit to another page, and one by one those pages
// were almost half of all that a dispatch wrote.

/** The part of a SELECT that finds `o`, an operation, by its reference, its first parameter. */
export interface ByStatusRef {
  readonly from: string;
  readonly where: string;
  /** The same for one tenant, the second parameter. */
  readonly ofTenant: { readonly from: string; readonly where: string };
}

const INDEXED = { from: 'FROM operations o', where: 'WHERE o.status_ref = ?' };
export const AMONG_INDEXED_REFS: ByStatusRef = {
  ...INDEXED,
  ofTenant: { ...INDEXED, where: `${INDEXED.where} AND o.tenant_id = ?` },
};

/**
 * Operations in a batch. To look through so many takes a third of a millisecond; to put them in order takes as long as two
 * or three commits, and of 100,000 operations it writes a fifth of a page for each.
 */
const BATCH = 4_096;

/** The operation up to which all references are said to be in order. */
const SAID_THROUGH = 'coalesce((SELECT max(through_pk) FROM operation_ref_batches), 0)';
/** Whatever is said, the operations since the last full batch are looked through: it hides no new one. */
const ORDERED_THROUGH = `min(${SAID_THROUGH},
  coalesce((SELECT max(operation_pk) FROM operations), 0) / ${BATCH} * ${BATCH})`;

/**
 * `isAsked`: what an operation of this alias must be. It stands at each place where one is looked for, so that one which is
 * another tenant's is looked for to the end, as one that is not there: else the time would tell them apart. `+`: no index
 * over tenants, which would lead from page to page and back.
 */
function amongOrderedRefs(asked: string, isAsked: (operation: string) => string) {
  return {
    from: `FROM (SELECT ${asked}) asked CROSS JOIN operations o ON o.operation_pk = coalesce(
    (SELECT r.operation_pk FROM operation_status_refs r CROSS JOIN operations t ON t.operation_pk = r.operation_pk
      WHERE r.ref = unhex(substr(asked.ref, 8)) AND ${isAsked('t')} LIMIT 1),
    (SELECT n.operation_pk FROM operations n WHERE n.operation_pk > ${ORDERED_THROUGH}
      AND ${isAsked('n')} ORDER BY n.operation_pk DESC LIMIT 1))`,
    where: `WHERE ${isAsked('o')}`,
  };
}

export const AMONG_ORDERED_REFS: ByStatusRef = {
  ...amongOrderedRefs('? AS ref', (alias) => `${alias}.status_ref = asked.ref`),
  ofTenant: amongOrderedRefs(
    '? AS ref, ? AS tenant',
    (alias) => `${alias}.status_ref = asked.ref AND +${alias}.tenant_id = asked.tenant`,
  ),
};

// IGNORE: a reference that was damaged in the table stands in no order, and an audit names its operation.
const ORDER_BATCH = `INSERT OR IGNORE INTO operation_status_refs
  SELECT unhex(substr(status_ref, 8)), operation_pk FROM operations
  WHERE operation_pk > min(${SAID_THROUGH}, ?) AND operation_pk <= ? ORDER BY 1, 2`;
const END_BATCH = 'INSERT OR IGNORE INTO operation_ref_batches (through_pk) VALUES (?)';

/** Called with each new operation of the composed system: the last of a batch puts the batch in order. */
export async function orderRefsAfter(tx: Tx, operationPk: number): Promise<void> {
  if (operationPk % BATCH !== 0) return;
  await tx.run(ORDER_BATCH, [operationPk - BATCH, operationPk]);
  await tx.run(END_BATCH, [operationPk]);
}

const MISSING = `SELECT o.status_ref FROM operations o WHERE o.operation_pk <= ${SAID_THROUGH} AND NOT EXISTS (
    SELECT 1 FROM operation_status_refs r
    WHERE r.ref = unhex(substr(o.status_ref, 8)) AND r.operation_pk = o.operation_pk)
  ORDER BY o.operation_pk`;
const STRAY = `SELECT r.operation_pk FROM operation_status_refs r WHERE NOT EXISTS (
    SELECT 1 FROM operations o WHERE o.operation_pk = r.operation_pk AND unhex(substr(o.status_ref, 8)) = r.ref)
  ORDER BY r.operation_pk`;
/** Where the last batch is said to end before a reference that is in order, or after all operations. */
const MISPLACED_END = `SELECT ${SAID_THROUGH} AS through_pk WHERE
  ${SAID_THROUGH} < (SELECT max(operation_pk) FROM operation_status_refs)
  OR ${SAID_THROUGH} > coalesce((SELECT max(operation_pk) FROM operations), 0)`;

/** For an audit of the composed system: what is out of order can make an operation look as if it were not there. */
export async function statusRefFindings(tx: ReadTx): Promise<string[]> {
  const missing = await tx.all(MISSING);
  const stray = await tx.all(exact(STRAY));
  const misplaced = await tx.all(exact(MISPLACED_END));
  return [
    ...missing.map((row) => `operation ${String(row['status_ref'])}: its status reference is not among those in order`),
    ...stray.map((row) => `a status reference leads to operation ${String(row['operation_pk'])}, which has another`),
    ...misplaced.map((row) => `the last batch of status references does not end at ${String(row['through_pk'])}`),
  ];
}
