import { type Clock, fail, type Ids, type JsonObject, LIMITS } from '../../core/index.ts';
import {
  ANNOTATION,
  ARTIFACT,
  ARTIFACT_VERSION,
  CAPABILITY_STATE,
  CELL,
  CHECKPOINT_STATE,
  ENVIRONMENT_SNAPSHOT,
  GENERATION,
  LINEAGE_EDGE,
  MEMORY,
  OPERATION,
  PLAN,
  RECOVERY_ENTRY,
  REVIEW_STEP,
} from '../../sessions/index.ts';
import type { AutoModePort } from '../auto-mode/model.ts';
import { planAutoMode } from './auto-mode.ts';
import { deliveredMessages, planArtifacts, planDeliveries, planLineage } from './artifacts.ts';
import { CellRevisions, InjectionScreen, LedgerPlan, MessagePlan, planAttempts } from './conversation.ts';
import { Fields, fieldsOf } from './fields.ts';
import { branchOrder, planBranches, planCheckpoints } from './history.ts';
import { Identities, type IdentityKind } from './identities.ts';
import type { ImportPlan } from './plan-model.ts';
import { PlannedRecords, recordFrom } from './planned.ts';
import type { PackageReader } from './reader.ts';
import * as side from './side-records.ts';
import { planStates } from './states.ts';
import { planTrees } from './workspace.ts';

export interface PlanTools {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly autoMode: AutoModePort | undefined;
  /** The package was written just now by this program: its groups and messages are not built for a look. */
  readonly isOwn?: boolean;
}

const IDENTIFIED = [
  ['snapshots.json', 'branches', 'branch_id', 'branch'],
  ['session.json', 'messages', 'message_id', 'message'],
  ['notebook.json', 'cells', 'producing_cell_id', 'cell'],
  ['snapshots.json', 'checkpoints', 'checkpoint_id', 'checkpoint'],
  ['environment.json', 'generations', 'generation_id', 'generation'],
  ['environment.json', 'artifact_environment_snapshots', 'snapshot_id', 'environment'],
  ['artifacts.json', 'artifacts', 'artifact_id', 'artifact'],
  ['artifacts.json', 'completion_deliveries', 'delivery_id', 'delivery'],
] as const satisfies readonly (readonly [string, string, string, IdentityKind])[];

/** Every identity that others refer to gets its new name before anything is planned; versions without bytes get none. */
function identify(reader: PackageReader, ids: Identities): void {
  ids.bind('branch', reader.sourceRoot, ids.root);
  for (const [document, key, field, kind] of IDENTIFIED)
    for (const row of fieldsOf(reader.records(document, key), `a record of ${key}`))
      ids.take(kind, row.needText(field));
  for (const artifact of fieldsOf(reader.records('artifacts.json', 'artifacts'), 'an artifact'))
    for (const version of fieldsOf(artifact.objects('versions'), 'an artifact version'))
      if (version.value('available') === true) ids.take('version', version.needText('version_id'));
}

