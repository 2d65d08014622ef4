import {
  type ApprovalBatch,
  type BatchCall,
  type BatchProposal,
  finishCall,
  openBatch,
  startCall,
} from '../../approvals/index.ts';
import { type CallOutcome, idempotencyKey } from '../../calls/index.ts';
import { canonicalJson, ERROR_TABLE, fail, type JsonValue, LIMITS, sentence } from '../../core/index.ts';
import type { ProposedCall } from '../../models/index.ts';
import { readArguments, type Tool } from '../../tools/index.ts';
import { type AssistantTurn, resultContent } from './conversation.ts';
import { type Driving, type GroupEnd, isStopped } from './driving.ts';
import { admit, batchGrant, callThroughGates, deniedOutcome, type GatedCall, needsPerson } from './gated-call.ts';
import { abandonedBatch, completedBatch, judgeBatch } from './recover.ts';

interface Judged {
  readonly call: ProposedCall;
  readonly proposal: BatchProposal;
  /** Null where a gate denies it already: the denial is its result. */
  readonly tool: Tool | null;
}

/** Takes up the newest reply where it was left: nothing that has a result, or may have started, is run again. */
export async function takeUpReply(driving: Driving): Promise<GroupEnd> {
  const { context, conversation, traceId } = driving;
  const reply = conversation.lastReply();
  if (reply === null || reply.calls.length === 0) return { end: 'answered' };
  const batch = await context.home.batches.get(traceId);
  if (batch?.batchId === reply.message.messageId) return takeUpBatch(driving, reply);
  const answered = conversation.answered(reply.message);
  return reply.calls.every((call) => answered.has(call.callId)) ? { end: 'answered' } : carryOutReply(driving, reply);
}

async function takeUpBatch(driving: Driving, reply: AssistantTurn): Promise<GroupEnd> {
  const answered = driving.conversation.answered(reply.message);
  const at = driving.context.clock.nowMs();
  const batch = await changeBatch(driving, reply, (now) => judgeBatch(now, answered, at).batch);
  switch (batch.status) {
    case 'pending':
      return { end: 'waiting' };
    case 'decided':
    case 'executing':
      return carryOutBatch(driving, reply, batch);
    case 'completed':
      return { end: 'answered' };
    case 'cancelled':
      return { end: 'stopped' };
    case 'execution_unknown':
      return { end: 'unknown', reason: unknownCalls(batch) };
  }
}

function unknownCalls(batch: ApprovalBatch): string {
  const names = batch.calls.filter((call) => call.executionStatus === 'execution_unknown').map((call) => call.toolName);
  return `${names.join(', ') || 'a call'} had started and has no stored result`;
}

/**
 * Carries out a reply from its beginning. Its calls are stored as a batch as soon as one of them needs a person or may
 * change something, so that nothing starts that is not written down. Reads that need nobody are just run.
 */
export async function carryOutReply(driving: Driving, reply: AssistantTurn): Promise<GroupEnd> {
  const judged = await Promise.all(reply.calls.map((call) => judge(driving, call)));
  const harmless = judged.every(({ tool, proposal }) => !proposal.needsPerson && (tool?.effect ?? 'read') === 'read');
  if (harmless) return carryOutReads(driving, reply, judged);
  const { clock, home } = driving.context;
  const opened = openBatch(
    reply.message.messageId,
    judged.map((one) => one.proposal),
    clock.nowMs(),
  );
  await home.batches.replace(driving.traceId, opened);
  return opened.status === 'pending' ? { end: 'waiting' } : carryOutBatch(driving, reply, opened);
}

async function judge(driving: Driving, call: ProposedCall): Promise<Judged> {
  const { context, config } = driving;
  const read = readArguments(call.argumentsText);
  const given: JsonValue = read.ok ? read.value : call.argumentsText;
  const admitted = await admit(context.tools, { ...gate(driving), name: call.toolName, arguments: given });
  const needs = !admitted.denied && (await needsPerson(admitted, context.principal, !config.autoExecuteTools));
  const proposal = { toolCallId: call.callId, toolName: call.toolName, arguments: given, needsPerson: needs };
  return { call, proposal, tool: admitted.denied ? null : admitted.tool };
}

function gate({ allowed, context, traceId }: Driving): Pick<GatedCall, 'allowed' | 'pageUrl' | 'traceId'> {
  return { allowed, traceId, pageUrl: context.pageUrl(traceId) };
}

/** Runs calls that change nothing, beside each other where tools and configuration allow it. */
async function carryOutReads(driving: Driving, reply: AssistantTurn, judged: readonly Judged[]): Promise<GroupEnd> {
  const answered = driving.conversation.answered(reply.message);
  const left = judged.filter(({ call }) => !answered.has(call.callId));
  for (const stretch of sideBySide(driving, left)) {
    if (await isStopped(driving)) return { end: 'stopped' };
    const outcomes = await Promise.all(
      stretch.map(({ proposal }) => runCall(driving, reply, plainCall(proposal), null)),
    );
    for (const [i, { call }] of stretch.entries()) {
      const outcome = outcomes[i];
      if (outcome?.state === 'unknown') return { end: 'unknown', reason: outcome.reason };
      if (outcome !== undefined) await addResult(driving, reply, resultContent(call, outcome));
    }
  }
  return { end: 'answered' };
}

const plainCall = (proposal: BatchProposal) => ({ ...proposal, effectiveArguments: proposal.arguments });

