import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, next, text, time } from './common.ts';

const decision = z.enum(['allow', 'ask', 'deny']);

/** A standing rule. `project_id` and `session_id` say where it holds; both null: everywhere in the tenant. */
export const rule = z.strictObject({
  rule_id: id,
  decision,
  tool: text,
  pattern: text,
  project_id: text.nullable(),
  session_id: text.nullable(),
  made_by_kind: z.enum(['person', 'import']),
  made_by: text.nullable(),
  lowers_tool_ask: z.boolean(),
  effect: text,
  created_at: time,
  updated_at: time,
});
export const rulePage = z.strictObject({ rules: z.array(rule), next });

/** A rule as it is made: for anything its tool is aimed at and everywhere in the tenant, unless it says otherwise. */
export const newRule = z.strictObject({
  decision,
  tool: z
    .string()
    .min(1)
    .max(LIMITS.sessionIdCodePoints * 2),
  pattern: z
    .string()
    .min(1)
    .max(LIMITS.approvalTextCodePoints * 2)
    .optional(),
  project_id: id.optional(),
  session_id: id.optional(),
});
