import {
  digestJson,
  fail,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LIMITS,
  type LimitName,
} from '../../core/index.ts';
import { RECORD_LISTS, type RecordLimits } from '../../archive/index.ts';
import { listRules } from '../../approvals/index.ts';
import {
  ARTIFACT,
  COMPLETION_DELIVERY,
  countAllRecords,
  countHistory,
  documentOf,
  getSetting,
  type Principal,
  requireSession,
  revertMarkerKey,
  type Session,
  sessionMark,
  walkRecords,
} from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import type { PackageContext } from '../model.ts';
import { readQuarantine } from '../quarantine.ts';

export const notExportable = (why: string, cause?: unknown): Error =>
  fail('SESSION_NOT_EXPORTABLE', `The session cannot travel: ${why}.`, { cause });

/** A session as it stood when its export began. */
export interface ExportStart {
  readonly session: Session;
  /** Changes when the session does. */
  readonly mark: string;
}

/**
 * Looks at a session before anything is built: it is not in the middle of a revert or an import, nothing in it is more
 * than may travel, and nothing that is sealed would have to be redacted. SESSION_NOT_FOUND, SESSION_NOT_EXPORTABLE.
 */
export async function beginExport(tx: ReadTx, context: PackageContext, principal: Principal, root: string) {
  const session = await requireSession(tx, principal, root);
  if ((await getSetting(tx, root, revertMarkerKey(root))) !== null)
    throw notExportable('an interrupted revert requires recovery first');
  const quarantine = await readQuarantine(tx, root);
  if (quarantine?.reason === 'session_package_import_in_progress')
    throw notExportable('its own import was interrupted and it is not whole');
  await requireFew(tx, context.limits ?? {}, principal, session);
  return { session, mark: await exportMark(tx, root) };
}

export async function exportMark(tx: ReadTx, root: string): Promise<string> {
  return `${await sessionMark(tx, root)}\n${digestJson(await recordsMark(tx, root))}`;
}

/** How many records there are, and what the artifacts say: they are read before all others. */
async function recordsMark(tx: ReadTx, root: string): Promise<JsonValue> {
  const artifacts: JsonObject[] = [];
  for await (const artifact of walkRecords(tx, root, ARTIFACT)) artifacts.push(documentOf(ARTIFACT, artifact));
  return { counts: { ...(await countAllRecords(tx, root)) }, artifacts };
}

/** The kinds of the lists of a package. */
const COUNTED: Readonly<Record<string, string>> = {
  cells: 'cell',
  checkpoint_states: 'checkpoint_state',
  recovery_journal: 'recovery_entry',
  artifacts: 'artifact',
  completion_deliveries: 'completion_delivery',
  generations: 'generation',
  artifact_environment_snapshots: 'environment_snapshot',
  edges: 'lineage_edge',
  plans: 'plan',
  annotations: 'annotation',
  activity_steps: 'review_step',
  memories: 'memory',
  states: 'capability_state',
};

/** Every list is counted before a record of it is read: a history is never cut short. */
async function requireFew(tx: ReadTx, limits: RecordLimits, principal: Principal, session: Session): Promise<void> {
  const { rootFrameId: root, projectId } = session;
  const history = await countHistory(tx, root);
  const records = await countAllRecords(tx, root);
  const of = (kind: string): number => records[kind] ?? 0;
  const counts: Readonly<Record<string, number>> = {
    messages: history.messages,
    groups: history.groups,
    execution_attempts: history.attempts,
    branches: history.branches,
    checkpoints: history.checkpoints,
    operations: history.operations + of('operation'),
    project: (await listRules(tx, principal, 'project', projectId)).length,
    conversation: (await listRules(tx, principal, 'conversation', root)).length,
  };
  const bound = (name: LimitName): number => limits[name] ?? LIMITS[name];
  for (const { key, noun, limit } of RECORD_LISTS) {
    const kind = COUNTED[key];
    const count = counts[key] ?? (kind === undefined ? 0 : of(kind));
    if (count > bound(limit)) throw notExportable(`it has too many ${noun}`);
  }
  if (of('artifact_version') > bound('packageArtifactVersions'))
    throw notExportable('it has too many artifact versions');
  let relations = 0;
  for await (const { manifest } of walkRecords(tx, root, COMPLETION_DELIVERY)) relations += entriesOf(manifest);
  if (relations > bound('packageDeliveryRelations')) throw notExportable('it has too many delivery Artifact relations');
}

function entriesOf(manifest: JsonValue): number {
  const entries = isJsonObject(manifest) ? manifest['artifacts'] : undefined;
  return Array.isArray(entries) ? entries.length : 0;
}
