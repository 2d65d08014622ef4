import { copyInput, fail, isBlank, requireText, sha256Hex } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import {
  type AcceptedArguments,
  admitCall,
  inputOfRead,
  issuesText,
  readArguments,
  type Tool,
  type ToolPrincipal,
} from '../tools/index.ts';
import { withArguments } from './arguments-of.ts';
import { callScopeText } from './call-scope.ts';
import type { CallsContext } from './context.ts';
import { notStarted, refusalOf } from './denials.ts';
import type { Checked, PreparedCall, ProposalTerms, ProposedCall } from './model.ts';
import type { CallOutcome } from './outcome.ts';

/** Call ids come from models: what cannot be stored and shown is no id. */
const CALL_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,254}$/;

/**
 * Checks a proposal as far as no person is needed, in this order: known and allowed tool, page address, arguments,
 * right, business rule. Stores nothing and runs nothing. A refusal is a value whose text goes to the model.
 */
export async function prepareCall(
  context: CallsContext,
  principal: Principal,
  proposal: ProposedCall,
  terms: ProposalTerms,
): Promise<Checked> {
  try {
    return { kind: 'prepared', call: await checkAll(context, principal, proposal, terms) };
  } catch (error) {
    const { callId, toolName } = proposal;
    return { kind: 'refused', callId, toolName: toolName.slice(0, 64), outcome: refusalOf(error) };
  }
}

async function checkAll(
  context: CallsContext,
  principal: Principal,
  proposal: ProposedCall,
  terms: ProposalTerms,
): Promise<PreparedCall> {
  if (!CALL_ID.test(proposal.callId)) throw fail('CALL_INVALID', 'The call has no usable id.');
  requireText('the tool name', proposal.toolName);
  const { allowed, pageUrl } = terms;
  const admission = admitCall(context.tools, { name: proposal.toolName, allowed, pageUrl });
  if (admission.denied) throw fail(admission.code, admission.text);
  const { tool } = admission;
  const read = readArguments(proposal.argumentsText);
  if (!read.ok) throw fail('TOOL_ARGUMENTS_INVALID', `Invalid arguments: ${issuesText(read.issues)}`);
  const call = await withInput(tool, proposal.callId, read, pageUrl ?? null);
  const refusal = await currentRefusal(call, principal);
  if (refusal) throw fail(refusal.code, refusal.reason);
  const toolAsks = tool.needsApproval === null ? null : await tool.needsApproval(copyInput(call.input), principal);
  return withArguments({ ...call, toolAsks }, read.value);
}

async function withInput(
  tool: Tool,
  callId: string,
  { text, value }: Pick<AcceptedArguments, 'text' | 'value'>,
  pageUrl: string | null,
): Promise<PreparedCall> {
  const given = await inputOfRead(tool, value);
  if (!given.ok) throw fail('TOOL_ARGUMENTS_INVALID', `Invalid arguments: ${issuesText(given.issues)}`);
  const { target, resourceKeys } = callScopeText(tool, given.input);
  return {
    callId,
    tool,
    argumentsText: text,
    argumentsSha256: sha256Hex(text),
    input: given.input,
    toolAsks: null,
    target,
    resourceKeys,
    pageUrl,
  };
}

/** A stored call made ready again: its text is what counts, the tool's schema is asked anew. */
export async function prepareStored(
  tool: Tool,
  stored: { readonly callId: string; readonly argumentsText: string; readonly pageUrl: string | null },
): Promise<PreparedCall> {
  const { callId, argumentsText: text, pageUrl } = stored;
  const read = readArguments(text);
  if (!read.ok) throw fail('TOOL_ARGUMENTS_INVALID', `Invalid arguments: ${issuesText(read.issues)}`);
  return withInput(tool, callId, { text, value: read.value }, pageUrl);
}

export interface Refusal {
  readonly code: 'CALL_NOT_AUTHORIZED' | 'BUSINESS_RULE_VIOLATION';
  readonly reason: string;
}

/** Whether this principal may do this now, and whether the business rule holds now. False and a throw both refuse. */
export async function currentRefusal(
  call: Pick<PreparedCall, 'tool' | 'input'>,
  principal: ToolPrincipal,
): Promise<Refusal | null> {
  const { tool, input } = call;
  if (tool.authorize && !(await answers(() => tool.authorize?.(copyInput(input), principal))))
    return { code: 'CALL_NOT_AUTHORIZED', reason: `You may not call ${tool.name} on this.` };
  if (!tool.precondition) return null;
  const reason = await ruleRefusal(tool, copyInput(input), principal);
  return reason === null ? null : { code: 'BUSINESS_RULE_VIOLATION', reason };
}

/** What the tool's rules say now, about what is left of the rights that whoever the call is of had. */
export async function refusalNow(
  { principalNow }: Pick<CallsContext, 'principalNow'>,
  call: Pick<PreparedCall, 'tool' | 'input'>,
  had: Principal,
): Promise<Refusal | null> {
  const principal = call.tool.authorize ? await principalNow(had) : had;
  if (principal) return currentRefusal(call, principal);
  return { code: 'CALL_NOT_AUTHORIZED', reason: 'Whoever began the run has no token any more.' };
}

async function answers(question: () => unknown): Promise<boolean> {
  try {
    return (await question()) === true;
  } catch {
    return false;
  }
}

async function ruleRefusal(tool: Tool, input: unknown, principal: ToolPrincipal): Promise<string | null> {
  try {
    const answer: unknown = await tool.precondition?.(input, principal);
    if (answer === true) return null;
    const told = typeof answer === 'object' && answer !== null && 'refused' in answer ? answer.refused : undefined;
    return typeof told === 'string' && !isBlank(told)
      ? told.slice(0, 500)
      : 'The business rule of this tool refuses it.';
  } catch {
    return 'The business rule of this tool could not be asked.';
  }
}

/** The refusal as a call's outcome. */
export function refusedNow(refusal: Refusal): CallOutcome {
  return notStarted(refusal.code, refusal.reason);
}
