import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  JSON_PROFILES,
  readStrictJson,
} from '../../../src/core/index.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { filesUnder } from './world.ts';

type Documents = (name: string) => JsonObject;
const list = (document: JsonValue | undefined, key: string): JsonObject[] =>
  ((document as JsonObject)[key] ?? []) as JsonObject[];
const text = (value: JsonValue | undefined): string => canonicalJson(value ?? null);

export async function documentsOf(bytes: Buffer): Promise<Documents> {
  const files = await readAll(bytes);
  return (name) => readStrictJson(files.get(name) as Buffer, JSON_PROFILES.packages) as JsonObject;
}

/** What a session is, told without identities and without the times of its import, as `index.json` tells it. */
export function summaryOf(documents: Documents): Record<string, unknown> {
  const tools = toolsOf(documents);
  return ordered({ ...historySummary(tools), ...workSummary(tools), ...sideSummary(tools) });
}

type Tools = ReturnType<typeof toolsOf>;

function toolsOf(documents: Documents) {
  const session = documents('session.json');
  const snapshots = documents('snapshots.json');
  const source = session['source'] as JsonObject;
  const root = source['root_frame_id'];
  const branchNames = new Map<JsonValue | undefined, string>();
  for (const branch of list(snapshots, 'branches'))
    branchNames.set(branch['branch_id'], branch['branch_id'] === root ? 'root' : (branch['name'] as string));
  const branchName = (id: JsonValue | undefined): string => branchNames.get(id) ?? 'root';
  const checkpointNames = namesOfCheckpoints(snapshots, branchName);
  const checkpointName = (id: JsonValue | undefined): string | null => checkpointNames.get(id) ?? null;
  const versionNames = new Map<JsonValue | undefined, string>();
  const artifactNames = new Map<JsonValue | undefined, JsonValue | undefined>();
  for (const artifact of list(documents('artifacts.json'), 'artifacts')) {
    artifactNames.set(artifact['artifact_id'], artifact['filename']);
    for (const [index, version] of list(artifact, 'versions').entries())
      versionNames.set(version['version_id'], `${artifact['filename'] as string}#${index}`);
  }
  const revisions = new Map(
    list(documents('notebook.json'), 'cells').map((cell) => [cell['producing_cell_id'], cell['state_revision']]),
  );
  const groups = groupsOf(documents('ledger.json'), branchName);
  return {
    branchName,
    checkpointName,
    versionNames,
    artifactNames,
    revisions,
    groups,
    documents,
    session,
    snapshots,
    source,
  };
}

function historySummary({
  branchName,
  checkpointName,
  versionNames,
  artifactNames,
  groups,
  documents,
  snapshots,
  source,
}: Tools): Record<string, unknown> {
  return {
    action_groups: groups.summaries,
    active_branch: branchName(source['active_branch_id']),
    annotations: list(documents('review.json'), 'annotations').map((one) => ({
      artifact: artifactNames.get(one['artifact_id']) ?? null,
      body: one['body'],
      number: one['number'],
      rel: [one['rel_x'], one['rel_y']],
      status: one['status'],
    })),
    branches: list(snapshots, 'branches').map((one) => ({
      base: checkpointName(one['base_checkpoint_id']),
      head: checkpointName(one['head_checkpoint_id']),
      name: branchName(one['branch_id']),
      parent: one['parent_branch_id'] === null ? null : branchName(one['parent_branch_id']),
    })),
    cells: list(documents('notebook.json'), 'cells').map(cellSummary),
    checkpoints: list(snapshots, 'checkpoints').map((one) => {
      const metadata = one['metadata'] as JsonObject;
      const projection = metadata['history_projection'] as JsonObject | undefined;
      const state = one['permission_state'] as JsonObject;
      return {
        artifact_versions: (one['artifact_versions'] as JsonValue[]).map((id) => versionNames.get(id)).sort(byText),
        cursors: [one['action_cursor'], one['message_cursor'], one['cell_cursor']],
        decisions: [...list(state, 'conversation'), ...list(state, 'project')].map(ruleSummary).sort(byText),
        environment_pins: one['environment_pins'],
        id: checkpointName(one['checkpoint_id']),
        internal: one['internal'],
        parent: checkpointName(one['parent_checkpoint_id']),
        projection_base: checkpointName(projection?.['base_checkpoint_id']),
        reason: one['reason'],
        recipe_status: (one['recovery_recipe'] as JsonObject)['status'],
        reverted_to: checkpointName(metadata['reverted_to']),
        source_kind: one['source_kind'],
        tree_id: (snapshots['workspace'] as { tree_map: JsonObject }).tree_map[one['workspace_tree_id'] as string],
        undo: checkpointName(metadata['undo_checkpoint_id']),
      };
    }),
  };
}

