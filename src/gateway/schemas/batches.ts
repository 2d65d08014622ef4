import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, json, next, text } from './common.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const call = z.strictObject({
  tool_call_id: text,
  tool_name: text,
  effective_arguments: json,
  argument_hash: sha256,
  decision: z.enum(['pending', 'approved', 'rejected', 'cancelled', 'not_required']),
  execution_status: z.enum(['not_started', 'executing', 'executed', 'rejected', 'execution_unknown']),
  decided_at: text.nullable(),
  reason: text.nullable(),
});

/** All calls of one model reply, in its order, while one of them needs or needed a person. Times are UTC without a zone. */
export const batch = z.strictObject({
  batch_id: id,
  status: z.enum(['pending', 'decided', 'executing', 'completed', 'cancelled', 'execution_unknown']),
  updated_at: text,
  calls: z.array(call),
});

/** A batch of which a record was changed behind the program's back: nothing of it is shown, or decided. */
const damagedBatch = z.strictObject({ batch_id: id, code: text, why: text });
export const batchPage = z.strictObject({ batches: z.array(batch), damaged: z.array(damagedBatch), next });

const decision = z.strictObject({
  tool_call_id: id,
  decision: z.enum(['approve', 'reject']),
  /** The hash of exactly what was shown; a decision on anything else is refused. */
  argument_hash: sha256.optional(),
  /** The whole argument object as it should be. */
  edited_arguments: z
    .custom<object>((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
    .meta({ type: 'object' })
    .optional(),
});

/** What is said about calls of a batch: all of it is heard, or none. */
export const batchDecisions = z.strictObject({
  decisions: z.array(decision).min(1).max(LIMITS.approvalRequestsPerGroup),
});

/** `waiting`: other calls of the batch have still to be decided. */
export const decidedBatch = z.strictObject({ status: z.enum(['started', 'waiting']), run_continues: z.boolean() });
