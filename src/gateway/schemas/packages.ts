import { z } from 'zod';

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