function workSummary({
  branchName,
  versionNames,
  revisions,
  groups,
  documents,
  session,
}: Tools): Record<string, unknown> {
  return {
    execution_attempts: list(documents('ledger.json'), 'execution_attempts').map((one) => ({
      allocated_at: one['allocated_at'],
      attempt_ordinal: one['attempt_ordinal'],
      branch: groups.branchOf.get(one['group_id']),
      capture_at: one['capture_at'],
      cell_revision: revisions.get(one['producing_cell_id']),
      error_text: text(one['error']),
      finished_at: one['finished_at'],
      response_at: one['response_at'],
      started_at: one['started_at'],
      state_revision: one['state_revision'],
      terminal_state: one['terminal_state'],
    })),
    generations: list(documents('environment.json'), 'generations')
      .map((one) => ({
        branch: branchName(one['branch_id']),
        ended_reason: one['ended_reason'],
        language: one['language'],
        ordinal: one['ordinal'],
        state: one['state'],
      }))
      .sort(byText),
    lineage: list(documents('lineage.json'), 'edges')
      .map((one) => [versionNames.get(one['input_version_id']), versionNames.get(one['output_version_id'])])
      .sort(byText),
    memories: list(documents('memory.json'), 'memories')
      .map((one) => [one['block'], one['content']])
      .sort(byText),
    messages: list(session, 'messages').map((one) => messageSummary(one, branchName)),
  };
}

function sideSummary({
  checkpointName,
  artifactNames,
  revisions,
  documents,
  snapshots,
}: Tools): Record<string, unknown> {
  return {
    operations: list(snapshots, 'operations')
      .map((one) => [one['kind'], one['status'], one['error'] !== null])
      .sort(byText),
    permissions: (['conversation', 'project'] as const)
      .flatMap((scope) => list(documents('permissions.json'), scope))
      .map(ruleSummary)
      .sort(byText),
    plans: list(documents('plans.json'), 'plans')
      .map((one) => ({
        artifact: artifactNames.get(one['artifact_id']) ?? null,
        confidence: one['confidence'],
        rationale: one['rationale'],
        status: one['status'],
        step_status: one['step_status'],
        steps: (one['steps'] as JsonValue[]).length,
        title: one['title'],
      }))
      .sort(byText),
    recovery_journal: list(snapshots, 'recovery_journal').map((one) => [
      one['phase'],
      one['status'],
      one['sequence'],
      text(one['detail']),
    ]),
    activity_steps: list(documents('review.json'), 'activity_steps').map((one) => [one['kind'], one['status']]),
    capabilities: list(documents('capabilities.json'), 'states')
      .map((one) => [one['scope'], one['kind'], one['name'], one['enabled']])
      .sort(byText),
    checkpoint_states: list(snapshots, 'checkpoint_states')
      .map((one) => {
        const state = one['state'] as JsonObject;
        return {
          checkpoint: checkpointName(one['checkpoint_id']),
          counts: {
            annotations: list(state['review'], 'annotations').length,
            memories: list(state['memory'], 'entries').length,
            plans: list(state, 'plans').length,
            review_steps: list(state['review'], 'steps').length,
          },
          trust_state: one['trust_state'],
        };
      })
      .sort(byText),
    artifacts: list(documents('artifacts.json'), 'artifacts')
      .map((one) => ({
        content_type: one['content_type'],
        filename: one['filename'],
        is_user_upload: Boolean(one['is_user_upload']),
        priority: one['priority'],
        versions: list(one, 'versions').map((version) => ({
          content_type: version['content_type'],
          latest: version['version_id'] === one['latest_version_id'],
          producing_revision: revisions.get(version['producing_cell_id']) ?? null,
          sha256: version['snapshot_sha256'],
          size: version['size_bytes'],
          source_text: sourceText(version['source']),
        })),
      }))
      .sort(byText),
  };
}

/** Lists say what there is: in the order of their texts, and members in the order of their names. */
export function ordered(summary: Record<string, unknown>): Record<string, unknown> {
  const inOrder = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inOrder);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .sort(byText)
        .map(([key, member]) => [key, inOrder(member)]),
    );
  };
  const lists = Object.entries(summary).map(([key, value]) => [
    key,
    Array.isArray(value) ? value.map(inOrder).sort(byText) : value,
  ]);
  return Object.fromEntries(lists);
}

