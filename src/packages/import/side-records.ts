import { importedDecision } from '../../approvals/index.ts';
import { canonicalJson, fail, type JsonObject, type JsonValue, sha256Hex } from '../../core/index.ts';
import { isSecretPath } from '../../archive/index.ts';
import type { CellRevisions } from './conversation.ts';
import { Fields, fieldsOf } from './fields.ts';
import { capabilityOf } from './history.ts';
import type { Identities } from './identities.ts';
import type { PlannedRule } from './plan-model.ts';
import type { PackageReader } from './reader.ts';

const notSecret = (paths: readonly JsonValue[]): JsonValue[] =>
  paths.filter((path) => typeof path === 'string' && !isSecretPath(path));

/** Cells as they were, numbered anew; none is ever run again. */
export function planCells(reader: PackageReader, ids: Identities, revisions: CellRevisions): JsonObject[] {
  const rows = fieldsOf(reader.records('notebook.json', 'cells'), 'a cell');
  const cells = rows.map((row) => {
    const old = row.needText('producing_cell_id');
    return {
      ...row.record,
      code: row.text('code') ?? '',
      producing_cell_id: ids.need('cell', old, 'a cell'),
      branch_id: ids.find('branch', row.value('branch_id')),
      state_revision: revisions.of(old),
      replay_policy: 'never',
      files_read: notSecret(row.list('files_read')),
      files_written: notSecret(row.list('files_written')),
      generation_id: ids.find('generation', row.value('generation_id')),
    };
  });
  return cells.toSorted((a, b) => a.state_revision - b.state_revision);
}

const INERT_BOOTSTRAP: JsonObject = { sidecars: [], init_hooks: [], trusted: false };

/** Lifetimes of processes elsewhere, as history: over, without anything that could be run or connected to. */
export function planGenerations(reader: PackageReader, ids: Identities): JsonObject[] {
  return fieldsOf(reader.records('environment.json', 'generations'), 'a generation').map((row) => {
    const environment = new Fields(row.object('environment') ?? {}, 'the environment of a generation');
    return {
      generation_id: ids.need('generation', row.value('generation_id'), 'a generation'),
      branch_id: ids.need('branch', row.value('branch_id'), 'a generation'),
      language: row.text('language'),
      ordinal: row.count('ordinal'),
      parent_generation_id: ids.find('generation', row.value('parent_generation_id')),
      environment_manifest_id: row.text('environment_manifest_id'),
      bootstrap_manifest_id: row.text('bootstrap_manifest_id'),
      environment: {
        imported: true,
        source_environment_name: environment.text('environment_name') ?? environment.text('source_environment_name'),
        trusted: false,
      },
      bootstrap: INERT_BOOTSTRAP,
      worker_pid: null,
      owner_instance_id: null,
      state: 'released',
      started_at: row.count('started_at'),
      last_activity_at: row.count('last_activity_at'),
      ended_at: row.count('ended_at') ?? row.count('started_at'),
      ended_reason: 'imported_historical_generation',
      recovered_from_generation_id: ids.find('generation', row.value('recovered_from_generation_id')),
    };
  });
}

/** The newest generation of the active branch says that this session was imported and nothing runs in it. */
export function markerGeneration(
  id: string,
  branchId: string,
  generations: readonly JsonObject[],
  nowMs: number,
): JsonObject {
  const ordinals = generations
    .filter((generation) => generation['branch_id'] === branchId && generation['language'] === 'python')
    .map((generation) => Number(generation['ordinal'] ?? -1));
  return {
    generation_id: id,
    branch_id: branchId,
    language: 'python',
    ordinal: Math.max(-1, ...ordinals) + 1,
    parent_generation_id: null,
    environment_manifest_id: null,
    bootstrap_manifest_id: null,
    environment: { imported: true, source_environment_name: null, trusted: false },
    bootstrap: INERT_BOOTSTRAP,
    worker_pid: null,
    owner_instance_id: null,
    state: 'released',
    started_at: nowMs,
    last_activity_at: nowMs,
    ended_at: nowMs,
    ended_reason: 'session_package_import_view_only',
    recovered_from_generation_id: null,
  };
}

export function planEnvironmentSnapshots(reader: PackageReader, ids: Identities): JsonObject[] {
  const rows = reader.records('environment.json', 'artifact_environment_snapshots');
  return fieldsOf(rows, 'an environment snapshot').map((row) => {
    const generation = ids.find('generation', row.value('generation_id'));
    return {
      ...row.record,
      snapshot_id: ids.need('environment', row.value('snapshot_id'), 'an environment snapshot'),
      generation_id: generation,
      generation_confidence: generation === null ? null : 'imported_unverified',
      provenance: 'imported_session_package_untrusted',
    };
  });
}

const PLAN_STATES: ReadonlySet<string> = new Set(['draft', 'paused', 'completed', 'failed', 'discarded']);

/** A plan, live or in a sealed state: nothing of it goes on by itself. */
export function planOf(row: Fields, ids: Identities): JsonObject {
  const status = row.text('status') ?? '';
  return {
    ...row.record,
    plan_id: ids.derive('plan', row.text('plan_id') ?? sha256Hex(JSON.stringify(row.text('title')))),
    frame_id: ids.root,
    project_id: ids.projectId,
    artifact_id: ids.find('artifact', row.value('artifact_id')),
    title: row.text('title'),
    status: status === 'executing' ? 'paused' : PLAN_STATES.has(status) ? status : 'draft',
  };
}

const STEP_STATES: Readonly<Record<string, string>> = {
  done: 'done',
  completed: 'done',
  ok: 'done',
  error: 'error',
  failed: 'error',
};

