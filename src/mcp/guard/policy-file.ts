import {
  digestJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonValue,
  plainJson,
  readStrictJson,
  HoldfastError,
} from '../../core/index.ts';
import { pointerSegment } from './json-pointer.ts';
import { invalidPolicy, refuseImpossible } from './policy-check.ts';
import type {
  Approvers,
  Policy,
  PolicyCondition,
  PolicyRule,
  PolicyStatus,
  PolicyTarget,
  PolicyTool,
} from './policy-model.ts';
import { type PolicyFile, policySchema } from './policy-schema.ts';

/** Who decides where a policy names nobody. */
const ANY_APPROVER: Approvers = Object.freeze({ roles: ['approver'], subjects: [] });

/**
 * Reads a policy file: strict JSON, no unknown keys, nothing impossible. Throws `POLICY_INVALID` with `details.at`, the
 * place as a JSON pointer; a policy that is wrong anywhere is no policy.
 */
export function readPolicy(bytes: string | Uint8Array): Policy {
  const document = readDocument(bytes);
  const parsed = policySchema.safeParse(plainJson(document));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw invalidPolicy(
      `/${(issue?.path ?? []).map(pointerSegment).join('/')}`.replace(/^\/$/, ''),
      issue?.message ?? 'its shape',
    );
  }
  refuseDropped(document);
  refuseImpossible(parsed.data);
  return policyOf(parsed.data, digestJson(document));
}

/** The one name that a schema's record leaves out without a word; nothing has it. */
function refuseDropped(value: JsonValue, at = ''): void {
  if (Array.isArray(value)) return value.forEach((item, index) => refuseDropped(item as JsonValue, `${at}/${index}`));
  if (!isJsonObject(value)) return;
  if (Object.hasOwn(value, '__proto__')) throw invalidPolicy(`${at}/__proto__`, 'this cannot be a name');
  for (const [key, child] of Object.entries(value)) refuseDropped(child, `${at}/${pointerSegment(key)}`);
}

function readDocument(bytes: string | Uint8Array): JsonValue {
  try {
    return readStrictJson(bytes, JSON_PROFILES.policy);
  } catch (cause) {
    const why = cause instanceof HoldfastError ? cause.message.replace(/\.$/, '') : 'it is no JSON';
    throw invalidPolicy('', `it is not the JSON that a policy is written in (${why})`);
  }
}

function policyOf(file: PolicyFile, digest: string): Policy {
  return {
    name: file.name,
    revision: file.revision,
    mode: file.mode,
    server: file.server,
    holdSeconds: file.hold_seconds,
    settleTool: file.settle_tool,
    approvers: file.approvers ?? ANY_APPROVER,
    roots: new Map(Object.entries(file.roots)),
    tools: new Map(Object.entries(file.tools).map(([name, tool]) => [name, toolOf(tool)])),
    rules: file.rules.map(ruleOf),
    digest,
  };
}

function toolOf(tool: PolicyFile['tools'][string]): PolicyTool {
  return {
    effect: tool.effect,
    onError: tool.on_error ?? 'unknown',
    editable: tool.editable,
    secretFields: tool.secret_fields,
    timeoutSeconds: tool.timeout_seconds ?? null,
    resources: Array.isArray(tool.resources) ? tool.resources.map(targetOf) : (tool.resources ?? null),
    postconditions: tool.postconditions.map((one) => ({ ...one, content: one.content ?? null })),
    status: tool.status === undefined ? null : statusOf(tool.status),
  };
}

function statusOf(status: NonNullable<PolicyFile['tools'][string]['status']>): PolicyStatus {
  return {
    tool: status.tool,
    arguments: new Map(Object.entries(status.arguments)),
    happened: status.happened.map(conditionOf),
    notHappened: status.not_happened?.map(conditionOf) ?? null,
    settlesWithinSeconds: status.settles_within_seconds,
  };
}

type FileTarget = Exclude<PolicyFile['tools'][string]['resources'], 'anything' | undefined>[number];

function targetOf(target: FileTarget): PolicyTarget {
  if (target.kind === 'owned') return { ...target, record: target.record ?? null };
  const { kind, role, root, path } = target;
  return { kind, role, root, path, mayBeMissing: target.may_be_missing };
}

function ruleOf(rule: PolicyFile['rules'][number]): PolicyRule {
  return { ...rule, when: rule.when.map(conditionOf), approvers: rule.approvers ?? null };
}

function conditionOf(one: PolicyFile['rules'][number]['when'][number]): PolicyCondition {
  const at = one.at;
  if (one.equals !== undefined) return { at, test: { kind: 'equals', value: one.equals } };
  if (one.one_of !== undefined) return { at, test: { kind: 'one_of', values: one.one_of } };
  if (one.within !== undefined) return { at, test: { kind: 'within', root: one.within } };
  if (one.present !== undefined) return { at, test: { kind: 'present', present: one.present } };
  return { at, test: { kind: 'range', atLeast: one.at_least ?? null, atMost: one.at_most ?? null } };
}
