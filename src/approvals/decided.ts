import { digestJson } from '../core/index.ts';
import { plainRow } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';

const DECIDED = `SELECT decision_id, tenant_id, root_frame_id, branch_id, turn_id, action_group_id, action_id,
  tool_call_id, run_id, tool, tool_revision, target, side_effect_class, resource_keys, canonical_arguments_sha256,
  action_digest, request_sha256, policy_revision, requested_by, approver, reason, created_at, expires_at, supersedes,
  state, message, resolved_at, resolved_by, superseded_by
FROM permission_requests WHERE root_frame_id = ? AND state <> 'pending' ORDER BY decision_id`;

/** Every decided request of a session with the digest of what was asked and what was said of it: neither changes again. */
export async function decidedRequests(tx: ReadTx, rootFrameId: string): Promise<ReadonlyMap<string, string>> {
  const rows = await tx.all({ text: DECIDED, integers: 'bigint' }, [rootFrameId]);
  return new Map(rows.map((row) => [String(row['decision_id']), digestJson(plainRow(row))]));
}
