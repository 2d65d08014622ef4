import { canonicalJson, digestJson, fail, isJsonObject, type JsonObject, type JsonValue } from '../../core/index.ts';
import type { Tx } from '../../store/index.ts';
import { requireCheckpoint } from '../checkpoints.ts';
import type { SessionContext } from '../ledger.ts';
import type { Principal } from '../model.ts';
import type { Fields, NewRecord } from './field.ts';
import { sqlOf } from './record-queries.ts';
import { addRecord, changeRecord } from './record-rows.ts';
import { documentOf, fromDocument, recordOf, type Shape } from './shape.ts';
import { ANNOTATION, CHECKPOINT_STATE, MEMORY, PLAN, REVIEW_STEP } from './side-records.ts';

/** What became of the records of one sort, when the state that a checkpoint sealed was put back. */
export interface RestoredRecords {
  /** True where the checkpoint seals nothing of the sort: what there is now stays as it is. */
  readonly preserved_live_state: boolean;
  /** How many are other than they were a moment ago. */
  readonly restored: number;
}

export interface RestoredState {
  /** True where the checkpoint has no sealed state: nothing is guessed, and nothing cleared. */
  readonly partial: boolean;
  readonly plans: RestoredRecords;
  readonly review: RestoredRecords;
  readonly memory: RestoredRecords;
}

const UNTOUCHED: RestoredRecords = { preserved_live_state: true, restored: 0 };

/**
 * Puts plans, reviews, annotations and memories back as a checkpoint sealed them, in the caller's transaction. A plan
 * that was being carried out comes back paused. What was recorded since, and is not in the seal, stays: records are
 * never removed. CHECKPOINT_NOT_FOUND; SESSION_CORRUPT where the state is not what its seal says; else as `addRecord`
 * and `changeRecord`.
 */
export async function restoreCheckpointState(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  checkpointId: string,
): Promise<RestoredState> {
  await requireCheckpoint(tx, principal, rootFrameId, checkpointId);
  const row = await tx.get(sqlOf(CHECKPOINT_STATE).get, [checkpointId, rootFrameId, principal.tenant]);
  if (!row) return { partial: true, plans: UNTOUCHED, review: UNTOUCHED, memory: UNTOUCHED };
  const { state, stateSha256 } = recordOf(CHECKPOINT_STATE, row);
  if (digestJson(state) !== stateSha256)
    throw fail('SESSION_CORRUPT', 'The state of the checkpoint is not what its seal says.');
  const put = (shape: Shape, documents: readonly JsonObject[]): Promise<number> =>
    putBack(tx, context, principal, rootFrameId, shape, documents);
  const review = objectIn(state, 'review');
  const plans = listIn(state, 'plans').map((plan) =>
    plan['status'] === 'executing' ? { ...plan, status: 'paused' } : plan,
  );
  return {
    partial: false,
    plans: restored(await put(PLAN, plans)),
    review: restored(
      (await put(REVIEW_STEP, listIn(review, 'steps'))) + (await put(ANNOTATION, listIn(review, 'annotations'))),
    ),
    memory: restored(await put(MEMORY, listIn(objectIn(state, 'memory'), 'entries'))),
  };
}

const restored = (count: number): RestoredRecords => ({ preserved_live_state: false, restored: count });

const objectIn = (of: JsonValue, key: string): JsonObject => {
  const value = isJsonObject(of) ? of[key] : undefined;
  return isJsonObject(value) ? value : {};
};

const listIn = (of: JsonValue, key: string): JsonObject[] => {
  const value = isJsonObject(of) ? of[key] : undefined;
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
};

/** Each as it was; one that is so already is not written. */
async function putBack<F extends Fields>(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  rootFrameId: string,
  shape: Shape<F>,
  documents: readonly JsonObject[],
): Promise<number> {
  let changed = 0;
  for (const document of documents) {
    const record = fromDocument(shape, document);
    const id = String((record as Readonly<Record<string, unknown>>)['id']);
    const live = await tx.get(sqlOf(shape).get, [id, rootFrameId, principal.tenant]);
    if (live && told(shape, recordOf(shape, live)) === told(shape, record)) continue;
    if (live) await changeRecord(tx, context, principal, rootFrameId, shape, id, record);
    else await addRecord(tx, context, principal, rootFrameId, shape, record as unknown as NewRecord<F>);
    changed += 1;
  }
  return changed;
}

/** What a record says, but for when it was last written. */
function told<F extends Fields>(shape: Shape<F>, record: Parameters<typeof documentOf<F>>[1]): string {
  const { updated_at: _at, ...document } = documentOf(shape, record);
  return canonicalJson(document);
}