/** Reads a package that passed the preflight into everything that its import will write. Writes nothing itself. */
export async function planImport(reader: PackageReader, tools: PlanTools): Promise<ImportPlan> {
  const ids = new Identities(tools.ids);
  identify(reader, ids);
  const nowMs = tools.clock.nowMs();
  const screen = new InjectionScreen();
  const revisions = new CellRevisions(fieldsOf(reader.records('notebook.json', 'cells'), 'a cell'));
  const order = branchOrder(reader);
  const messages = new MessagePlan(reader, ids, deliveredMessages(reader));
  const ledger = new LedgerPlan(reader, ids);
  ledger.lay(order);
  if (!tools.isOwn) {
    await messages.check(screen);
    await ledger.check(screen);
  }
  const generations = side.planGenerations(reader, ids);
  const artifacts = planArtifacts(reader, ids);
  const deliveries = planDeliveries(reader, ids, screen);
  const trees = await planTrees(reader);
  const checkpoints = planCheckpoints(reader, ids, { ledger, revisions });
  const activeBranchId = ids.need('branch', reader.activeBranch, 'the session');
  const activeTreeId = reader.treeOf(reader.workspace.value('active_source_tree_id'));
  if (activeTreeId === null) throw fail('PACKAGE_WORKSPACE', 'the active workspace tree is not in the tree map');
  const records = new PlannedRecords()
    .add(CELL, side.planCells(reader, ids, revisions))
    .add(GENERATION, generations)
    .add(ENVIRONMENT_SNAPSHOT, side.planEnvironmentSnapshots(reader, ids))
    .add(ARTIFACT, artifacts.artifacts)
    .add(ARTIFACT_VERSION, artifacts.versions)
    .add(LINEAGE_EDGE, planLineage(reader, ids))
    .add(PLAN, side.planPlans(reader, ids))
    .add(REVIEW_STEP, side.planSteps(reader, ids, nowMs))
    .add(ANNOTATION, side.planAnnotations(reader, ids))
    .add(MEMORY, side.planMemories(reader, ids))
    .add(CAPABILITY_STATE, side.planCapabilities(reader, ids))
    .add(OPERATION, side.planOperations(reader, ids))
    .add(RECOVERY_ENTRY, side.planRecovery(reader, ids))
    .add(CHECKPOINT_STATE, planStates(reader, ids));
  return {
    projectId: ids.projectId,
    root: ids.root,
    projectName: projectName(reader),
    face: faceOf(reader, ids, activeBranchId, nowMs),
    // The texts were screened and counted before.
    messages: () => messages.messages(new InjectionScreen()),
    groups: () => ledger.groups(new InjectionScreen()),
    attempts: planAttempts(reader, ids, revisions),
    records,
    bytes: artifacts.bytes,
    deliveries,
    trees,
    activeTreeId,
    branches: planBranches(reader, ids, order),
    checkpoints,
    rules: side.planRules(reader),
    files: artifacts.files,
    autoMode: planAutoMode(reader, ids, tools.autoMode),
    injectionFlags: screen.flags,
    identityRemap: {
      actions: ids.countOf('action'),
      artifacts: ids.countOf('artifact'),
      versions: ids.countOf('version'),
      cells: ids.countOf('cell'),
      checkpoints: ids.countOf('checkpoint'),
    },
    marker: recordFrom(GENERATION, side.markerGeneration(tools.ids.next(), activeBranchId, generations, nowMs)),
  };
}

/** A point has at most two units: of a text of millions only the beginning is taken apart. */
const shortened = (text: string, most: number): string =>
  Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join('');

function projectName(reader: PackageReader): string {
  const project = new Fields(reader.document('session.json').object('project') ?? {}, 'the project');
  const name = project.text('name')?.trim() ?? '';
  return shortened(name === '' ? 'Imported Session' : `Imported · ${name}`, LIMITS.sessionNameCodePoints);
}

function faceOf(reader: PackageReader, ids: Identities, activeBranchId: string, nowMs: number): ImportPlan['face'] {
  const session = reader.document('session.json');
  const frame = new Fields(session.object('frame') ?? {}, 'the frame');
  const project = new Fields(session.object('project') ?? {}, 'the project');
  const attributes: JsonObject = {
    model: frame.text('model'),
    effort: frame.value('effort'),
    runtime_env: frame.value('runtime_env'),
    project_description: project.text('description'),
    imported: true,
  };
  return {
    rootFrameId: ids.root,
    kind: 'turn',
    name: shortened(frame.filled('name') ?? 'Imported session', LIMITS.sessionNameCodePoints),
    taskSummary: frame.text('task_summary'),
    attributes,
    activeBranchId,
    createdAt: frame.count('created_at') ?? nowMs,
    updatedAt: frame.count('updated_at') ?? frame.count('created_at') ?? nowMs,
  };
}