function sideBySide({ config }: Driving, judged: readonly Judged[]): readonly (readonly Judged[])[] {
  const stretches: Judged[][] = [];
  for (const one of judged) {
    const last = stretches.at(-1);
    const joins = config.parallelToolExecution && one.tool?.parallel === true && last?.[0]?.tool?.parallel === true;
    if (joins && last !== undefined && last.length < LIMITS.runParallelCalls) last.push(one);
    else stretches.push([one]);
  }
  return stretches;
}

/** Carries out a decided batch in the model's order. `executing` is stored before a call, its result after it. */
async function carryOutBatch(driving: Driving, reply: AssistantTurn, batch: ApprovalBatch): Promise<GroupEnd> {
  const { clock } = driving.context;
  for (const { toolCallId } of batch.calls) {
    if (driving.conversation.answered(reply.message).has(toolCallId)) continue;
    const call = requireCall(batch, toolCallId);
    if (call.executionStatus === 'rejected') {
      await addResult(driving, reply, resultContent(named(call), rejected(call)));
      continue;
    }
    if (await isStopped(driving)) return stoppedBatch(driving, reply);
    const started = await changeBatch(driving, reply, (now) => startCall(now, toolCallId, clock.nowMs()));
    const end = await carryOutCall(driving, reply, requireCall(started, toolCallId));
    if (end !== null) return end;
  }
  await changeBatch(driving, reply, (now) => completedBatch(now, clock.nowMs()));
  return { end: 'answered' };
}

/** What has not started when the run is stopped stays as it is; whoever stops the run abandons it. */
async function stoppedBatch(driving: Driving, reply: AssistantTurn): Promise<GroupEnd> {
  await changeBatch(driving, reply, (now) => abandonedBatch(now, driving.context.clock.nowMs()));
  return { end: 'stopped' };
}

async function carryOutCall(driving: Driving, reply: AssistantTurn, call: BatchCall): Promise<GroupEnd | null> {
  const { clock } = driving.context;
  const grant = call.decision === 'approved' ? batchGrant(reply.message.messageId, driving.traceId, call) : null;
  const outcome = await runCall(driving, reply, call, grant);
  if (outcome.state === 'unknown') return unknownCall(driving, reply, call, outcome.reason);
  try {
    await addResult(driving, reply, resultContent(named(call), outcome, editedArguments(reply, call)));
  } catch {
    return unknownCall(driving, reply, call, 'its result could not be stored');
  }
  await changeBatch(driving, reply, (now) => finishCall(now, call.toolCallId, 'executed', clock.nowMs()));
  return null;
}

/** The approver's arguments, where they are not what the model proposed. */
function editedArguments(reply: AssistantTurn, call: BatchCall): JsonValue | null {
  const proposed = reply.calls.find((one) => one.callId === call.toolCallId);
  const read = readArguments(proposed?.argumentsText ?? '');
  const same = read.ok && read.text === canonicalJson(call.effectiveArguments);
  return same || call.decision !== 'approved' ? null : call.effectiveArguments;
}

async function unknownCall(driving: Driving, reply: AssistantTurn, call: BatchCall, reason: string): Promise<GroupEnd> {
  const at = driving.context.clock.nowMs();
  await changeBatch(driving, reply, (now) => finishCall(now, call.toolCallId, 'execution_unknown', at));
  return { end: 'unknown', reason: `${call.toolName}: ${reason}` };
}

function rejected(call: BatchCall): CallOutcome {
  const { resolve } = ERROR_TABLE.APPROVAL_NOT_GIVEN;
  const reason =
    call.reason === null ? 'A person rejected this call.' : sentence(`This call was rejected: ${call.reason}`);
  return { state: 'not_started', code: 'APPROVAL_NOT_GIVEN', reason, resolve };
}

const named = (call: BatchCall) => ({ callId: call.toolCallId, toolName: call.toolName });

function requireCall(batch: ApprovalBatch, toolCallId: string): BatchCall {
  const call = batch.calls.find((one) => one.toolCallId === toolCallId);
  if (call === undefined) throw fail('APPROVAL_NOT_FOUND', 'The batch has no such call.');
  return call;
}

async function runCall(
  driving: Driving,
  reply: AssistantTurn,
  call: Pick<BatchCall, 'toolCallId' | 'toolName' | 'effectiveArguments'>,
  grant: GatedCall['grant'],
): Promise<CallOutcome> {
  const { context, config, traceId, signal } = driving;
  const { toolCallId } = call;
  const answer = await callThroughGates(context.tools, {
    ...gate(driving),
    name: call.toolName,
    arguments: call.effectiveArguments,
    toolCallId,
    grant,
    askForEach: !config.autoExecuteTools,
    principal: context.principal,
    idempotencyKey: idempotencyKey({ runId: traceId }, reply.message.messageId, toolCallId),
    signal,
    onProgress: (update) => context.onProgress(traceId, toolCallId, update),
  });
  return answer.denied ? deniedOutcome(answer) : answer.outcome;
}

async function addResult(
  { conversation }: Driving,
  reply: AssistantTurn,
  content: ReturnType<typeof resultContent>,
): Promise<void> {
  await conversation.add({ role: 'tool', content, parentSequence: reply.message.sequence });
}

/** Changes the batch of a reply. Another one in its place means that someone else carries the run out. */
function changeBatch(
  { context, traceId }: Driving,
  reply: AssistantTurn,
  change: (now: ApprovalBatch) => ApprovalBatch,
): Promise<ApprovalBatch> {
  return context.home.batches.change(traceId, (now) => {
    if (now?.batchId === reply.message.messageId) return change(now);
    throw fail('RUN_BUSY', 'The calls of this reply are no longer those of the run.');
  });
}
