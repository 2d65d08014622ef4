import type { JsonObject, JsonValue } from '../../core/index.ts';
import { importedDecision } from '../../approvals/index.ts';
import type { Checkpoint, SessionBranch } from '../../sessions/index.ts';
import type { CellRevisions, LedgerPlan } from './conversation.ts';
import { Fields, fieldsOf } from './fields.ts';
import type { Identities } from './identities.ts';
import type { PackageReader } from './reader.ts';

/** The old names of the branches, parents before children. */
export function branchOrder(reader: PackageReader): string[] {
  const rows = fieldsOf(reader.records('snapshots.json', 'branches'), 'a branch');
  const children = Map.groupBy(rows, (row) => row.filled('parent_branch_id'));
  const order = [reader.sourceRoot];
  for (const parent of order) for (const child of children.get(parent) ?? []) order.push(child.needText('branch_id'));
  return order;
}

export function planBranches(reader: PackageReader, ids: Identities, order: readonly string[]): SessionBranch[] {
  const rows = new Map(
    fieldsOf(reader.records('snapshots.json', 'branches'), 'a branch').map((row) => [row.needText('branch_id'), row]),
  );
  return order.map((old) => {
    const row = rows.get(old) ?? new Fields({}, 'a branch');
    const isRoot = old === reader.sourceRoot;
    return {
      branchId: ids.need('branch', old, 'a branch'),
      rootFrameId: ids.root,
      parentBranchId: isRoot ? null : ids.need('branch', row.value('parent_branch_id'), 'a branch'),
      baseCheckpointId: isRoot ? null : ids.need('checkpoint', row.value('base_checkpoint_id'), 'a branch'),
      headCheckpointId: ids.needIfPresent('checkpoint', row.value('head_checkpoint_id'), 'a branch'),
      name: row.text('name'),
      createdAt: row.count('created_at') ?? 0,
      updatedAt: row.count('updated_at') ?? row.count('created_at') ?? 0,
    };
  });
}

/** What cursors of a checkpoint are read with. */
export interface CursorTools {
  readonly ledger: LedgerPlan;
  readonly revisions: CellRevisions;
}

/** The checkpoints in the order of their times, each after its parent, without anything that could act. */
export function planCheckpoints(reader: PackageReader, ids: Identities, tools: CursorTools): Checkpoint[] {
  const rows = fieldsOf(reader.records('snapshots.json', 'checkpoints'), 'a checkpoint');
  return parentsFirst(rows).map((row, index) => planCheckpoint(reader, ids, tools, row, index + 1));
}

function parentsFirst(rows: readonly Fields[]): Fields[] {
  const byId = new Map(rows.map((row) => [row.needText('checkpoint_id'), row]));
  const order = new Set<Fields>();
  const byTime = rows.toSorted((a, b) => (a.count('created_at') ?? 0) - (b.count('created_at') ?? 0));
  for (const start of byTime) {
    const line = new Set<Fields>();
    for (let at: Fields | undefined = start; at && !order.has(at) && !line.has(at); ) {
      line.add(at);
      at = byId.get(at.filled('parent_checkpoint_id') ?? '');
    }
    for (const row of [...line].reverse()) order.add(row);
  }
  return [...order];
}

