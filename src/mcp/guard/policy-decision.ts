import { type ErrorCode, HoldfastError, type JsonValue } from '../../core/index.ts';
import type { Filesystem } from '../../effects/index.ts';
import type { ResourceScope, ToolPostcondition } from '../../tools/index.ts';
import { invalidPolicy } from './policy-check.ts';
import { type RuleAnswer, ruleApplies, type SealedPolicy } from './policy-conditions.ts';
import { mapCall, type Mapping } from './policy-mapping.ts';
import type { Approvers, Policy, PolicyDecision, PolicyRule, PolicyTool } from './policy-model.ts';

/** A rule about the tool, and whether it applied to this call. */
export interface RuleNote {
  readonly rule: string;
  readonly decision: PolicyDecision;
  readonly applied: boolean;
  readonly text: string;
}

/** What a policy says about one call, and why. */
export interface PolicyVerdict {
  /** `ask` holds the call until somebody decides. */
  readonly decision: PolicyDecision;
  /** Whether the call goes on at once: in shadow mode it always does, whatever the decision would have been. */
  readonly passes: boolean;
  readonly mode: Policy['mode'];
  /** The rule that decided; null where none applied, or where the call was refused for what it names. */
  readonly rule: string | null;
  /** The code of a refusal. */
  readonly code: ErrorCode | null;
  readonly reason: string;
  readonly notes: readonly RuleNote[];
  readonly tool: PolicyTool;
  readonly described: boolean;
  /** Who may decide; empty where nobody is asked. */
  readonly approvers: Approvers | null;
  readonly resources: ResourceScope;
  readonly postconditions: readonly ToolPostcondition[];
}

const UNDESCRIBED: PolicyTool = Object.freeze({
  effect: 'once',
  onError: 'unknown',
  editable: [],
  secretFields: [],
  timeoutSeconds: null,
  resources: null,
  postconditions: [],
  status: null,
});

/** What a tool is, in the policy's words or for want of them. */
export function describedTool(policy: Policy, name: string): PolicyTool {
  return policy.tools.get(name) ?? UNDESCRIBED;
}

/** Seals the folders that a policy names. Throws `POLICY_INVALID` for one that cannot be sealed. */
export function sealPolicy(policy: Policy, filesystem: Filesystem): SealedPolicy {
  const roots = [...policy.roots].map(([name, { path, scope }]) => {
    try {
      return [name, filesystem.seal(path, { scope })] as const;
    } catch (error) {
      const why = error instanceof HoldfastError ? error.message.replace(/\.$/, '') : 'it cannot be sealed';
      throw invalidPolicy(`/roots/${name}`, why);
    }
  });
  return { policy, filesystem, roots: new Map(roots) };
}

/**
 * Judges one call: deny comes before ask, ask before allow, and where no rule applies the call is held. An allow by a
 * pattern lets only described reads pass; a writing tool passes unasked only by its exact name. `args` are the call's
 * arguments as a strict reader gave them.
 */
export function judgeCall(sealed: SealedPolicy, name: string, args: JsonValue): PolicyVerdict {
  const { policy } = sealed;
  const tool = describedTool(policy, name);
  const considered = policy.rules
    .filter((rule) => rule.tools.some((pattern) => matches(pattern, name)))
    .map((rule) => consider(sealed, rule, { name, tool, args }));
  const deciding = strongest(considered.filter(({ note }) => note.applied));
  const mapping = mapCall(sealed, name, tool, args);
  const judged = conclude(deciding?.rule ?? null, mapping);
  return {
    ...judged,
    passes: policy.mode === 'shadow' || judged.decision === 'allow',
    mode: policy.mode,
    notes: considered.map(({ note }) => note),
    tool,
    described: policy.tools.has(name),
    approvers: judged.decision === 'ask' ? (deciding?.rule.approvers ?? policy.approvers) : null,
    resources: mapping.kind === 'mapped' ? mapping.resources : 'anything',
    postconditions: mapping.kind === 'mapped' ? mapping.postconditions : [],
  };
}

interface Considered {
  readonly rule: PolicyRule;
  readonly note: RuleNote;
}

type Judged = Pick<PolicyVerdict, 'decision' | 'rule' | 'code' | 'reason'>;

function conclude(rule: PolicyRule | null, mapping: Mapping): Judged {
  if (rule?.decision === 'deny') {
    const reason = rule.reason || `rule ${rule.id} denies it`;
    return { decision: 'deny', rule: rule.id, code: 'POLICY_DENIED', reason };
  }
  if (mapping.kind === 'refused') return { decision: 'deny', rule: null, code: mapping.code, reason: mapping.text };
  if (!rule) return { decision: 'ask', rule: null, code: null, reason: 'no rule applies, so it is held' };
  if (rule.decision === 'allow' && mapping.unmapped !== null) {
    const reason = `${mapping.unmapped}, so it may touch anything and is held`;
    return { decision: 'ask', rule: rule.id, code: null, reason };
  }
  const said = rule.decision === 'ask' ? 'asks a person' : 'allows it';
  return { decision: rule.decision, rule: rule.id, code: null, reason: rule.reason || `rule ${rule.id} ${said}` };
}

function consider(
  sealed: SealedPolicy,
  rule: PolicyRule,
  call: { readonly name: string; readonly tool: PolicyTool; readonly args: JsonValue },
): Considered {
  const about = { rule: rule.id, decision: rule.decision };
  if (rule.decision === 'allow' && call.tool.effect !== 'read' && !rule.tools.includes(call.name))
    return { rule, note: { ...about, applied: false, text: 'a pattern lets only described reads pass' } };
  const answer = ruleApplies(sealed, rule, call.args);
  return { rule, note: { ...about, applied: answer.applies, text: textOf(answer) } };
}

function textOf(answer: RuleAnswer): string {
  if (answer.applies && answer.unclear) return `cannot be told at ${answer.at}, which counts against the call`;
  if (answer.applies) return 'applies';
  return answer.unclear ? `cannot be told at ${answer.at}, so it allows nothing` : `does not hold at ${answer.at}`;
}

/** The first deny, else the first ask, else the first allow. */
function strongest(applied: readonly Considered[]): Considered | undefined {
  const first = (decision: PolicyDecision) => applied.find(({ rule }) => rule.decision === decision);
  return first('deny') ?? first('ask') ?? first('allow');
}

/** A name against a pattern in which each `*` stands for any characters, in time linear in both. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return name === pattern;
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop() ?? '';
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false;
  let at = head.length;
  const end = name.length - tail.length;
  return rest.every((part) => {
    const found = name.indexOf(part, at);
    at = found + part.length;
    return found >= 0 && at <= end;
  });
}
