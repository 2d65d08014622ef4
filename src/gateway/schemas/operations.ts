import { z } from 'zod';
import { id, next, text } from './common.ts';

const seconds = z.int();
const outcome = z.enum(['done', 'not_done', 'unknown']);

/** An operation: what was done outside, and what is known of it. Times are whole seconds since 1970. */
export const operation = z.strictObject({
  status_ref: text,
  tool: text,
  subject: text,
  state: text,
  outcome,
  progress: z.enum(['not_tried', 'in_progress', 'unknown', 'done', 'not_done']),
  arguments: text,
  request_sha256: text,
  idempotency_key: text,
  approval_id: text,
  approver_id: text,
  attempts: z.int(),
  lease_owner: text.nullable(),
  lease_until: seconds.nullable(),
  created_at: seconds,
  completed_at: seconds.nullable(),
  receipt: z.strictObject({ receipt_id: text, observed_at: text, result: text }).nullable(),
  late_receipt: z.strictObject({ receipt_id: text, observed_at: text }).nullable(),
  /** What other deliveries of the same key answered, where that is not what the receipt says: it may have happened twice. */
  other_answers: z.array(
    z.strictObject({ receipt_id: text, downstream_request_id: text, result: text, told_at: seconds }),
  ),
  verdict: z
    .strictObject({
      verdict: z.enum(['done', 'not_done']),
      source: z.enum(['status_query', 'person', 'tool']),
      decided_by: text,
      reason: text,
      decided_at: seconds,
    })
    .nullable(),
  /** Why its record cannot be believed; what is known of it is then `unknown`, whatever the other members say. */
  damage: text.nullable(),
});

/** After it was asked about or sent again. */
export const movedOperation = operation.extend({
  /** Why it is as unknown as before; null where it is known. */
  reason: text.nullable(),
});

export const operationPage = z.strictObject({ operations: z.array(operation), next });
/** Only those whose outcome is not known. */
export const operationQuery = { open: z.enum(['true', 'false']).optional() };
export const operationMark = z.string().regex(/^[1-9][0-9]{0,14}$/);

/** What a person found out. Final. */
export const verdict = z.strictObject({
  verdict: z.enum(['done', 'not_done']),
  reason: z.string().min(1).max(4000),
});

export const operationsAudit = z.strictObject({
  schema_version: text,
  sqlite_version: text,
  journal_mode: text,
  synchronous: z.int(),
  integrity_check: z.array(text),
  foreign_key_violations: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
  semantic_errors: z.array(text),
  counts: z.record(z.string(), z.int()),
  passed: z.boolean(),
});

const assessment = z.looseObject({ effect_id: id, verdict: text, execution: text });

export const effectEntry = z.strictObject({
  run_id: id,
  effect_id: id,
  action_id: text,
  tool: text,
  operation_id: text.nullable(),
  execution: text,
  impact: text.nullable(),
});
export const effectPage = z.strictObject({ effects: z.array(effectEntry), next });

export const verifiedEffect = z.strictObject({
  effect_id: id,
  tool: text,
  at_completion: assessment,
  now: assessment,
  unresolved_impact: z.boolean(),
});

/** The effects of one run, judged as they were at completion and as they are now. */
export const runEffects = z.strictObject({
  run_id: id,
  summary: z.strictObject({
    effects: z.int(),
    reported_success: z.int(),
    verified: z.int(),
    unresolved: z.int(),
    by_verdict: z.record(z.string(), z.int()),
  }),
  effects: z.array(verifiedEffect),
  next,
});
