import type { PolicyEffect } from './policy-model.ts';

/** What a server's list says about a tool. Hints are the server's own words: they may lower friction, never safety. */
export interface ToolHints {
  readonly name: string;
  readonly readOnly?: boolean;
  readonly idempotent?: boolean;
}

interface Preset {
  /** Tools that are known to change nothing, from the published server of this kind. */
  readonly reads: readonly string[];
  readonly tools: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The name of the root that a person must fill in. */
  readonly root?: string;
  /** Where a read names what it reads, as a pointer: with a root, only reads in it pass. */
  readonly reading?: string;
}

const file = (role: string, path: string, mayBeMissing: boolean) => ({
  kind: 'filesystem',
  role,
  root: 'files',
  path,
  may_be_missing: mayBeMissing,
});

/** Starting points for servers that many people use. */
export const POLICY_PRESETS: Readonly<Record<string, Preset>> = {
  filesystem: {
    root: 'files',
    reads: [
      'read_file',
      'read_text_file',
      'read_media_file',
      'read_multiple_files',
      'list_directory',
      'list_directory_with_sizes',
      'directory_tree',
      'search_files',
      'get_file_info',
      'list_allowed_directories',
    ],
    tools: {
      write_file: {
        effect: 'idempotent',
        editable: ['content'],
        resources: [file('file', '/path', true)],
        postconditions: [{ role: 'file', predicate: 'content_sha256', content: '/content' }],
      },
      edit_file: {
        effect: 'once',
        resources: [file('file', '/path', false)],
        postconditions: [{ role: 'file', predicate: 'exists' }],
      },
      create_directory: {
        effect: 'idempotent',
        resources: [file('folder', '/path', true)],
        postconditions: [{ role: 'folder', predicate: 'exists' }],
      },
      move_file: {
        effect: 'once',
        resources: [file('source', '/source', false), file('destination', '/destination', true)],
        postconditions: [
          { role: 'source', predicate: 'absent' },
          { role: 'destination', predicate: 'exists' },
        ],
      },
    },
  },
  git: {
    root: 'files',
    reading: '/repo_path',
    reads: ['git_status', 'git_diff_unstaged', 'git_diff_staged', 'git_diff', 'git_log', 'git_show', 'git_branch'],
    tools: {
      git_add: { effect: 'idempotent', resources: [file('repository', '/repo_path', false)] },
      git_reset: { effect: 'idempotent', resources: [file('repository', '/repo_path', false)] },
      git_checkout: { effect: 'once', resources: [file('repository', '/repo_path', false)] },
      git_create_branch: { effect: 'once', resources: [file('repository', '/repo_path', false)] },
      git_commit: {
        effect: 'once',
        editable: ['message'],
        resources: [file('repository', '/repo_path', false)],
      },
    },
  },
  memory: {
    reads: ['read_graph', 'search_nodes', 'open_nodes'],
    tools: {
      create_entities: { effect: 'once' },
      create_relations: { effect: 'once' },
      add_observations: { effect: 'once' },
      delete_entities: { effect: 'idempotent' },
      delete_observations: { effect: 'idempotent' },
      delete_relations: { effect: 'idempotent' },
    },
  },
};

/**
 * A policy to start from: every listed tool described, reads of a preset pass, everything else is held for a person.
 * A tool that only its server calls read-only is described as a read and still asks, until a person allows it.
 * `rootPath` is the folder that the server works in, where the preset has files.
 */
export function startingPolicy(of: {
  readonly server: string;
  readonly listed: readonly ToolHints[];
  readonly preset?: keyof typeof POLICY_PRESETS;
  readonly rootPath?: string;
}): Record<string, unknown> {
  const preset = of.preset === undefined ? undefined : POLICY_PRESETS[of.preset];
  const rooted = preset?.root !== undefined && of.rootPath !== undefined;
  const reads = of.listed.map((one) => one.name).filter((name) => preset?.reads.includes(name));
  const when = rooted && preset.reading !== undefined ? { when: [{ at: preset.reading, within: preset.root }] } : {};
  const tools = of.listed.map((one) => [one.name, describe(one, preset, rooted)]);
  return {
    version: 1,
    name: of.server,
    revision: '1',
    mode: 'enforce',
    server: of.server,
    hold_seconds: 900,
    approvers: { roles: ['approver'] },
    ...(rooted ? { roots: { files: { path: of.rootPath, scope: 'workspace' } } } : {}),
    tools: Object.fromEntries(tools),
    rules: reads.length === 0 ? [] : [{ id: 'reads', tools: reads, ...when, decision: 'allow' }],
  };
}

function describe(one: ToolHints, preset: Preset | undefined, rooted: boolean): Record<string, unknown> {
  if (preset?.reads.includes(one.name)) return { effect: 'read' };
  const known = preset && Object.hasOwn(preset.tools, one.name) ? preset.tools[one.name] : undefined;
  if (known) return rooted || known['resources'] === undefined ? { ...known } : { effect: known['effect'] };
  return { effect: (one.readOnly === true ? 'read' : 'once') satisfies PolicyEffect };
}