function planCheckpoint(
  reader: PackageReader,
  ids: Identities,
  { ledger, revisions }: CursorTools,
  row: Fields,
  number: number,
): Checkpoint {
  const branch = row.needText('branch_id');
  const cursors = (of: Fields) => ({
    action: ledger.positionAt(branch, of.count('action_cursor')),
    message: of.count('message_cursor'),
    cell: revisions.at(of.count('cell_cursor')),
    autoEvent: of.count('auto_event_cursor') ?? 0,
  });
  const kind = row.filled('source_kind');
  const source = kind === 'cell' || kind === 'message' ? kind : null;
  return {
    checkpointId: ids.need('checkpoint', row.value('checkpoint_id'), 'a checkpoint'),
    rootFrameId: ids.root,
    branchId: ids.need('branch', branch, 'a checkpoint'),
    number,
    parentCheckpointId: ids.needIfPresent('checkpoint', row.value('parent_checkpoint_id'), 'a checkpoint'),
    source: source === null ? null : { kind: source, id: ids.need(source, row.value('source_id'), 'a checkpoint') },
    internal: row.flag('internal'),
    reason: row.text('reason') ?? '',
    cursors: cursors(row),
    workspaceTreeId: reader.treeOf(row.value('workspace_tree_id')),
    artifactVersions: row.list('artifact_versions').flatMap((version) => ids.find('version', version) ?? []),
    environmentPins: {},
    generationRefs: {},
    capabilityState: capabilityState(ids, row.object('capability_state')),
    permissionState: permissionState(ids, row.object('permission_state')),
    recoveryRecipe: {
      version: 1,
      status: 'quarantined_import',
      steps: [],
      required_symbols: [],
      uncertainties: ['untrusted_session_package'],
      replay_allowed: false,
    },
    metadata: planMetadata(ids, row.object('metadata'), cursors),
    createdAt: row.count('created_at') ?? 0,
  };
}

function planMetadata(
  ids: Identities,
  source: JsonObject | null,
  cursors: (of: Fields) => Checkpoint['cursors'],
): JsonObject {
  const kept: JsonObject = { imported: true, explicit_recovery_required: true, trust_state: 'quarantined' };
  const metadata = new Fields(source ?? {}, 'the metadata of a checkpoint');
  const projection = metadata.object('history_projection');
  if (projection === null) return kept;
  const from = 'a history projection';
  const resume = cursors(new Fields(new Fields(projection, from).object('resume_cursors') ?? {}, from));
  return {
    ...kept,
    reverted_to: ids.need('checkpoint', metadata.value('reverted_to'), from),
    undo_checkpoint_id: ids.need('checkpoint', metadata.value('undo_checkpoint_id'), from),
    history_projection: {
      version: 1,
      base_checkpoint_id: ids.need('checkpoint', projection['base_checkpoint_id'] ?? null, from),
      resume_cursors: {
        action_cursor: resume.action,
        message_cursor: resume.message,
        cell_cursor: resume.cell,
        auto_event_cursor: resume.autoEvent,
      },
    },
  };
}

/** Rules at most ask; global ones stay where they were. */
function permissionState(ids: Identities, state: JsonObject | null): JsonObject {
  const rules = (key: 'conversation' | 'project', scopeId: string): JsonValue =>
    fieldsOf(new Fields(state ?? {}, 'a permission state').objects(key), 'a permission rule').map((rule) => ({
      scope: key,
      scope_id: scopeId,
      tool: rule.text('tool'),
      pattern: rule.text('pattern'),
      decision: importedDecision(rule.text('decision') ?? ''),
      created_at: rule.count('created_at'),
      updated_at: rule.count('updated_at'),
    }));
  return { conversation: rules('conversation', ids.root), project: rules('project', ids.projectId), global: [] };
}

function capabilityState(ids: Identities, state: JsonObject | null): JsonObject {
  const own = fieldsOf(new Fields(state ?? {}, 'a capability state').objects('states'), 'a capability state');
  const scoped = own.filter((row) => row.text('scope') === 'project' || row.text('scope') === 'session');
  return { version: 1, states: scoped.map((row) => capabilityOf(ids, row)) };
}

/** A capability arrives off, whatever it was; what was asked for stays as a note. */
export function capabilityOf(ids: Identities, row: Fields): JsonObject {
  const scope = row.text('scope') === 'project' ? 'project' : 'session';
  return {
    kind: row.text('kind'),
    name: row.text('name'),
    scope,
    scope_id: scope === 'project' ? ids.projectId : ids.root,
    enabled: false,
    metadata: {
      ...row.object('metadata'),
      imported: true,
      imported_requested_enabled: row.flag('enabled'),
      requires_explicit_enable: true,
    },
    created_at: row.count('created_at'),
    updated_at: row.count('updated_at'),
  };
}
