import { fail, HoldfastError, LIMITS } from '../core/index.ts';
import { listGroupEvents, type Page, type Principal, requireGroup } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { ApprovalBatch } from './batch.ts';
import { projectBatch } from './projection.ts';
import * as sql from './queries.ts';
import { requestOf } from './rows.ts';

/** A batch that cannot be shown: a request, or a line of the ledger, was changed behind the program's back. */
export interface DamagedBatch {
  readonly batchId: string;
  readonly code: string;
  readonly why: string;
}

/** Batches as they are listed. One that is damaged keeps no other from being shown. */
export interface BatchPage extends Page<ApprovalBatch> {
  readonly damaged: readonly DamagedBatch[];
}

/** The batch of a group as it stands. At most 500 calls a group, so the events of one are read whole. */
export async function readBatch(tx: ReadTx, principal: Principal, groupId: string): Promise<ApprovalBatch | null> {
  await requireGroup(tx, principal, groupId);
  const rows = await tx.all(sql.LIST_GROUP_REQUESTS, [groupId, principal.tenant]);
  const events = [];
  let after: string | undefined;
  do {
    const page = await listGroupEvents(tx, principal, groupId, {
      limit: LIMITS.sessionPageRows,
      ...(after ? { after } : {}),
    });
    events.push(...page.items);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return projectBatch(groupId, events, rows.map(requestOf));
}

/**
 * A page of a run's batches, newest first. It ends early with the batch that brings its calls to as many as one batch may
 * have (`approvalRequestsPerGroup`): a page reads at most twice what one batch does. One that is damaged is named with why,
 * and counts as many calls as it has requests. APPROVAL_NOT_FOUND for an `after` that is no batch of this run.
 */
export async function pageOfBatches(
  tx: ReadTx,
  principal: Principal,
  runId: string,
  query: { after?: string; limit: number },
): Promise<BatchPage> {
  const of = [principal.tenant, runId] as const;
  const { after, limit } = query;
  if (after !== undefined && !(await tx.get(sql.IS_BATCH_OF_RUN, [...of, after])))
    throw fail('APPROVAL_NOT_FOUND', 'The page before ended with no such batch of this run.');
  const rows = await tx.all(sql.LIST_BATCHES_OF_RUN, [...of, after ?? '\u{10ffff}', limit + 1]);
  const ids = rows.map((row) => String(row['action_group_id']));
  const items: ApprovalBatch[] = [];
  const damaged: DamagedBatch[] = [];
  let read = 0;
  for (let calls = 0; read < Math.min(limit, ids.length) && calls < LIMITS.approvalRequestsPerGroup; read += 1) {
    const batch = await batchOrDamage(tx, principal, ids[read] ?? '');
    if ('why' in batch) damaged.push(batch);
    else items.push(batch);
    calls += 'why' in batch ? await countRequests(tx, principal, batch.batchId) : batch.calls.length;
  }
  return { items, damaged, next: read < ids.length ? (ids[read - 1] ?? null) : null };
}

async function batchOrDamage(tx: ReadTx, principal: Principal, batchId: string): Promise<ApprovalBatch | DamagedBatch> {
  try {
    const batch = await readBatch(tx, principal, batchId);
    if (batch) return batch;
    throw fail('APPROVAL_CORRUPT', 'A permission request is about a reply that proposed no call.');
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.family !== 'corruption') throw error;
    return { batchId, code: error.code, why: error.message };
  }
}

const countRequests = async (tx: ReadTx, { tenant }: Principal, batchId: string): Promise<number> =>
  Number((await tx.get(sql.COUNT_GROUP_REQUESTS, [batchId, tenant]))?.['requests']);
