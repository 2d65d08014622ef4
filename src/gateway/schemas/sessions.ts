import { z } from 'zod';
import { LIMITS } from '../../core/index.ts';
import { id, json, next, text, time } from './common.ts';

export const project = z.strictObject({ project_id: id, name: text, created_at: time });
export const projectPage = z.strictObject({ projects: z.array(project), next });
export const newProject = z.strictObject({ name: z.string().min(1).max(LIMITS.httpIdUnits) });

export const session = z.strictObject({
  session_id: id,
  project_id: id,
  kind: text,
  origin: z.enum(['local', 'import']),
  trust_state: z.enum(['local', 'quarantined_import']),
  name: text.nullable(),
  task_summary: text.nullable(),
  active_branch_id: id,
  created_at: time,
  updated_at: time,
});
const damagedSession = z.strictObject({ session_id: id, code: text, why: text });
export const sessionPage = z.strictObject({ sessions: z.array(session), damaged: z.array(damagedSession), next });
export const newSession = z.strictObject({
  project_id: id.optional(),
  name: z
    .string()
    .min(1)
    .max(LIMITS.sessionNameCodePoints * 2)
    .optional(),
  task_summary: z.string().max(LIMITS.httpBodyBytes).optional(),
});
export const begunSession = z.strictObject({ session_id: id });

export const branch = z.strictObject({
  branch_id: id,
  parent_branch_id: id.nullable(),
  base_checkpoint_id: id.nullable(),
  head_checkpoint_id: id.nullable(),
  name: text.nullable(),
  created_at: time,
  updated_at: time,
});
export const branchPage = z.strictObject({ branches: z.array(branch), next });

export const message = z.strictObject({
  message_id: id,
  branch_id: id,
  seq: z.int(),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  content: text,
  metadata: json,
  group_id: id.nullable(),
  event_id: id.nullable(),
  created_at: time,
});
export const messagePage = z.strictObject({ messages: z.array(message), next });
