import { HoldfastError, sentence } from '../../core/index.ts';
import { hasSnapshot } from '../config/snapshot.ts';
import { bindPrompt } from '../config/resume.ts';
import { cutIn } from '../cut-reply.ts';
import { askModel, replyMessage } from './ask-model.ts';
import { carryOutReply, takeUpReply } from './calls-of-reply.ts';
import { type AssistantTurn, mainPrompt, textMember } from './conversation.ts';
import { type Driving, type GroupEnd, isStopped, type RunResult, standAt } from './driving.ts';
import { runSideBranch } from './side-branch-turns.ts';
import { spentBudget } from './spent.ts';
import { cancelWaiting } from './stop.ts';

const MODEL_FAILURES: ReadonlySet<string> = new Set([
  'MODEL_FAILED',
  'MODEL_STOPPED',
  'MODEL_REPLY_INVALID',
  'MODEL_REPLY_TOO_LARGE',
  'TRANSCRIPT_ENDED',
  'TRANSCRIPT_MISMATCH',
]);

/**
 * Carries a run on until it waits, ends, or is stopped. What is stored is the only memory: a reply that is stored is not
 * asked for again, a result that is stored is not made again. A failing model and an unknown outcome end it as `failed`;
 * errors of the store are thrown and leave it to be taken up.
 */
export async function drive(driving: Driving): Promise<RunResult> {
  try {
    return await carryOn(driving);
  } catch (error) {
    if (!(error instanceof HoldfastError) || !MODEL_FAILURES.has(error.code)) throw error;
    if (await isStopped(driving)) return standAt(driving, 'stopped');
    return standAt(driving, 'failed', { errorMessage: `${error.code}: ${error.message}` });
  }
}

async function carryOn(driving: Driving): Promise<RunResult> {
  const system = await systemPrompt(driving);
  const taken = await takeUpReply(driving);
  if (taken.end !== 'answered') return standFor(driving, taken);
  const spentThere = await runSideBranch(driving, system);
  if (spentThere !== null) return standSpent(driving, spentThere);
  for (let turn = 0; ; turn += 1) {
    if (await isStopped(driving)) return standAt(driving, 'stopped');
    const told = driving.conversation.lastReply();
    if (told !== null && told.calls.length === 0) return complete(driving, told);
    const spent = await spentAt(driving, turn);
    if (spent !== null) return standSpent(driving, spent);
    const end = await carryOutReply(driving, await nextReply(driving, system));
    if (end.end !== 'answered') return standFor(driving, end);
  }
}

async function systemPrompt({ context, config, traceId }: Driving): Promise<string> {
  const trace = await context.home.traces.getTrace(traceId);
  const bound = trace !== null && hasSnapshot(trace.context);
  return bound ? bindPrompt(context.home.traces, traceId, config.systemPrompt) : (config.systemPrompt ?? '');
}

async function spentAt(driving: Driving, turn: number): Promise<string | null> {
  const { context, config, traceId } = driving;
  if (turn >= config.maxIterations) return `its ${config.maxIterations} turns`;
  const trace = await context.home.traces.getTrace(traceId);
  return spentBudget(driving, trace?.createdAt ?? 0);
}

async function nextReply(driving: Driving, system: string): Promise<AssistantTurn> {
  const { conversation } = driving;
  const reply = await askModel(driving, mainPrompt(system, conversation, driving.context.model.id), true);
  const message = await conversation.add({ ...replyMessage(driving, reply), parentSequence: conversation.head });
  return { message, calls: reply.calls };
}

const standSpent = (driving: Driving, spent: string): Promise<RunResult> =>
  standAt(driving, 'failed', { errorMessage: `The run has used up ${spent}.` });

function complete(driving: Driving, { message }: AssistantTurn): Promise<RunResult> {
  return standAt(driving, 'completed', { text: textMember(message.content, 'text'), cut: cutIn(message.content) });
}

/** What waits in a run that another process has stopped meanwhile is taken back. */
async function standWaiting(driving: Driving): Promise<RunResult> {
  const stands = await standAt(driving, 'waiting_confirmation');
  if (stands.status === 'stopped') await cancelWaiting(driving.context, driving.traceId);
  return stands;
}

/** Writes down how the run stands now that it cannot go on by itself. */
export function standFor(driving: Driving, end: Exclude<GroupEnd, { end: 'answered' }>): Promise<RunResult> {
  switch (end.end) {
    case 'waiting':
      return standWaiting(driving);
    case 'stopped':
      return standAt(driving, 'stopped');
    case 'unknown':
      return standAt(driving, 'failed', { errorMessage: sentence(`The outcome is unknown: ${end.reason}`) });
  }
}
