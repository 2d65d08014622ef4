import { digestJson, fail, type JsonValue, LIMITS, requireText } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { isExactName, matchesPattern } from './glob.ts';
import type { PermissionRule, RuleDecision } from './model.ts';

/** A call as policies and rules see it. */
export interface ProposedCall {
  readonly tool: string;
  /** What it is aimed at: a path, an address; empty when the tool has none. */
  readonly target: string;
  readonly arguments: JsonValue;
  /** False for a tool that only reads. */
  readonly writes: boolean;
  /** What the tool's own definition says about this input. */
  readonly toolAsks: boolean;
}

export type PolicyAnswer = RuleDecision | { readonly decision: RuleDecision; readonly reason: string } | null;

/** A host's own rule as a plain function. `null`: it has nothing to say. One that throws holds the call. */
export interface Policy {
  readonly name: string;
  /** Changed with the function: what was approved under another revision is asked again. */
  readonly revision: string;
  readonly decide: (call: ProposedCall, principal: Principal) => PolicyAnswer;
}

export interface PolicySet {
  readonly policies: readonly Policy[];
  /** `shadow`: what only a policy would hold goes on, and is reported. Rules, denials and the tool's own ask still hold. */
  readonly mode: 'enforce' | 'shadow';
}

/** What shadow mode let through, and what it would have done. */
export interface ShadowReport {
  readonly would: 'hold' | 'ask';
  readonly reason: string;
}

export type PolicyVerdict =
  | {
      readonly decision: 'allow';
      readonly approver: string;
      readonly reason: string;
      readonly shadow: ShadowReport | null;
    }
  /** `hold`: nothing said anything, so a person decides. */
  | { readonly decision: 'ask'; readonly because: 'rule' | 'policy' | 'tool' | 'hold'; readonly reason: string }
  | { readonly decision: 'deny'; readonly by: string; readonly reason: string };

interface Voice {
  readonly decision: RuleDecision;
  /** `policy:<name>@<revision>`; a standing rule is the policy `rule.<id>`. */
  readonly by: string;
  readonly reason: string;
  readonly lowersTool: boolean;
  readonly isRule: boolean;
}

/** `policy:<name>@<revision>`: the approver of a write that needs nobody. */
export const policyApprover = (policy: Pick<Policy, 'name' | 'revision'>): string =>
  `policy:${policy.name}@${policy.revision}`;

const RULE = 'rule.';

/** Whether a standing rule, which may be dropped at any time, is what needs nobody's word. */
export const isRuleApprover = (approver: string): boolean => approver.startsWith(`policy:${RULE}`);

/** Checks a host's policies once, at the start: names and revisions, each pair once. INVALID_VALUE, POLICY_CONFLICT. */
export function checkPolicies(policies: readonly Policy[]): void {
  const seen = new Set<string>();
  for (const policy of policies) {
    for (const part of [policy.name, policy.revision])
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(part))
        throw fail(
          'INVALID_VALUE',
          'A policy name or revision is 1 to 64 letters, digits, dots, dashes or underscores.',
        );
    if (seen.has(policy.name)) throw fail('POLICY_CONFLICT', `Two policies are named ${policy.name}.`);
    seen.add(policy.name);
  }
}

/** The revision that requests are bound to: it changes whenever the set, a name, a revision or the mode does. */
export function policyRevision({ policies, mode }: PolicySet): string {
  const names = policies.map((policy) => `${policy.name}@${policy.revision}`);
  const text = `${mode}:${names.join(',')}`;
  return text.length <= LIMITS.identifierCodePoints ? text : `${mode}:${digestJson(names)}`;
}

/**
 * Holds a call against rules and policies: any deny wins, then any ask, then an allow, and when nothing matches a
 * person decides. An allow lowers what the tool itself asks for only when a person made it for exactly this tool.
 */
