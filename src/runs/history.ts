import { type LedgerCall, ledgerCalls, outcomeForModel, struckOut } from '../calls/index.ts';
import { canonicalJson, isJsonObject } from '../core/index.ts';
import type { ModelMessage } from '../models/index.ts';
import {
  type ActionGroup,
  listGroups,
  type Page,
  type PageQuery,
  type Principal,
  visibleGroups,
} from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { type CoverNote, coverOf, isShown, newestCompaction } from './compaction-record.ts';
import { replyAsSaid } from './reply-state.ts';
import { SIDE_BRANCH_GROUP, sideBranchOf, type ToldSideBranch } from './side-branch/told.ts';
import { cameFromElsewhere, contentOf, eventsOf, type HistoryItem, isReply, itemsOf } from './told-groups.ts';

export { isReply };

/** One action group with its calls as the ledger tells them. */
export interface GroupWithCalls {
  readonly group: ActionGroup;
  readonly calls: readonly LedgerCall[];
  /** For a compaction: what it says. */
  readonly cover?: CoverNote | null;
  /** For a group that came from elsewhere, whose calls are none of ours: what it tells. */
  readonly told?: readonly HistoryItem[];
  /** For a side branch: what its lines tell. */
  readonly side?: ToldSideBranch | null;
}

/** The groups of a branch in their order, each with its calls. */
export async function branchGroups(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  branchId: string,
): Promise<readonly GroupWithCalls[]> {
  const found: GroupWithCalls[] = [];
  for (const group of await everyPage((query) => listGroups(tx, principal, rootFrameId, query)))
    if (group.branchId === branchId) found.push(await withCalls(tx, principal, group));
  return found;
}

/**
 * What a run may know: what its branch shows, with the part that it inherits from the branches before it and without
 * what a revert has hidden; and the whole of its own turn, which it has to end whatever is shown. In their order.
 */
export async function groupsKnownTo(
  tx: ReadTx,
  principal: Principal,
  {
    rootFrameId,
    branchId,
    turnId,
  }: { readonly rootFrameId: string; readonly branchId: string; readonly turnId: string },
): Promise<readonly GroupWithCalls[]> {
  const place = { rootFrameId, branchId };
  const shown = await everyPage((query) => visibleGroups(tx, principal, place, query));
  const ids = new Set(shown.map(({ groupId }) => groupId));
  const all = await everyPage((query) => listGroups(tx, principal, rootFrameId, query));
  const hidden = all.filter((group) => group.turnId === turnId && !ids.has(group.groupId));
  const known: GroupWithCalls[] = [];
  for (const group of [...shown, ...hidden]) known.push(await withCalls(tx, principal, group));
  return known;
}

async function everyPage(read: (query: PageQuery) => Promise<Page<ActionGroup>>): Promise<ActionGroup[]> {
  const found: ActionGroup[] = [];
  for (let after: string | undefined; ; ) {
    const page = await read(after === undefined ? {} : { after });
    found.push(...page.items);
    if (page.next === null) return found;
    after = page.next;
  }
}

/** A group with its calls, or with what it tells otherwise. */
export async function withCalls(tx: ReadTx, principal: Principal, group: ActionGroup): Promise<GroupWithCalls> {
  if (group.kind === 'compaction')
    return { group, calls: [], cover: coverOf(await eventsOf(tx, principal, group.groupId)) };
  if (group.kind === SIDE_BRANCH_GROUP)
    return { group, calls: [], side: sideBranchOf(await eventsOf(tx, principal, group.groupId)) };
  if (cameFromElsewhere(group))
    return { group, calls: [], told: itemsOf(group, await eventsOf(tx, principal, group.groupId)) };
  return { group, calls: await ledgerCalls(tx, principal, group.groupId) };
}

/**
 * What a model is shown again: the ledger's groups as messages, nothing else. A call without a result is unknown. What
 * the newest compaction speaks for is left out, but for what it names as kept. The model of that name is given its own
 * replies as it said them: their parts, what it reasoned, and what its provider said of them.
 */
export function messagesOf(
  instructions: string | null,
  groups: readonly GroupWithCalls[],
  model: string | null = null,
): ModelMessage[] {
  const messages: ModelMessage[] = instructions === null ? [] : [{ role: 'system', text: instructions }];
  const compacted = newestCompaction(groups);
  if (compacted) messages.push({ role: 'user', text: `[Summary of what came before]\n${compacted.summary}` });
  for (const { group, calls, told } of groups) {
    if (compacted && !isShown(compacted, group)) continue;
    if (told) messages.push(...messagesOfTold(told));
    else if (group.kind === 'user') messages.push({ role: 'user', text: contentOf(group) });
    else if (isReply(group)) messages.push(...replyMessages(group, calls, model));
  }
  return messages;
}

/** What came from elsewhere, in the form in which this run shows messages to its model. */
function messagesOfTold(told: readonly HistoryItem[]): ModelMessage[] {
  const calls = told.flatMap(({ tool_calls: declared }) => declared ?? []);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const nameOf = (id: string): string => text(calls.find((call) => call['id'] === id)?.['name']);
  return told.map((item): ModelMessage => {
    const { role, content, tool_calls: declared = [], tool_call_id: callId = '' } = item;
    if (role === 'tool')
      return { role, callId, toolName: nameOf(callId), text: content, isError: item.is_error === true };
    if (role !== 'assistant') return { role: 'user', text: content };
    const proposed = declared.map((call) => ({
      callId: text(call['id']),
      toolName: text(call['name']),
      argumentsText: isJsonObject(call['arguments']) ? canonicalJson(call['arguments']) : '{}',
    }));
    return { role, text: content, calls: proposed };
  });
}

function replyMessages(group: ActionGroup, calls: readonly LedgerCall[], model: string | null): ModelMessage[] {
  const proposed = calls.map(({ callId, toolName, proposedText }) => ({
    callId,
    toolName,
    argumentsText: proposedText ?? '{}',
  }));
  const said = { text: group.assistantContent ?? '', calls: proposed };
  return [
    { role: 'assistant', ...said, ...replyAsSaid(group.wireState, model, said) },
    ...calls.map(
      (call): ModelMessage => ({
        role: 'tool',
        callId: call.callId,
        toolName: call.toolName,
        text: toldOf(call),
        isError: call.outcome?.state !== 'done',
      }),
    ),
  ];
}

/** What a model is told of a call: its outcome, and whether an approver changed what was executed. */
export function toldOf(call: LedgerCall): string {
  const told = call.outcome ? outcomeForModel(call.outcome) : 'OUTCOME UNKNOWN: it has no result yet.';
  if (call.argumentsText === call.proposedText) return told;
  const changed = call.argumentsText === null ? null : struckOut(call, call.argumentsText);
  return `[The approver changed the arguments to ${changed}]\n${told}`;
}
