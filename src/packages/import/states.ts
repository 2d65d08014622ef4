import { digestJson, type JsonObject } from '../../core/index.ts';
import { Fields, fieldsOf } from './fields.ts';
import type { Identities } from './identities.ts';
import type { PackageReader } from './reader.ts';
import { annotationOf, memoryOf, planOf, stepOf } from './side-records.ts';

/** Sealed states of checkpoints, with new identities and under a new seal; what they say is a stranger's word. */
export function planStates(reader: PackageReader, ids: Identities): JsonObject[] {
  const rows = fieldsOf(reader.records('snapshots.json', 'checkpoint_states'), 'a checkpoint state');
  const planned = rows.map((row) => planState(row, ids));
  for (const { state } of planned) ids.requireRenamed(state ?? null);
  return planned;
}

function planState(row: Fields, ids: Identities): JsonObject {
  const source = new Fields(row.object('state') ?? {}, 'a checkpoint state');
  const review = new Fields(source.object('review') ?? {}, 'the review of a checkpoint state');
  const memory = new Fields(source.object('memory') ?? {}, 'the memory of a checkpoint state');
  const automatic = new Fields(
    new Fields(review.object('settings') ?? {}, 'review settings').object('auto_review') ?? {},
    'review settings',
  );
  const state: JsonObject = {
    version: 1,
    plans: fieldsOf(source.objects('plans'), 'a plan').map((plan) => planOf(plan, ids)),
    review: {
      steps: fieldsOf(review.objects('steps'), 'a review step').map((step) => sealedStep(step, ids)),
      annotations: fieldsOf(review.objects('annotations'), 'an annotation').map((one) => annotationOf(one, ids)),
      settings: {
        auto_review: { present: true, value: '0', updated_at: automatic.count('updated_at') },
        reviewer_model: { present: false, value: null, updated_at: null },
      },
    },
    memory: {
      project_id: ids.projectId,
      entries: fieldsOf(memory.objects('entries'), 'a memory').map((entry) => memoryOf(entry, ids)),
    },
  };
  return {
    checkpoint_id: ids.need('checkpoint', row.value('checkpoint_id'), 'a checkpoint state'),
    branch_id: ids.need('branch', row.value('branch_id'), 'a checkpoint state'),
    project_id: ids.projectId,
    schema_version: 1,
    state_sha256: digestJson(state),
    source_checkpoint_id: null,
    trust_state: 'quarantined_import',
    import_source_sha256: row.needText('state_sha256'),
    created_at: row.count('created_at'),
    state,
  };
}

/** The reviewer's settings inside a state are never asked for again. */
function sealedStep(row: Fields, ids: Identities): JsonObject {
  const step = stepOf(row, ids);
  if (step['kind'] !== 'review_settings') return step;
  return { ...step, input: { ...row.object('input'), requested_auto_review: false, active: false } };
}
