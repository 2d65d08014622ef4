import { ledgerCalls } from '../calls/index.ts';
import { type ActionGroup, type Principal, visibleGroups } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { coverOf, type CoverNote } from './compaction-record.ts';
import { type GroupWithCalls, isReply, toldOf } from './history.ts';
import { cameFromElsewhere, eventsOf, type HistoryItem, itemsOf, reply } from './told-groups.ts';

interface Told {
  readonly group: ActionGroup;
  readonly items: readonly HistoryItem[];
  readonly cover: CoverNote | null;
}

/**
 * The conversation that a branch shows, as a provider would be shown it: from the ledger alone, without what a revert
 * has hidden, each reply with an answer for every call of it, and for what a compaction covers its note. Groups that
 * came with a session from elsewhere are told like those that were made here. BRANCH_NOT_FOUND.
 */
export async function providerHistory(
  tx: ReadTx,
  principal: Principal,
  of: { readonly rootFrameId: string; readonly branchId: string },
): Promise<HistoryItem[]> {
  const told: Told[] = [];
  for (let after: string | undefined; ; ) {
    const page = await visibleGroups(tx, principal, of, after === undefined ? {} : { after });
    for (const group of page.items) told.push(await tell(tx, principal, group));
    if (page.next === null) return compacted(told);
    after = page.next;
  }
}

async function tell(tx: ReadTx, principal: Principal, group: ActionGroup): Promise<Told> {
  const events = await eventsOf(tx, principal, group.groupId);
  const cover = group.kind === 'compaction' ? coverOf(events) : null;
  if (cover !== null) return { group, items: [], cover };
  if (isReply(group) && !cameFromElsewhere(group)) {
    const calls = await ledgerCalls(tx, principal, group.groupId);
    return { group, items: ownReply({ group, calls }), cover };
  }
  return { group, items: itemsOf(group, events), cover };
}

function ownReply({ group, calls }: GroupWithCalls): HistoryItem[] {
  const declared = calls.map(({ callId, toolName, proposedText }) => ({
    id: callId,
    wire_id: null,
    name: toolName,
    raw_arguments: proposedText ?? '{}',
  }));
  const answers = calls.map(
    (call): HistoryItem => ({
      role: 'tool',
      tool_call_id: call.callId,
      wire_id: null,
      content: toldOf(call),
      is_error: call.outcome?.state !== 'done',
    }),
  );
  return [reply(group, declared), ...answers];
}

const NOTE = '[compacted history: a summary stands for what came before]\n';

/** The newest compaction's note in the place of what it covers; the first request stays, and so does what it keeps. */
function compacted(told: readonly Told[]): HistoryItem[] {
  const at = told.findLastIndex(({ cover }) => cover !== null);
  const cover = told[at]?.cover;
  const all = (groups: readonly Told[]): HistoryItem[] => groups.flatMap(({ items }) => items);
  if (!cover) return all(told);
  const upTo = told.findIndex(({ group }) => group.groupId === cover.coveredThrough);
  const note: HistoryItem = { role: 'system', content: NOTE + cover.summary, compaction_handoff: true };
  const covered = told.slice(0, upTo + 1);
  const first = covered.find(({ group }) => group.kind === 'user');
  const kept = covered.filter((one) => one === first || cover.kept.has(one.group.groupId));
  return [...all(kept), note, ...all(told.slice(upTo + 1))];
}
