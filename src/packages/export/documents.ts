import { listRules, type PermissionRule } from '../../approvals/index.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import {
  type ActionGroup,
  ANNOTATION,
  CAPABILITY_STATE,
  CELL,
  type Checkpoint,
  CHECKPOINT_STATE,
  COMPLETION_DELIVERY,
  documentOf,
  ENVIRONMENT_SNAPSHOT,
  type Fields,
  GENERATION,
  getSetting,
  lastOrdinalBy,
  LINEAGE_EDGE,
  listBranches,
  listRestores,
  MEMORY,
  type Message,
  OPERATION,
  PLAN,
  portableCheckpoints,
  portableGroups,
  portableMessages,
  type PortablePage,
  type Principal,
  type RecordOf,
  RECOVERY_ENTRY,
  REVIEW_STEP,
  type Session,
  type SessionBranch,
  type Shape,
  walkRecords,
} from '../../sessions/index.ts';
import { requireProject, type ReadTx, type SqlValue } from '../../store/index.ts';
import { notExportable } from './guard.ts';
import { EMPTY_TREE_ID } from './workspace.ts';
import type { PackagedArtifacts } from './artifacts.ts';
import { type DocumentMembers, RecordPage } from './staged.ts';

/** Rows that are read at once: few enough that a page dies young. */
export const PAGE_ROWS = 64;

/** The pages of a paged list, one by one. */
export async function* pages<T>(read: (after: SqlValue) => Promise<PortablePage<T>>): AsyncGenerator<readonly T[]> {
  for (let after: SqlValue = null; ; ) {
    const { items, next } = await read(after);
    yield items;
    if (next === null) return;
    after = next;
  }
}

/** All rows of a paged list, one by one. */
async function* rows<T>(read: (after: SqlValue) => Promise<PortablePage<T>>): AsyncGenerator<T> {
  for await (const items of pages(read)) yield* items;
}

/** What the documents of one export are read with, all in one transaction. */
export interface DocumentTools {
  readonly tx: ReadTx;
  readonly principal: Principal;
  readonly session: Session;
  readonly branches: readonly SessionBranch[];
  readonly artifacts: PackagedArtifacts;
  readonly treeMap: Readonly<Record<string, string>>;
  readonly activeTreeId: string;
  readonly generationIds: ReadonlySet<string>;
  readonly autoMode: JsonObject;
  /** The secret fields of tools that this installation knows, by tool. */
  readonly secretTools: ReadonlyMap<string, readonly string[]>;
}

export async function allBranches(tx: ReadTx, principal: Principal, root: string): Promise<SessionBranch[]> {
  const all: SessionBranch[] = [];
  for (let after: string | undefined; ; ) {
    const page = await listBranches(tx, principal, root, {
      limit: PAGE_ROWS,
      ...(after === undefined ? {} : { after }),
    });
    all.push(...page.items);
    if (page.next === null) return all;
    after = page.next;
  }
}

export const checkpointsOf = (tx: ReadTx, root: string): AsyncGenerator<Checkpoint> =>
  rows((after) => portableCheckpoints(tx, root, after, PAGE_ROWS));

export const groupsOfBranch = (tx: ReadTx, branchId: string): AsyncGenerator<ActionGroup> =>
  rows((after) => portableGroups(tx, branchId, after, PAGE_ROWS));

export async function sessionDocument({ tx, principal, session }: DocumentTools): Promise<DocumentMembers> {
  const { rootFrameId: root, projectId, attributes } = session;
  const owner = { tenantId: principal.tenant, subjectId: principal.subject };
  const { name } = await requireProject(tx, owner, projectId);
  const own = isJsonObject(attributes) ? attributes : {};
  const attribute = (key: string): JsonValue => (Object.hasOwn(own, key) ? (own[key] as JsonValue) : null);
  return {
    schema_version: 1,
    source: { project_id: projectId, root_frame_id: root, active_branch_id: session.activeBranchId },
    project: { name, description: attribute('project_description') ?? '' },
    frame: {
      name: session.name,
      task_summary: session.taskSummary,
      model: attribute('model'),
      effort: attribute('effort'),
      runtime_env: attribute('runtime_env'),
      created_at: session.createdAt,
      updated_at: session.updatedAt,
    },
    messages: messagesOf(tx, root),
  };
}

async function* messagesOf(tx: ReadTx, root: string): AsyncGenerator<RecordPage> {
  for await (const messages of pages((after) => portableMessages(tx, root, after, PAGE_ROWS)))
    yield new RecordPage(messages.map(messageDocument));
}

async function* mapped<T>(
  items: AsyncIterable<T>,
  change: (item: T) => JsonObject | Promise<JsonObject>,
): AsyncGenerator<JsonObject> {
  for await (const item of items) yield await change(item);
}

/** In canonical order: a session has many, and none needs sorting. */
function messageDocument(message: Message): JsonObject {
  return {
    branch_id: message.branchId,
    content: message.content,
    created_at: message.createdAt,
    message_id: message.messageId,
    metadata: isJsonObject(message.metadata) ? message.metadata : null,
    role: message.role,
    seq: message.seq - 1,
  };
}

