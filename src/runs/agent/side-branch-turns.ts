import { fail, isJsonObject } from '../../core/index.ts';
import type { ModelReply } from '../../models/index.ts';
import {
  messagesOfBranch,
  readSideBranch,
  SIDE_BRANCH_KEY,
  type SideBranch,
  sideBranchDocument,
  turnsUsed,
  withoutSideBranch,
} from '../side-branch/model.ts';
import { cutIn } from '../cut-reply.ts';
import { askModel, replyMessage } from './ask-model.ts';
import { branchPrompt, resultContent } from './conversation.ts';
import { type Driving, isStopped } from './driving.ts';
import { deniedOutcome } from './gated-call.ts';
import { spentBudget } from './spent.ts';

/**
 * Gives the open side branch of a run the turns that it has left, as its stored messages count them, and closes it. A
 * branch whose turns are used up is closed without another. No tool is offered in a branch; a call that is proposed all
 * the same is denied. Answers what the run has used up, where its budgets allow no turn more: the branch stays open then.
 */
export async function runSideBranch(driving: Driving, system: string): Promise<string | null> {
  const { context, conversation, traceId } = driving;
  const trace = await context.home.traces.getTrace(traceId);
  const branch = readSideBranch(trace?.context ?? {});
  if (branch === null) return null;
  if (!context.sideBranches.has(branch.type))
    throw fail('RUN_BRANCH_UNKNOWN', `No side branch of the kind ${branch.type.slice(0, 64)} is registered.`);
  for (let used = turnsUsed(branch, conversation.messages); used < branch.maxTurns; used += 1) {
    if (await isStopped(driving)) return null;
    const spent = spentBudget(driving, trace?.createdAt ?? 0);
    if (spent !== null) return spent;
    const prompt = branchPrompt(system, conversation, branch, context.model.id);
    const reply = await askModel(driving, prompt, false);
    await addTurn(driving, branch, reply);
    await noteTurn(driving, { ...branch, turnsUsed: used + 1 });
    if (reply.calls.length === 0) break;
  }
  await closeBranch(driving, branch);
  return null;
}

async function addTurn(driving: Driving, branch: SideBranch, reply: ModelReply): Promise<void> {
  const { conversation } = driving;
  const own = { branchType: branch.type, branchId: branch.branchId };
  const before = messagesOfBranch(branch, conversation.messages).at(-1)?.sequence ?? branch.startHeadSequence;
  const message = await conversation.add({ ...replyMessage(driving, reply), ...own, parentSequence: before });
  for (const call of reply.calls) {
    const text = `The tool ${call.toolName.slice(0, 64)} is not allowed in a side branch.`;
    const content = resultContent(call, deniedOutcome({ denied: true, code: 'TOOL_NOT_ALLOWED', text }));
    await conversation.add({ role: 'tool', content, ...own, parentSequence: message.sequence });
  }
}

/** The stored counter is a hint for whoever looks; a crash before it is written loses no turn. */
async function noteTurn({ context, traceId }: Driving, branch: SideBranch): Promise<void> {
  await context.home.traces.updateTrace(traceId, (now) => ({
    context: { ...now.context, [SIDE_BRANCH_KEY]: sideBranchDocument(branch) },
  }));
}

async function closeBranch({ context, conversation, traceId }: Driving, branch: SideBranch): Promise<void> {
  const { traces } = context.home;
  const own = messagesOfBranch(branch, conversation.messages);
  const last = own.findLast((one) => one.role === 'assistant')?.content;
  const text = isJsonObject(last) && typeof last['text'] === 'string' ? last['text'] : null;
  await context.sideBranches.get(branch.type)?.onClosed?.({ traceId, branch, text, cut: cutIn(last ?? null) });
  await traces.appendEvent(traceId, 'side_branch_closed', {
    type: branch.type,
    branch_id: branch.branchId,
    turns_used: turnsUsed(branch, conversation.messages),
  });
  await traces.updateTrace(traceId, (now) => ({ context: withoutSideBranch(now.context) }));
}
