import { displayText, fail, isJsonObject, type JsonValue } from '../../core/index.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import { judgeCall, type PolicyVerdict } from './policy-decision.ts';
import type { Approvers } from './policy-model.ts';

/** A call as `policy test` takes it: `{"name": …, "arguments": {…}}`, the `params` of `tools/call`. */
export interface ProposedCall {
  readonly name: string;
  readonly arguments: JsonValue;
}

/** Reads a proposed call; further members, such as `_meta`, are let stand. Throws `INVALID_VALUE`. */
export function readProposedCall(value: JsonValue): ProposedCall {
  const name = isJsonObject(value) ? value['name'] : undefined;
  const args = isJsonObject(value) ? (value['arguments'] ?? {}) : undefined;
  if (typeof name !== 'string' || name === '' || !isJsonObject(args))
    throw fail('INVALID_VALUE', 'A call is an object with the name of a tool and, where it has some, its arguments.');
  return { name, arguments: args };
}

/** What the policy says about a call, in the words of its file, for programs. */
export function explanationDocument(sealed: SealedPolicy, call: ProposedCall): Record<string, unknown> {
  const verdict = judgeCall(sealed, call.name, call.arguments);
  const { policy } = sealed;
  return {
    tool: call.name,
    decision: verdict.decision,
    passes: verdict.passes,
    mode: verdict.mode,
    rule: verdict.rule,
    code: verdict.code,
    reason: verdict.reason,
    rules: verdict.notes.map(({ rule, decision, applied, text }) => ({ id: rule, decision, applied, text })),
    described: verdict.described,
    effect: verdict.tool.effect,
    on_error: verdict.tool.onError,
    editable: verdict.tool.editable,
    asked_by: verdict.tool.status?.tool ?? null,
    approvers: verdict.approvers,
    resources: verdict.resources,
    postconditions: verdict.postconditions,
    policy: { name: policy.name, revision: policy.revision, digest: policy.digest },
  };
}

/** The same for people, one fact a line; what came from the call is escaped. */
export function explainCall(sealed: SealedPolicy, call: ProposedCall): readonly string[] {
  const verdict = judgeCall(sealed, call.name, call.arguments);
  return [
    `${displayText(call.name)}: ${headline(verdict)}`,
    `because ${displayText(verdict.reason)}`,
    ...verdict.notes.map((note) => `  rule ${note.rule} (${note.decision}): ${displayText(note.text)}`),
    `effect: ${verdict.tool.effect}${verdict.described ? '' : ' (the policy does not describe this tool)'}`,
    `may change: ${touched(verdict)}`,
    ...verdict.postconditions.map((one) => `must hold afterwards: ${displayText(one.role)} ${one.predicate}`),
    ...(verdict.approvers ? [`may decide: ${who(verdict.approvers)}`] : []),
    ...(verdict.approvers && verdict.tool.editable.length > 0
      ? [`may be edited: ${verdict.tool.editable.map(displayText).join(', ')}`]
      : []),
    ...(verdict.tool.effect === 'read' ? [] : [`an error answer means: ${verdict.tool.onError}`]),
    ...(verdict.tool.status === null
      ? []
      : [`if its answer is lost: the server is asked by ${displayText(verdict.tool.status.tool)}`]),
    `policy ${sealed.policy.name}@${sealed.policy.revision}, sha256 ${sealed.policy.digest}`,
  ];
}

const HEADLINES = {
  allow: 'passes at once',
  ask: 'is held until somebody decides',
  deny: 'is refused',
} as const;

function headline(verdict: PolicyVerdict): string {
  const words = HEADLINES[verdict.decision];
  const code = verdict.code === null ? '' : ` (${verdict.code})`;
  if (verdict.mode === 'enforce') return words + code;
  return verdict.decision === 'allow'
    ? words
    : `passes, since the policy is in shadow mode; otherwise it ${words}${code}`;
}

function touched(verdict: PolicyVerdict): string {
  if (verdict.resources === 'anything') return 'anything';
  if (verdict.resources.length === 0) return 'nothing';
  return verdict.resources
    .map((target) => {
      if (target.kind === 'filesystem') return `${target.role}: ${target.path}`;
      if (target.kind === 'owned') return `${target.role}: ${target.collection}/${target.recordId}`;
      return `whatever ${target.serverId}/${target.toolId} touches`;
    })
    .map(displayText)
    .join('; ');
}

function who(approvers: Approvers): string {
  return [...approvers.roles.map((role) => `role ${role}`), ...approvers.subjects].map(displayText).join(', ');
}
