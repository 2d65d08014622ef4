import { z } from 'zod';
import { id, next } from './common.ts';

export const auditQuery = {
  branch_id: id.optional(),
  subject_kind: z.enum(['result_review', 'permission_review']).optional(),
};

/** A review or an assessment; one whose proof fails is shown as failed, without its verdict. Its fields are the record's. */
export const audit = z.looseObject({ audit_id: id, status: z.string(), event_ordinal: z.int() });
export const auditPage = z.strictObject({ audits: z.array(audit), next });