export function judgeCall(
  call: ProposedCall,
  principal: Principal,
  rules: readonly PermissionRule[],
  set: PolicySet,
): PolicyVerdict {
  const voices = [...rules.flatMap((rule) => voiceOfRule(rule, call)), ...policyVoices(call, principal, set.policies)];
  const deny = voices.find((voice) => voice.decision === 'deny');
  if (deny) return { decision: 'deny', by: deny.by, reason: deny.reason };
  const asking = voices.filter((voice) => voice.decision === 'ask');
  const ruleAsks = asking.find((voice) => voice.isRule);
  if (ruleAsks) return { decision: 'ask', because: 'rule', reason: ruleAsks.reason };
  const allows = voices.filter((voice) => voice.decision === 'allow');
  const lowering = allows.find((voice) => voice.lowersTool);
  if (call.toolAsks && !lowering)
    return { decision: 'ask', because: 'tool', reason: `${call.tool} asks for a person.` };
  return judgeRest(set, asking[0], lowering ?? allows[0]);
}

function judgeRest(set: PolicySet, asks: Voice | undefined, allows: Voice | undefined): PolicyVerdict {
  if (!asks && allows) return { decision: 'allow', approver: allows.by, reason: allows.reason, shadow: null };
  const reason = asks?.reason ?? 'No rule and no policy says that this may go on.';
  if (set.mode === 'enforce') return { decision: 'ask', because: asks ? 'policy' : 'hold', reason };
  const shadow: ShadowReport = { would: asks ? 'ask' : 'hold', reason };
  return { decision: 'allow', approver: policyApprover({ name: 'shadow', revision: '1' }), reason, shadow };
}

function voiceOfRule(rule: PermissionRule, call: ProposedCall): Voice[] {
  if (!matchesPattern(rule.tool, call.tool) || !matchesPattern(rule.pattern, call.target)) return [];
  const person = rule.madeBy.kind === 'person';
  // An allow that no person made gives nothing; an unknown word asks.
  const decision = rule.decision === 'allow' && !person ? 'ask' : rule.decision;
  const lowersTool = person && decision === 'allow' && isExactName(rule.tool);
  const reason = `A standing rule says ${decision} for ${rule.tool} on ${toldPattern(rule.pattern)}.`;
  const by = policyApprover({ name: `${RULE}${rule.ruleId}`, revision: String(rule.updatedAt) });
  return [{ decision, by, reason, lowersTool, isRule: true }];
}

/** A pattern may be as long as a reason may be: of a longer one than this, a reason tells the beginning. */
const PATTERN_TOLD = 1024;

const toldPattern = (pattern: string): string =>
  pattern.length <= PATTERN_TOLD ? pattern : `${pattern.slice(0, PATTERN_TOLD).toWellFormed()}…`;

function policyVoices(call: ProposedCall, principal: Principal, policies: readonly Policy[]): Voice[] {
  return policies.flatMap((policy) => {
    const answer = answerOf(policy, call, principal);
    if (answer === null) return [];
    const by = policyApprover(policy);
    const reason = answer.reason ?? `${by} says ${answer.decision}.`;
    return [{ decision: answer.decision, by, reason, lowersTool: false, isRule: false }];
  });
}

const DECISIONS: ReadonlySet<unknown> = new Set(['allow', 'ask', 'deny']);

/** Whatever a policy answers wrongly, or throws, holds the call for a person; but a denial is one, whatever its reason. */
function answerOf(
  policy: Policy,
  call: ProposedCall,
  principal: Principal,
): { readonly decision: RuleDecision; readonly reason?: string } | null {
  try {
    const answer = policy.decide(call, principal);
    if (answer === null || answer === undefined) return null;
    const told = typeof answer === 'string' ? { decision: answer } : answer;
    const { decision } = told;
    if (!DECISIONS.has(decision)) return { decision: 'ask', reason: `${policyApprover(policy)} gave no answer.` };
    if (!('reason' in told)) return { decision };
    return decision === 'deny' && !isReason(told.reason) ? { decision } : { decision, reason: reasonOf(told.reason) };
  } catch {
    return { decision: 'ask', reason: `${policyApprover(policy)} failed.` };
  }
}

const reasonOf = (reason: unknown): string => requireText('reason', reason, LIMITS.approvalTextCodePoints);

function isReason(reason: unknown): boolean {
  try {
    return reasonOf(reason) !== '';
  } catch {
    return false;
  }
}