/** Kinds whose documents name their session. */
const PLACED: ReadonlySet<Shape> = new Set([GENERATION, ANNOTATION, OPERATION, RECOVERY_ENTRY, CHECKPOINT_STATE]);

/** The records of a kind as documents, each changed before. */
async function* documents<F extends Fields>(
  { tx, session: { rootFrameId } }: Pick<DocumentTools, 'tx' | 'session'>,
  shape: Shape<F>,
  change: (record: RecordOf<F>) => RecordOf<F> | null = (record) => record,
): AsyncGenerator<JsonObject> {
  const place = PLACED.has(shape) ? { root_frame_id: rootFrameId } : {};
  for await (const record of walkRecords(tx, rootFrameId, shape)) {
    const kept = change(record);
    if (kept !== null) yield { ...documentOf(shape, kept), ...place };
  }
}

const known = (ids: ReadonlySet<string>, id: string | null): string | null => (id !== null && ids.has(id) ? id : null);

/** A record whose generation is not the session's own names none. */
const ownGeneration =
  (ids: ReadonlySet<string>) =>
  <R extends { readonly generationId: string | null }>(record: R): R => ({
    ...record,
    generationId: known(ids, record.generationId),
  });

export const notebookDocument = (tools: DocumentTools): DocumentMembers => ({
  cells: documents(tools, CELL, ownGeneration(tools.generationIds)),
});

export const environmentDocument = (tools: DocumentTools): DocumentMembers => ({
  generations: documents(tools, GENERATION),
  artifact_environment_snapshots: documents(tools, ENVIRONMENT_SNAPSHOT, ownGeneration(tools.generationIds)),
});

export async function snapshotsDocument(tools: DocumentTools): Promise<DocumentMembers> {
  const { tx, principal, session, branches, treeMap, activeTreeId } = tools;
  const root = session.rootFrameId;
  async function* operations(): AsyncGenerator<JsonObject> {
    yield* documents(tools, OPERATION);
    for (let after: string | undefined; ; ) {
      const query = { limit: PAGE_ROWS, ...(after === undefined ? {} : { after }) };
      const page = await listRestores(tx, principal, root, query);
      for (const one of page.items)
        yield {
          operation_id: one.operationId,
          root_frame_id: root,
          branch_id: one.branchId,
          kind: one.kind,
          source_checkpoint_id: one.sourceCheckpointId,
          target_checkpoint_id: one.targetCheckpointId,
          status: one.status,
          preview: one.preview,
          error: one.error,
          created_at: one.createdAt,
          finished_at: one.finishedAt,
        };
      if (page.next === null) return;
      after = page.next;
    }
  }
  return {
    branches: branches.map(branchDocument),
    checkpoints: mapped(checkpointsOf(tx, root), (checkpoint) => checkpointDocument(tools, checkpoint)),
    checkpoint_states: documents(tools, CHECKPOINT_STATE),
    operations: operations(),
    recovery_journal: documents(tools, RECOVERY_ENTRY),
    workspace: {
      active_branch_id: session.activeBranchId,
      active_source_tree_id: activeTreeId,
      tree_map: { ...treeMap },
      trees: Object.keys(treeMap).map((source) => ({ source_tree_id: source, tree_id: treeMap[source] ?? null })),
    },
  };
}

function branchDocument(branch: SessionBranch): JsonObject {
  return {
    branch_id: branch.branchId,
    root_frame_id: branch.rootFrameId,
    parent_branch_id: branch.parentBranchId,
    base_checkpoint_id: branch.baseCheckpointId,
    head_checkpoint_id: branch.headCheckpointId,
    name: branch.name,
    created_at: branch.createdAt,
    updated_at: branch.updatedAt,
  };
}

async function checkpointDocument(tools: DocumentTools, checkpoint: Checkpoint): Promise<JsonObject> {
  const { artifacts, tx } = tools;
  const { branchId, cursors, source, artifactVersions: versions } = checkpoint;
  const known = (version: JsonValue): boolean => typeof version === 'string' && artifacts.versionIds.has(version);
  return {
    checkpoint_id: checkpoint.checkpointId,
    root_frame_id: checkpoint.rootFrameId,
    branch_id: branchId,
    parent_checkpoint_id: checkpoint.parentCheckpointId,
    source_kind: source?.kind ?? null,
    source_id: source?.id ?? null,
    internal: checkpoint.internal,
    reason: checkpoint.reason,
    action_cursor: await ordinalOf(tx, checkpoint, cursors.action),
    message_cursor: cursors.message,
    cell_cursor: cursors.cell,
    auto_event_cursor: cursors.autoEvent ?? 0,
    workspace_tree_id: checkpoint.workspaceTreeId ?? EMPTY_TREE_ID,
    artifact_versions: Array.isArray(versions) ? versions.filter(known) : [],
    environment_pins: checkpoint.environmentPins ?? {},
    generation_refs: checkpoint.generationRefs ?? {},
    capability_state: checkpoint.capabilityState ?? { version: 1, states: [] },
    permission_state: checkpoint.permissionState ?? { conversation: [], project: [], global: [] },
    recovery_recipe: checkpoint.recoveryRecipe ?? {},
    metadata: await metadataDocument(tx, checkpoint),
    created_at: checkpoint.createdAt,
  };
}

