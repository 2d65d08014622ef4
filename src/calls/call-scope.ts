import { fail, LIMITS, requireText } from '../core/index.ts';
import {
  externalResource,
  type Filesystem,
  type FilesystemRoot,
  ownedResource,
  type PostconditionInput,
  type Resource,
  type ResourceRef,
  resourceRef,
} from '../effects/index.ts';
import { type CallScope, type ResourceTarget, scopeOf, type Tool, type ToolPostcondition } from '../tools/index.ts';

/** What a call touches, as texts for rules, requests and people. */
export interface ScopeText {
  /** What rules match: the first resource; empty where the tool names none. */
  readonly target: string;
  readonly resourceKeys: readonly string[];
}

/** The texts of what a call declares to touch. Throws `TOOL_INVALID`, and `RESOURCE_INVALID` for what cannot be shown. */
export function callScopeText(tool: Tool, input: unknown): ScopeText {
  const { resources } = scopeOf(tool, input);
  if (resources === 'anything') return { target: '', resourceKeys: ['anything'] };
  const keys = resources.map(keyOf);
  const target = tool.resources === null || !resources[0] ? '' : showable(nameOf(resources[0]));
  return { target, resourceKeys: keys };
}

/** What a person may be asked about is told in a text that can be: it may come from a model. */
function showable(name: string): string {
  try {
    return name === '' ? '' : requireText('target', name, LIMITS.approvalTextCodePoints);
  } catch (cause) {
    throw fail('RESOURCE_INVALID', 'What the call is aimed at is blank, too long, or no text that can be shown.', {
      cause,
    });
  }
}

function nameOf(target: ResourceTarget): string {
  switch (target.kind) {
    case 'filesystem':
      return target.path;
    case 'owned':
      return `${target.namespace}/${target.collection}/${target.recordId}`;
    case 'external':
      return `${target.serverId}/${target.toolId}`;
  }
}

const keyOf = (target: ResourceTarget): string => `${target.kind}:${nameOf(target)}`;

/** The exact resources of a call, taken just before it runs. An empty impact scope means that it may touch anything. */
export interface ExactScope {
  readonly impactScope: readonly ResourceRef[];
  readonly obligations: readonly PostconditionInput[];
  /** The files among them, to be read back afterwards. */
  readonly files: readonly ExactFile[];
}

export interface ExactFile {
  readonly role: string;
  readonly root: FilesystemRoot;
  readonly path: string;
}

/** Turns declared targets into exact references. Throws `TOOL_INVALID` and the `RESOURCE_…` codes. */
export function exactScope(tool: Tool, input: unknown, filesystem: Filesystem): ExactScope {
  const scope: CallScope = scopeOf(tool, input);
  if (scope.resources === 'anything') return { impactScope: [], obligations: [], files: [] };
  const files: ExactFile[] = [];
  const refs = new Map<string, ResourceRef>();
  for (const target of scope.resources)
    refs.set(target.role, resourceRef(exact(target, filesystem, files), target.role));
  return {
    impactScope: [...refs.values()],
    obligations: scope.postconditions.map((condition) => obligationOf(condition, refs)),
    files,
  };
}

function exact(target: ResourceTarget, filesystem: Filesystem, files: ExactFile[]): Resource {
  switch (target.kind) {
    case 'filesystem': {
      const root = filesystem.seal(target.root);
      files.push({ role: target.role, root, path: target.path });
      return filesystem.resolve(root, target.path, { allowMissing: target.mayBeMissing ?? false });
    }
    case 'owned':
      return ownedResource(target);
    case 'external':
      return externalResource({ ...target, owner: target.owner ?? '' });
  }
}

function obligationOf(condition: ToolPostcondition, refs: ReadonlyMap<string, ResourceRef>): PostconditionInput {
  const target = refs.get(condition.role);
  if (!target) throw new Error('scopeOf lets only declared roles through');
  return { target, predicate: condition.predicate, expected: condition.expected ?? '' };
}
