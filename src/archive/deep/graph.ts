import type { JsonObject, JsonValue } from '../../core/index.ts';
import { isAbsent, isCount, objectOf, objectsOf, textOf } from '../documents.ts';
import type { DeepContext } from './context.ts';

/** Branches form one tree over the root, and each branch's checkpoints one line from its head to its base. */
export function checkGraph(context: DeepContext): void {
  const branches = context.records('snapshots.json', 'branches');
  const byId = new Map(branches.map((branch) => [textOf(branch, 'branch_id') ?? '', branch]));
  const checkpoints = context.records('snapshots.json', 'checkpoints');
  const places = new Map(checkpoints.map((checkpoint) => [textOf(checkpoint, 'checkpoint_id') ?? '', checkpoint]));
  if (!byId.has(context.rootId)) context.add('PACKAGE_GRAPH', 'the root branch is missing');
  const autoEvents = autoEventsOf(context);
  for (const checkpoint of checkpoints) checkCheckpoint(context, checkpoint, autoEvents);
  for (const branch of branches) {
    checkPlace(context, branch, byId, places);
    if (!isLine(context.rootId, branch, checkpoints, places))
      context.add('PACKAGE_GRAPH', 'the checkpoints of a branch do not form one line from its head to its base');
  }
  if (hasCycle(context.rootId, byId)) context.add('PACKAGE_GRAPH', 'the branches form a circle');
  checkActiveBranch(context);
}

function checkPlace(
  context: DeepContext,
  branch: JsonObject,
  byId: ReadonlyMap<string, JsonObject>,
  places: ReadonlyMap<string, JsonObject>,
): void {
  const { branch_id: id, parent_branch_id: parent, base_checkpoint_id: base, head_checkpoint_id: head } = branch;
  if (id === context.rootId) {
    if (!isAbsent(parent) || !isAbsent(base)) context.add('PACKAGE_GRAPH', 'the root branch has a parent or a base');
    return;
  }
  if (isAbsent(head)) context.add('PACKAGE_GRAPH', 'child branch head is missing');
  if (typeof parent !== 'string' || !byId.has(parent) || parent === id)
    context.add('PACKAGE_IDENTITY', 'a child branch references an unknown identity (parent)');
  const at = typeof base === 'string' ? places.get(base) : undefined;
  if (!at) context.add('PACKAGE_IDENTITY', 'a child branch references an unknown identity (base)');
  else if (at['branch_id'] !== parent) context.add('PACKAGE_GRAPH', 'the base of a child branch is not on its parent');
}

/** From the head by parents to the base (the root: to nothing), each checkpoint of the branch once and no other. */
function isLine(
  rootId: string,
  branch: JsonObject,
  checkpoints: readonly JsonObject[],
  places: ReadonlyMap<string, JsonObject>,
): boolean {
  const own = checkpoints.filter(({ branch_id: id }) => id === branch['branch_id']).length;
  const base: JsonValue = branch['branch_id'] === rootId ? null : (branch['base_checkpoint_id'] ?? null);
  let at: JsonValue = branch['head_checkpoint_id'] ?? null;
  // A child that has nothing of its own yet has its base for its head.
  for (let steps = 0; steps <= own; steps += 1) {
    if ((isAbsent(at) && base === null) || (at !== null && at === base)) return steps === own;
    const checkpoint = typeof at === 'string' ? places.get(at) : undefined;
    if (!checkpoint || checkpoint['branch_id'] !== branch['branch_id']) return false;
    at = checkpoint['parent_checkpoint_id'] ?? null;
  }
  return false;
}

function hasCycle(rootId: string, byId: ReadonlyMap<string, JsonObject>): boolean {
  return [...byId.keys()].some((start) => {
    let at: string | undefined = start;
    for (let steps = 0; steps <= byId.size; steps += 1) {
      if (at === undefined || at === rootId || !byId.has(at)) return false;
      at = textOf(byId.get(at), 'parent_branch_id');
    }
    return true;
  });
}

const CURSORS = ['action_cursor', 'message_cursor', 'cell_cursor', 'auto_event_cursor'] as const;

/** The cursors of the history of autonomous runs. */
type AutoEvents = ReadonlySet<JsonValue | undefined>;

function checkCheckpoint(context: DeepContext, checkpoint: JsonObject, autoEvents: AutoEvents): void {
  context.refer('a checkpoint', 'branch', checkpoint['branch_id']);
  context.referIfPresent('a checkpoint', 'checkpoint', checkpoint['parent_checkpoint_id']);
  checkCursors(context, checkpoint, autoEvents);
  checkSource(context, checkpoint);
  const versions = checkpoint['artifact_versions'];
  for (const version of Array.isArray(versions) ? versions : [])
    context.refer('a checkpoint', 'artifact version', version);
  checkProjection(context, objectOf(checkpoint, 'metadata'), autoEvents);
}

/** Where a checkpoint comes from: a cell, a message, or nowhere; kind and identity come together. */
function checkSource(context: DeepContext, { source_kind: kind, source_id: id }: JsonObject): void {
  if (isAbsent(kind) !== isAbsent(id)) context.add('PACKAGE_GRAPH', 'a checkpoint has only half of its source');
  else if (kind === 'cell' || kind === 'message') context.refer('a checkpoint', kind, id);
  else if (!isAbsent(kind)) context.add('PACKAGE_GRAPH', 'a checkpoint comes from something unknown');
}

/** A revert's projection: its base first, then that base and undo are checkpoints of the package, then its cursors. */
function checkProjection(context: DeepContext, metadata: JsonObject | undefined, autoEvents: AutoEvents): void {
  const projection = objectOf(metadata, 'history_projection');
  if (!metadata || !projection) return;
  context.refer('a history projection', 'checkpoint', projection['base_checkpoint_id']);
  context.refer('a history projection', 'checkpoint', metadata['reverted_to']);
  context.refer('a history projection', 'checkpoint', metadata['undo_checkpoint_id']);
  if (projection['base_checkpoint_id'] !== metadata['reverted_to'])
    context.add('PACKAGE_GRAPH', 'a history projection has another base than its revert');
  checkCursors(context, objectOf(projection, 'resume_cursors') ?? {}, autoEvents);
}

function checkCursors(context: DeepContext, record: JsonObject, autoEvents: AutoEvents): void {
  for (const cursor of CURSORS) {
    const value = record[cursor];
    if (value === undefined || value === null) continue;
    if (!isCount(value)) context.add('PACKAGE_GRAPH', `${cursor} is not a non-negative integer`);
    else if (cursor === 'auto_event_cursor' && value > 0 && !autoEvents.has(value))
      context.add('PACKAGE_GRAPH', 'auto_event_cursor has no event boundary in the package');
  }
}

function autoEventsOf(context: DeepContext): AutoEvents {
  const autoMode = objectOf(context.documents.get('review.json'), 'auto_mode');
  return new Set(objectsOf(autoMode?.['events']).map(({ event_cursor: cursor }) => cursor));
}

function checkActiveBranch(context: DeepContext): void {
  const source = objectOf(context.documents.get('session.json'), 'source');
  const active = isAbsent(source?.['active_branch_id']) ? context.rootId : source?.['active_branch_id'];
  context.refer('the session', 'branch', active);
  const workspace = objectOf(context.documents.get('snapshots.json'), 'workspace');
  if (workspace?.['active_branch_id'] !== active)
    context.add('PACKAGE_GRAPH', 'the workspace’s active branch does not match the session’s');
}