/**
 * An action cursor travels as the place of the last group of its branch; none where the branch has none yet, since 0 is
 * the place of its first one.
 */
async function ordinalOf(tx: ReadTx, on: Checkpoint, position: number | null): Promise<number | null> {
  return position === null ? null : lastOrdinalBy(tx, on, position);
}

async function metadataDocument(tx: ReadTx, checkpoint: Checkpoint): Promise<JsonObject> {
  const { metadata } = checkpoint;
  const projection = metadata['history_projection'];
  const resume = isJsonObject(projection) ? projection['resume_cursors'] : undefined;
  if (!isJsonObject(projection) || !isJsonObject(resume)) return metadata;
  const position = resume['action_cursor'];
  const action = await ordinalOf(tx, checkpoint, typeof position === 'number' ? position : null);
  return {
    ...metadata,
    history_projection: { ...projection, resume_cursors: { ...resume, action_cursor: action } },
  };
}

export function artifactsDocument(tools: DocumentTools): DocumentMembers {
  const { artifacts, excluded } = tools.artifacts;
  return {
    artifacts: [...artifacts],
    excluded: [...excluded],
    completion_deliveries: mapped(documents(tools, COMPLETION_DELIVERY), withoutKey),
  };
}

/** The key under which a delivery was asked for stays where it was asked for. */
function withoutKey({ idempotency_key: _key, ...delivery }: JsonObject): JsonObject {
  return delivery;
}

export const lineageDocument = (tools: DocumentTools): DocumentMembers => ({
  edges: documents(tools, LINEAGE_EDGE, (edge) => {
    const { versionIds } = tools.artifacts;
    return versionIds.has(edge.inputVersionId) && versionIds.has(edge.outputVersionId) ? edge : null;
  }),
});

export const plansDocument = (tools: DocumentTools): DocumentMembers => ({
  plans: documents(tools, PLAN, (plan) => ({
    ...plan,
    artifactId: known(tools.artifacts.artifactIds, plan.artifactId),
  })),
});

export async function reviewDocument(tools: DocumentTools): Promise<DocumentMembers> {
  const { tx, artifacts, autoMode } = tools;
  const root = tools.session.rootFrameId;
  const automatic = await getSetting(tx, root, `review:auto:${root}`);
  return {
    annotations: documents(tools, ANNOTATION, (one) =>
      known(artifacts.artifactIds, one.artifactId) === null ? null : one,
    ),
    activity_steps: documents(tools, REVIEW_STEP),
    settings: {
      auto_review: automatic === null ? null : automatic === '1',
      reviewer_model: await getSetting(tx, root, `review:model:${root}`),
      active_on_import: false,
    },
    auto_mode: autoMode,
  };
}

export const memoryDocument = (tools: DocumentTools): DocumentMembers => ({ memories: documents(tools, MEMORY) });

/** A switch belongs to this session or to its project, whatever its id was written as. */
export const capabilitiesDocument = (tools: DocumentTools): DocumentMembers => ({
  states: documents(tools, CAPABILITY_STATE, (state) => ({
    ...state,
    scopeId: state.scope === 'project' ? tools.session.projectId : tools.session.rootFrameId,
  })),
});

export async function permissionsDocument({ tx, principal, session }: DocumentTools): Promise<DocumentMembers> {
  const of = async (scope: 'project' | 'conversation', scopeId: string): Promise<JsonValue> =>
    (await listRules(tx, principal, scope, scopeId)).map(ruleDocument);
  return {
    policy: 'imported allow rules are downgraded to ask',
    project: await of('project', session.projectId),
    conversation: await of('conversation', session.rootFrameId),
  };
}

function ruleDocument(rule: PermissionRule): JsonObject {
  return {
    rule_id: rule.ruleId,
    scope: rule.scope,
    scope_id: rule.scopeId,
    tool: rule.tool,
    pattern: rule.pattern,
    decision: rule.decision,
    created_at: rule.createdAt,
    updated_at: rule.updatedAt,
  };
}

/** What is sealed by a digest may not be redacted: it would no longer be what was sealed. */
export async function requireSealedUnchanged(
  { tx, session }: Pick<DocumentTools, 'tx' | 'session'>,
  changed: (value: JsonValue) => boolean,
): Promise<void> {
  const delivered = new Set<string>();
  for await (const delivery of walkRecords(tx, session.rootFrameId, COMPLETION_DELIVERY)) {
    delivered.add(delivery.messageId);
    if (changed(withoutKey(documentOf(COMPLETION_DELIVERY, delivery))))
      throw notExportable('a completion delivery changed during safe projection');
  }
  if (delivered.size === 0) return;
  for await (const message of rows((after) => portableMessages(tx, session.rootFrameId, after, PAGE_ROWS)))
    if (delivered.has(message.messageId) && changed(message.content))
      throw notExportable('the message of a completion delivery changed during message projection');
}