/** A source that is a JSON text, as the value it says. */
const sourceText = (source: JsonValue | undefined): string =>
  typeof source === 'string' && source.startsWith('{') ? source : text(source);

export const byText = (a: unknown, b: unknown): number => {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
  return left < right ? -1 : left > right ? 1 : 0;
};

const ruleSummary = (one: JsonObject): JsonValue[] => [
  one['scope'] ?? null,
  one['tool'] ?? null,
  one['pattern'] ?? null,
  one['decision'] ?? null,
];

function namesOfCheckpoints(snapshots: JsonObject, branchName: (id: JsonValue | undefined) => string) {
  const names = new Map<JsonValue | undefined, string>();
  const all = list(snapshots, 'checkpoints');
  const byId = new Map(all.map((one) => [one['checkpoint_id'], one]));
  for (const branch of list(snapshots, 'branches')) {
    const own: JsonObject[] = [];
    for (
      let at = byId.get(branch['head_checkpoint_id'] ?? null);
      at;
      at = byId.get(at['parent_checkpoint_id'] ?? null)
    ) {
      if (at['branch_id'] !== branch['branch_id']) break;
      own.unshift(at);
    }
    for (const [index, one] of own.entries())
      names.set(one['checkpoint_id'], `${branchName(branch['branch_id'])}/${index}`);
  }
  return names;
}

function groupsOf(ledger: JsonObject, branchName: (id: JsonValue | undefined) => string) {
  const branchOf = new Map<JsonValue | undefined, string>();
  const turns = new Map<JsonValue | undefined, number>();
  const groups = list(ledger, 'groups');
  const summaries = groups.map((group) => {
    branchOf.set(group['group_id'], branchName(group['branch_id']));
    if (!turns.has(group['turn_id'])) turns.set(group['turn_id'], turns.size);
    const imported = group['kind'] === 'session_import';
    return {
      branch: branchName(group['branch_id']),
      cost_text: text(group['cost_usd']),
      created_at: imported ? null : group['created_at'],
      events: list(group, 'events').map((event) => ({
        arguments_text: text(event['canonical_arguments']),
        created_at: imported ? null : event['created_at'],
        raw_arguments_text: text(event['raw_arguments']),
        sequence: event['sequence'],
        side_effect_class: event['side_effect_class'],
        type: event['type'],
      })),
      has_message: group['assistant_message'] !== null,
      has_wire_state: group['wire_state'] !== null,
      kind: group['kind'],
      model: group['model'],
      ordinal: group['ordinal'],
      provider: group['provider'],
      usage_text: text(group['usage']),
    };
  });
  return { branchOf, summaries: summaries.sort(byText) };
}

function cellSummary(cell: JsonObject): JsonObject {
  const keys = ['code', 'error', 'figures', 'files_read', 'files_written', 'language', 'origin', 'pin'];
  const more = ['replay_policy', 'status', 'stderr', 'stdout', 'visibility'];
  return {
    ...Object.fromEntries([...keys, ...more].map((key) => [key, cell[key] ?? null])),
    revision: cell['state_revision'] ?? null,
  };
}

const VERSION_URL = /\/api\/v1\/artifacts\/versions\/[\w.-]+/g;

/** A delivery's envelope names the delivery and its manifest, which are others after an import. */
function withoutNames(metadata: JsonObject | null): JsonObject | null {
  const envelope = metadata?.['completion_delivery'] as JsonObject | undefined;
  if (!metadata || !envelope) return metadata;
  const { delivery_id: _id, manifest_sha256: _sha, ...kept } = envelope;
  return { ...metadata, completion_delivery: kept };
}

export function messageSummary(one: JsonObject, branchName: (id: JsonValue | undefined) => string) {
  const metadata = one['metadata'] as JsonObject | null;
  const content = one['content'] as string;
  const flagged = metadata?.['injection_flagged'] === true;
  return {
    branch: branchName(one['branch_id']),
    content: flagged ? null : content.replaceAll(VERSION_URL, 'a local version'),
    created_at: one['created_at'],
    flagged,
    metadata_text: text(withoutNames(metadata)),
    role: one['role'],
    seq: one['seq'],
  };
}

/** The files of a workspace: digest, size and rights of each. */
export function workspaceSummary(folder: string): Record<string, unknown> {
  return Object.fromEntries(
    filesUnder(folder).map((path) => {
      const bytes = readFileSync(join(folder, path));
      const mode = `0o${(statSync(join(folder, path)).mode & 0o777).toString(8)}`;
      return [path, [createHash('sha256').update(bytes).digest('hex'), bytes.length, mode]];
    }),
  );
}
