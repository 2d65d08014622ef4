import { type ErrorCode, HoldfastError, type JsonValue, LIMITS, sha256Hex } from '../../core/index.ts';
import { ownedResource } from '../../effects/index.ts';
import type { ResourceScope, ResourceTarget, ToolPostcondition } from '../../tools/index.ts';
import { isReadTwice, valuesAt } from './json-pointer.ts';
import { pathOfServer } from './path-words.ts';
import type { SealedPolicy } from './policy-conditions.ts';
import type { PolicyTarget, PolicyTool } from './policy-model.ts';

/** What a call may change and must leave behind, or the code under which it is refused before anything runs. */
export type Mapping =
  | {
      readonly kind: 'mapped';
      readonly resources: ResourceScope;
      readonly postconditions: readonly ToolPostcondition[];
      /** Why the scope is unknown although the policy names targets; a person then decides. */
      readonly unmapped: string | null;
    }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly text: string };

interface Named {
  readonly role: string;
  readonly targets: readonly ResourceTarget[];
}

/** Paths are judged here as they will be for the claim: outside the root, through links or sensitive is refused. */
export function mapCall(sealed: SealedPolicy, toolName: string, tool: PolicyTool, args: JsonValue): Mapping {
  if (tool.effect === 'read') return mapped([], []);
  if (tool.resources === 'anything') return mapped('anything', []);
  if (tool.resources === null) return mapped([itself(sealed.policy.server, toolName)], []);
  try {
    const named = tool.resources.map((target) => ({ role: target.role, targets: targetsOf(sealed, target, args) }));
    const missing = named.find((one) => one.targets.length === 0);
    if (missing) return mapped('anything', [], `the arguments do not name the ${missing.role}`);
    const resources = named.flatMap((one) => one.targets);
    if (resources.length > LIMITS.policyTargets) return mapped('anything', [], 'the arguments name too many things');
    return mapped(resources, conditionsOf(tool, named, args));
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return { kind: 'refused', code: error.code, text: error.message };
  }
}

function mapped(
  resources: ResourceScope,
  postconditions: readonly ToolPostcondition[],
  unmapped: string | null = null,
): Mapping {
  return { kind: 'mapped', resources, postconditions, unmapped };
}

/** A tool whose arguments are mapped to nothing closer touches itself (E-2). */
function itself(server: string, toolId: string): ResourceTarget {
  return { kind: 'external', role: 'target', namespace: 'mcp', endpointId: server, serverId: server, toolId };
}

function targetsOf(sealed: SealedPolicy, target: PolicyTarget, args: JsonValue): readonly ResourceTarget[] {
  const pointer = target.kind === 'filesystem' ? target.path : target.record;
  if (pointer !== null && isReadTwice(args, pointer)) return [];
  const values = pointer === null ? ['*'] : (valuesAt(args, pointer) ?? []);
  const texts = values.map((value) => (typeof value === 'number' ? String(value) : value));
  if (!texts.every((value) => typeof value === 'string')) return [];
  const found = texts.map((text, i) => {
    const role = texts.length === 1 ? target.role : `${target.role}.${i + 1}`;
    return target.kind === 'filesystem'
      ? fileTarget(sealed, target, role, text)
      : ownedTarget(sealed, target, role, text);
  });
  return found.every((one) => one !== null) ? found : [];
}

function fileTarget(
  sealed: SealedPolicy,
  target: PolicyTarget & { kind: 'filesystem' },
  role: string,
  text: string,
): ResourceTarget | null {
  const root = sealed.roots.get(target.root);
  if (!root) throw new Error('a root of the policy was not sealed');
  const path = pathOfServer(root, text);
  if (path === null) return null;
  sealed.filesystem.resolve(root, path, { allowMissing: target.mayBeMissing });
  return { kind: 'filesystem', role, root: root.path, path, mayBeMissing: target.mayBeMissing };
}

function ownedTarget(
  sealed: SealedPolicy,
  target: PolicyTarget & { kind: 'owned' },
  role: string,
  recordId: string,
): ResourceTarget {
  const { namespace, collection } = target;
  const record = { namespace, owner: '', threadId: sealed.policy.server, collection, recordId };
  // An id that is none is refused here, as it would be for the claim.
  ownedResource(record);
  return { kind: 'owned', role, ...record };
}

function conditionsOf(tool: PolicyTool, named: readonly Named[], args: JsonValue): ToolPostcondition[] {
  return tool.postconditions.flatMap(({ role, predicate, content }): ToolPostcondition[] => {
    const roles = named.find((one) => one.role === role)?.targets.map((target) => target.role) ?? [];
    if (content === null) return roles.map((one) => ({ role: one, predicate }));
    const texts = valuesAt(args, content) ?? [];
    if (texts.length !== roles.length) return [];
    return roles.flatMap((one, i) => {
      const text = texts[i];
      return typeof text === 'string' ? [{ role: one, predicate, expected: sha256Hex(text) }] : [];
    });
  });
}
