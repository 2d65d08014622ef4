import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { ROLES } from '../../principals/index.ts';
import { id, next, text, time } from './common.ts';

const role = z.enum(ROLES);

/** A token as it is listed, without its text. */
export const token = z.strictObject({
  token_id: id,
  tenant: text,
  subject: text,
  roles: z.array(role),
  name: text,
  created_at: time,
  expires_at: time.nullable(),
  rotated_at: time.nullable(),
  revoked_at: time.nullable(),
});
export const tokenPage = z.strictObject({ tokens: z.array(token), next });
/** With its text, which is given this once; null in the reply to a repeated request. */
export const issuedToken = token.extend({ token: text.nullable() });
export const newToken = z.strictObject({
  subject: z
    .string()
    .min(1)
    .max(LIMITS.tokenSubjectCodePoints * 2),
  roles: z.array(role).min(1).max(ROLES.length),
  name: z
    .string()
    .min(1)
    .max(LIMITS.tokenNameCodePoints * 2)
    .optional(),
  expires_at: time.nullable().optional(),
});

export const principal = z.strictObject({ tenant: text, subject: text, roles: z.array(role), token_id: id });
