import type { ReadTx } from '../../store/index.ts';
import { ARTIFACT, ARTIFACT_VERSION, LINEAGE_EDGE } from './artifacts.ts';
import { COMPLETION_DELIVERY } from './deliveries.ts';
import { ENVIRONMENT_SNAPSHOT, GENERATION, RECOVERY_ENTRY } from './generations.ts';
import { CELL } from './notebook.ts';
import { countRecords } from './record-rows.ts';
import type { Shape } from './shape.ts';
import {
  ANNOTATION,
  CAPABILITY_STATE,
  CHECKPOINT_STATE,
  MEMORY,
  OPERATION,
  PLAN,
  REVIEW_STEP,
} from './side-records.ts';

/** Every kind of record that a session may have. */
export const RECORD_SHAPES: readonly Shape[] = [
  CELL,
  GENERATION,
  ENVIRONMENT_SNAPSHOT,
  ARTIFACT,
  ARTIFACT_VERSION,
  LINEAGE_EDGE,
  COMPLETION_DELIVERY,
  PLAN,
  REVIEW_STEP,
  ANNOTATION,
  MEMORY,
  CAPABILITY_STATE,
  CHECKPOINT_STATE,
  OPERATION,
  RECOVERY_ENTRY,
];

/** The words for them. */
export const RECORD_KINDS: readonly string[] = RECORD_SHAPES.map(({ kind }) => kind);

/** How many records a session has of each kind that it has any of. The caller has checked the session. */
export async function countAllRecords(tx: ReadTx, rootFrameId: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const shape of RECORD_SHAPES) {
    const { records } = await countRecords(tx, rootFrameId, shape);
    if (records > 0) counts[shape.kind] = records;
  }
  return counts;
}
