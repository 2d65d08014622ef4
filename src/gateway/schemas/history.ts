import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { RECORD_KINDS } from '../../sessions/index.ts';
import { id, json, next, page, text, time } from './common.ts';
import { checkpoint } from './frames.ts';

export const checkpointPage = z.strictObject({ checkpoints: z.array(checkpoint), next });

export const newBranch = z.strictObject({
  checkpoint_id: id,
  name: z.string().min(1).max(LIMITS.httpIdUnits).optional(),
});
export const forked = z.strictObject({ branch_id: id, head_checkpoint_id: id });

export const newRevert = z.strictObject({ checkpoint_id: id });

/** To another checkpoint, or where none is named from the workspace as it is. */
export const diffQuery = z.strictObject({ to: id.optional() });

const change = z.strictObject({ path: text, change: z.enum(['added', 'removed', 'changed', 'mode']) });
export const difference = z.strictObject({
  changes: z.array(change),
  changes_more: z.boolean(),
  files_changed: z.int(),
  /** Calls after the checkpoint that going back to it would not undo. */
  not_undone: z.array(z.strictObject({ event_id: id, tool_call_id: text.nullable(), side_effect_class: text })),
  not_undone_more: z.boolean(),
});

const artifact = z.strictObject({
  artifact_id: id,
  filename: text,
  content_type: text.nullable(),
  latest_version_id: id.nullable(),
  created_at: time,
});
export const artifactPage = z.strictObject({ artifacts: z.array(artifact), next });

const version = z.strictObject({
  version_id: id,
  artifact_id: id,
  filename: text,
  content_type: text.nullable(),
  size_bytes: z.int().nullable(),
  sha256: text.nullable(),
  available: z.boolean(),
  producing_cell_id: id.nullable(),
  /** Where the bytes are; null where they are not kept here. */
  url: text.nullable(),
  created_at: time,
});
export const versionPage = z.strictObject({ versions: z.array(version), next });

export const recordQuery = page.extend({ kind: z.enum(RECORD_KINDS).optional() });
export const recordPage = z.strictObject({
  /** How many there are of each kind. */
  counts: z.record(z.string(), z.int()),
  /** The records of the kind that was asked for, as documents of a package. */
  records: z.array(z.record(z.string(), json)),
  next,
});
