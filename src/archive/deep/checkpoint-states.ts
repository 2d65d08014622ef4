import { digestJson, type JsonObject, type JsonValue } from '../../core/index.ts';
import { objectOf, objectsOf, textOf } from '../documents.ts';
import type { DeepContext } from './context.ts';

/** Sealed states belong to a checkpoint of this session, and their seal is over what they hold, whatever the manifest says. */
export function checkCheckpointStates(context: DeepContext): void {
  const branchOf = new Map<JsonValue | undefined, JsonValue | undefined>(
    context
      .records('snapshots.json', 'checkpoints')
      .map((checkpoint) => [checkpoint['checkpoint_id'], checkpoint['branch_id']]),
  );
  const seen = new Set<JsonValue | undefined>();
  for (const record of context.records('snapshots.json', 'checkpoint_states')) {
    const { checkpoint_id: checkpoint } = record;
    context.refer('a checkpoint state', 'checkpoint', checkpoint);
    const own =
      record['branch_id'] === branchOf.get(checkpoint) &&
      record['root_frame_id'] === context.rootId &&
      record['project_id'] === context.projectId &&
      record['schema_version'] === 1;
    if (!own || seen.has(checkpoint))
      context.add('PACKAGE_CHECKPOINT_STATE', 'a checkpoint state does not belong to its checkpoint');
    seen.add(checkpoint);
    checkState(context, record, objectOf(record, 'state'));
  }
}

function checkState(context: DeepContext, record: JsonObject, state: JsonObject | undefined): void {
  if (!state || digestJson(state) !== record['state_sha256']) {
    context.add('PACKAGE_CHECKPOINT_STATE', 'checkpoint state checksum mismatch');
    return;
  }
  const review = objectOf(state, 'review');
  const memory = objectOf(state, 'memory');
  const lists = [
    ['plan', state['plans'], 'plan_id'],
    ['review step', review?.['steps'], 'step_id'],
    ['annotation', review?.['annotations'], 'annotation_id'],
    ['memory', memory?.['entries'], 'memory_id'],
  ] as const;
  for (const [noun, list, id] of lists) {
    const ids = objectsOf(list).map((entry) => textOf(entry, id));
    if (!Array.isArray(list) || ids.length !== list.length || ids.includes(undefined) || new Set(ids).size < ids.length)
      context.add('PACKAGE_CHECKPOINT_STATE', `a checkpoint state has a ${noun} without an identity of its own`);
  }
}
