import { type LedgerCall, ledgerCalls, outcomeForModel } from '../calls/index.ts';
import { isJsonObject } from '../core/index.ts';
import type { ModelMessage } from '../models/index.ts';
import { type ActionGroup, listGroups, type Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import { isShown, newestCompaction } from './compaction-record.ts';

/** One action group with its calls as the ledger tells them. */
export interface GroupWithCalls {
  readonly group: ActionGroup;
  readonly calls: readonly LedgerCall[];
}

/** The groups of a branch in their order, each with its calls. */
export async function branchGroups(
  tx: ReadTx,
  principal: Principal,
  rootFrameId: string,
  branchId: string,
): Promise<readonly GroupWithCalls[]> {
  const found: GroupWithCalls[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await listGroups(tx, principal, rootFrameId, after === undefined ? {} : { after });
    for (const group of page.items)
      if (group.branchId === branchId) found.push({ group, calls: await ledgerCalls(tx, principal, group.groupId) });
    if (page.next === null) return found;
    after = page.next;
  }
}

/** Whether a group is a reply of the model. */
export const isReply = ({ kind }: Pick<ActionGroup, 'kind'>): boolean => kind === 'native_tools' || kind === 'finalize';

/**
 * What a model is shown again: the ledger's groups as messages, nothing else. A call without a result is unknown. What
 * the newest compaction speaks for is left out, but for what it names as kept.
 */
export function messagesOf(instructions: string | null, groups: readonly GroupWithCalls[]): ModelMessage[] {
  const messages: ModelMessage[] = instructions === null ? [] : [{ role: 'system', text: instructions }];
  const compacted = newestCompaction(groups);
  if (compacted) messages.push({ role: 'user', text: `[Summary of what came before]\n${compacted.summary}` });
  for (const { group, calls } of groups) {
    if (compacted && !isShown(compacted, group)) continue;
    if (group.kind === 'user') messages.push({ role: 'user', text: contentOf(group) });
    else if (isReply(group)) messages.push(...replyMessages(group, calls));
  }
  return messages;
}

function contentOf(group: ActionGroup): string {
  const message = group.assistantMessage;
  const content = isJsonObject(message) ? message['content'] : undefined;
  return typeof content === 'string' ? content : (group.assistantContent ?? '');
}

function replyMessages(group: ActionGroup, calls: readonly LedgerCall[]): ModelMessage[] {
  const proposed = calls.map(({ callId, toolName, proposedText }) => ({
    callId,
    toolName,
    argumentsText: proposedText ?? '{}',
  }));
  return [
    { role: 'assistant', text: group.assistantContent ?? '', calls: proposed },
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
function toldOf(call: LedgerCall): string {
  const told = call.outcome ? outcomeForModel(call.outcome) : 'OUTCOME UNKNOWN: it has no result yet.';
  if (call.argumentsText === call.proposedText) return told;
  return `[The approver changed the arguments to ${call.argumentsText}]\n${told}`;
}
