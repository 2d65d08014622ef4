import {
  judgeCall,
  type NewRequest,
  type PermissionRule,
  policyRevision,
  type Policy,
  type PolicySet,
  type PolicyVerdict,
} from '../approvals/index.ts';
import { copyJson } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { argumentsOf } from './arguments-of.ts';
import type { CallsContext } from './context.ts';
import { approvedRevision } from './identity.ts';
import type { CallPlace, PreparedCall, ProposalTerms } from './model.ts';

/**
 * Whether a prepared call may go on, must wait for a person, or is denied. The tool's own word counts as one voice: an
 * explicit `needsApproval: false` allows it, under `policy:tool@<its policy revision>`; a tool that says nothing is
 * held like any call that nothing matches. A call that only reads is allowed unless something says otherwise.
 */
export function judge(
  context: CallsContext,
  place: Pick<CallPlace, 'principal'>,
  call: PreparedCall,
  rules: readonly PermissionRule[],
  terms: Pick<ProposalTerms, 'askForEach'>,
): PolicyVerdict {
  const writes = call.tool.effect !== 'read';
  const proposed = {
    tool: call.tool.name,
    target: call.target,
    // A policy is a host's own function: it gets a copy that it may change.
    arguments: copyJson(argumentsOf(call)),
    writes,
    toolAsks: call.toolAsks === true || terms.askForEach === true,
  };
  const set: PolicySet = { ...context.policies, policies: [...context.policies.policies, ownVoice(call, writes)] };
  const verdict = judgeCall(proposed, place.principal, rulesThatCount(context, place.principal, rules), set);
  if (verdict.decision !== 'allow' || terms.askForEach !== true) return verdict;
  // A standing allow is for what the tool asks; that each call waits is said of the agent.
  return { decision: 'ask', because: 'tool', reason: 'Each call of this agent waits for a person.' };
}

/** Where whoever asks may not decide, what they allowed once for all decides nothing of what they ask for. */
function rulesThatCount(
  context: CallsContext,
  { subject }: Principal,
  rules: readonly PermissionRule[],
): readonly PermissionRule[] {
  const ownAllow = ({ decision, madeBy }: PermissionRule): boolean =>
    decision === 'allow' && madeBy.kind === 'person' && madeBy.subject === subject;
  // Who may decide can have to be worked out, so it is asked last.
  if (!rules.some(ownAllow) || context.approver.requesterMayDecide) return rules;
  return rules.filter((rule) => !ownAllow(rule));
}

function ownVoice(call: PreparedCall, writes: boolean): Policy {
  const allows = call.toolAsks === false || (!writes && call.toolAsks === null);
  return { name: 'tool', revision: call.tool.revisions.policy, decide: () => (allows ? 'allow' : null) };
}

/** The revision of the host's policies that requests are bound to. */
export function boundPolicyRevision(context: CallsContext): string {
  return policyRevision(context.policies);
}

/** The permission request of a call that has to wait. */
export function requestFor(
  context: CallsContext,
  place: CallPlace,
  groupId: string,
  call: PreparedCall,
  verdict: Extract<PolicyVerdict, { decision: 'ask' }>,
): NewRequest {
  const { tool } = call;
  return {
    groupId,
    actionId: call.callId,
    toolCallId: call.callId,
    runId: place.runId,
    projectId: place.projectId,
    tool: tool.name,
    toolRevision: approvedRevision(tool),
    target: call.target,
    sideEffectClass: tool.effect,
    resourceKeys: call.resourceKeys,
    dangerous: tool.effect === 'once',
    arguments: argumentsOf(call),
    policyRevision: boundPolicyRevision(context),
    approver: context.approver,
    editable: tool.editable,
    reason: verdict.reason,
    ...(context.approvalExpiresMs === null ? {} : { expiresAt: context.clock.nowMs() + context.approvalExpiresMs }),
  };
}
