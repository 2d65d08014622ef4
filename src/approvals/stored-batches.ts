import { fail, LIMITS } from '../core/index.ts';
import { listGroupEvents, type Page, type Principal, requireGroup } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { ApprovalBatch } from './batch.ts';
import { projectBatch } from './projection.ts';
import * as sql from './queries.ts';
import { requestOf } from './rows.ts';

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
 * have (`approvalRequestsPerGroup`): a page reads at most twice what one batch does. APPROVAL_NOT_FOUND for an `after`
 * that is no batch of this run.
 */
export async function pageOfBatches(
  tx: ReadTx,
  principal: Principal,
  runId: string,
  query: { after?: string; limit: number },
): Promise<Page<ApprovalBatch>> {
  const of = [principal.tenant, runId] as const;
  const { after, limit } = query;
  if (after !== undefined && !(await tx.get(sql.IS_BATCH_OF_RUN, [...of, after])))
    throw fail('APPROVAL_NOT_FOUND', 'The page before ended with no such batch of this run.');
  const rows = await tx.all(sql.LIST_BATCHES_OF_RUN, [...of, after ?? '\u{10ffff}', limit + 1]);
  const ids = rows.map((row) => String(row['action_group_id']));
  const items: ApprovalBatch[] = [];
  let calls = 0;
  for (const id of ids.slice(0, limit)) {
    const batch = await readBatch(tx, principal, id);
    if (!batch) throw fail('APPROVAL_CORRUPT', 'A permission request is about a reply that proposed no call.');
    items.push(batch);
    calls += batch.calls.length;
    if (calls >= LIMITS.approvalRequestsPerGroup) break;
  }
  return { items, next: items.length < ids.length ? (items.at(-1)?.batchId ?? null) : null };
}