export function stepOf(row: Fields, ids: Identities): JsonObject {
  return {
    ...row.record,
    step_id: ids.derive('review', row.needText('step_id')),
    ...(Object.hasOwn(row.record, 'frame_id') ? { frame_id: ids.root } : {}),
    kind: row.text('kind') === 'review_settings' ? 'review_settings' : 'review',
    status: STEP_STATES[row.text('status') ?? ''] ?? 'stopped',
  };
}

export function annotationOf(row: Fields, ids: Identities): JsonObject {
  const status = row.text('status');
  return {
    ...row.record,
    annotation_id: ids.derive('annotation', row.needText('annotation_id')),
    root_frame_id: ids.root,
    artifact_id: ids.find('artifact', row.value('artifact_id')),
    version_id: ids.find('version', row.value('version_id')),
    reservation_id: null,
    status: status === 'reserved' ? 'open' : status,
  };
}

export function memoryOf(row: Fields, ids: Identities): JsonObject {
  return {
    ...row.record,
    memory_id: ids.derive('memory', row.needText('memory_id')),
    project_id: ids.projectId,
  };
}

export function planPlans(reader: PackageReader, ids: Identities): JsonObject[] {
  return fieldsOf(reader.records('plans.json', 'plans'), 'a plan').map((row) => planOf(row, ids));
}

/** Review steps, and the reviewer's settings of the source as one more: as information, never switched on. */
export function planSteps(reader: PackageReader, ids: Identities, nowMs: number): JsonObject[] {
  const rows = fieldsOf(reader.records('review.json', 'activity_steps'), 'a review step');
  const steps = rows.map((row) => stepOf(row, ids));
  const settings = new Fields(reader.document('review.json').object('settings') ?? {}, 'the review settings');
  const automatic = settings.value('auto_review');
  const model = settings.filled('reviewer_model');
  if (automatic !== null || model !== null) {
    const old = `settings of ${reader.sourceRoot}`;
    steps.push({
      step_id: ids.derive('review', old),
      seq: Math.max(-1, ...steps.map((step) => Number(step['seq'] ?? -1))) + 1,
      kind: 'review_settings',
      title: 'Imported review settings',
      summary: null,
      input: { requested_auto_review: automatic === true, requested_reviewer_model: model, active: false },
      output: null,
      status: 'done',
      created_at: nowMs,
    });
  }
  return steps;
}

export function planAnnotations(reader: PackageReader, ids: Identities): JsonObject[] {
  const rows = fieldsOf(reader.records('review.json', 'annotations'), 'an annotation');
  return rows.map((row) => annotationOf(row, ids));
}

export function planMemories(reader: PackageReader, ids: Identities): JsonObject[] {
  const rows = fieldsOf(reader.records('memory.json', 'memories'), 'a memory');
  return rows.map((row) => memoryOf(row, ids));
}

export function planCapabilities(reader: PackageReader, ids: Identities): JsonObject[] {
  const states = fieldsOf(reader.records('capabilities.json', 'states'), 'a capability state').map((row) =>
    capabilityOf(ids, row),
  );
  const names = states.map(({ scope, kind, name }) => canonicalJson([scope ?? null, kind ?? null, name ?? null]));
  if (new Set(names).size < states.length) throw fail('PACKAGE_IDENTITY', 'a capability is switched twice');
  return states;
}

/** One rule for a tool and pattern in each scope. Two that contradict each other would lose one: PACKAGE_DOCUMENT_INVALID. */
export function planRules(reader: PackageReader): PlannedRule[] {
  const rules = new Map<string, PlannedRule>();
  for (const scope of ['project', 'conversation'] as const)
    for (const row of fieldsOf(reader.records('permissions.json', scope), 'a permission rule')) {
      const [tool, pattern] = [row.needText('tool'), row.needText('pattern')];
      const rule = { scope, tool, pattern, decision: row.text('decision') ?? '' };
      const key = [scope, tool, pattern].join('\0');
      const known = rules.get(key);
      if (known !== undefined && importedDecision(known.decision) !== importedDecision(rule.decision))
        throw fail('PACKAGE_DOCUMENT_INVALID', 'Two permission rules for one tool and pattern contradict each other.');
      rules.set(key, known ?? rule);
    }
  return [...rules.values()];
}

/** Reverts and switches that were made elsewhere, as history. */
export function planOperations(reader: PackageReader, ids: Identities): JsonObject[] {
  return fieldsOf(reader.records('snapshots.json', 'operations'), 'an operation').map((row) => ({
    ...row.record,
    operation_id: ids.take('operation', row.needText('operation_id')),
    branch_id: ids.find('branch', row.value('branch_id')),
    source_checkpoint_id: ids.find('checkpoint', row.value('source_checkpoint_id')),
    target_checkpoint_id: ids.find('checkpoint', row.value('target_checkpoint_id')),
    preview: ids.rename(row.value('preview'), ['checkpoint', 'branch', 'version', 'artifact', 'operation']),
  }));
}

export function planRecovery(reader: PackageReader, ids: Identities): JsonObject[] {
  return fieldsOf(reader.records('snapshots.json', 'recovery_journal'), 'a recovery entry').map((row, index) => {
    const from = 'a recovery journal entry';
    return {
      ...row.record,
      entry_id: String(index),
      recovery_id: ids.take('recovery', row.filled('recovery_id') ?? ''),
      branch_id: ids.find('branch', row.value('branch_id')) ?? ids.root,
      source_generation_id: ids.needIfPresent('generation', row.value('source_generation_id'), from),
      candidate_generation_id: ids.needIfPresent('generation', row.value('candidate_generation_id'), from),
    };
  });
}
