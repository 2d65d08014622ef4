import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, next, text, time } from './common.ts';

/** A permission request: all that is bound, the digest of exactly this, and how it stands. */
export const request = z.strictObject({
  schema_version: z.literal(1),
  decision_id: id,
  root_frame_id: id,
  frame_id: id,
  branch_id: id,
  turn_id: id,
  action_group_id: id,
  action_id: id,
  tool_call_id: text.nullable(),
  run_id: id.nullable(),
  tool: text,
  tool_revision: text,
  canonical_arguments: text,
  canonical_arguments_sha256: text,
  action_digest: text,
  policy_revision: text,
  requested_by: text,
  approver: z.strictObject({
    roles: z.array(text),
    subjects: z.array(text),
    requester_may_decide: z.boolean(),
  }),
  editable: z.array(text),
  reason: text,
  created_at: time,
  expires_at: time.nullable(),
  supersedes: id.nullable(),
  digest: text,
  status: z.enum(['pending', 'expired', 'allowed', 'used', 'revoked', 'denied', 'timed_out', 'cancelled']),
  decided_by: text.nullable(),
  message: text.nullable(),
  superseded_by: id.nullable(),
  outdated: text.nullable(),
});

/** A request that was changed behind the program's back: it is neither shown nor used. */
const damagedRequest = z.strictObject({ request_id: id, code: z.string(), why: z.string() });
export const requestPage = z.strictObject({ requests: z.array(request), damaged: z.array(damagedRequest), next });

/** Which requests a list shows: those that wait, oldest first, or all, newest first. */
export const requestQuery = { which: z.enum(['pending', 'all']).optional() };

/** A decision, with the digest that was shown. `edited_arguments` is the whole argument object as it should be. */
export const decision = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  edited_arguments: z
    .custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
    .meta({ type: 'object' })
    .optional(),
  message: z
    .string()
    .min(1)
    .max(LIMITS.approvalTextCodePoints * 2)
    .optional(),
});

/** The request as it now is, and whether its run goes on here because of it. */
export const decided = z.strictObject({ request, run_continues: z.boolean() });
