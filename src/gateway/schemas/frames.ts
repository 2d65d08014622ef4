import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, text, time } from './common.ts';

const trustState = z.enum(['local', 'quarantined', 'trusted']);

/** What runs for a session, and whether anything may. */
export const kernelStatus = z.strictObject({
  root_frame_id: id,
  /** `none`: this installation runs no code of sessions; `ended`: what ran for it ran elsewhere. */
  kernel_state: z.enum(['none', 'ended']),
  view_only: z.boolean(),
  explicit_recovery_required: z.boolean(),
  trust_state: trustState,
  quarantine: z
    .strictObject({ reason: text, package_sha256: text.nullable(), injection_flags: z.int().nullable() })
    .nullable(),
});

export const execution = z.strictObject({ code: z.string().min(1), language: z.enum(['python', 'r']).optional() });

export const newMessage = z.strictObject({
  content: z.string().min(1),
  agent: z.string().min(1).max(LIMITS.httpIdUnits).optional(),
  branch_id: id.optional(),
});

export const newCheckpoint = z.strictObject({
  reason: z.string().min(1).max(LIMITS.httpIdUnits),
  /** Default: the active branch. */
  branch_id: id.optional(),
  /** The head that was seen; another one is refused. Null: none. */
  expected_head: id.nullable().optional(),
});

export const checkpoint = z.strictObject({
  checkpoint_id: id,
  root_frame_id: id,
  branch_id: id,
  parent_checkpoint_id: id.nullable(),
  number: z.int(),
  reason: text,
  workspace_tree_id: text.nullable(),
  internal: z.boolean(),
  /** The checkpoint whose history this one shows again; null for one that reverted nothing. */
  reverted_to: id.nullable(),
  created_at: time,
});

export const artifactEdit = z.strictObject({ content: z.string() });
export const editedArtifact = z.strictObject({ artifact_id: id, version_id: id, url: text, sha256: text.nullable() });

/** What a person asks after an import or an interruption. */
export const recovery = z.strictObject({
  action: z.enum(['restart_fresh', 'restore']),
  confirmed: z.boolean().optional(),
});

export const recovered = z.strictObject({
  root_frame_id: id,
  quarantine_cleared: z.boolean(),
  trust_state: z.enum(['trusted', 'quarantined']),
});

export const removed = z.strictObject({ ok: z.literal(true) });
