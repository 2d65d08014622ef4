import { z } from 'zod';
import { id } from './common.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** What verifying says: exactly these seven keys. */
export const verifyReport = z.strictObject({
  ok: z.boolean(),
  format: z.string().nullable(),
  schema_version: z.number().nullable(),
  archive_sha256: sha256,
  files_verified: z.array(z.string()),
  problems: z.array(z.string()),
  verifies: z.string(),
});

const count = z.int().min(0);

/** What an import made: a locked session, every record under an identity of its own. */
export const imported = z.strictObject({
  ok: z.literal(true),
  project_id: id,
  root_frame_id: id,
  active_branch_id: id,
  package_sha256: sha256,
  manifest_sha256: sha256,
  schema_version: z.literal(1),
  kernel_state: z.literal('ended'),
  view_only: z.literal(true),
  explicit_recovery_required: z.literal(true),
  trust_state: z.literal('quarantined'),
  injection_flags: count,
  identity_remap: z.strictObject({
    actions: count,
    artifacts: count,
    versions: count,
    cells: count,
    checkpoints: count,
  }),
});
