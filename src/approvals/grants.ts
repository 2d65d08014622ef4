import { callArgumentHash } from './digests.ts';
import type { Grant, PermissionRequest } from './model.ts';

/** The proof for one execution, built from an allowed request; null for any other state. Never stored. */
export function grantOf({ action, status }: PermissionRequest): Grant | null {
  if (status.state !== 'allowed' || status.use.use === 'revoked') return null;
  const toolCallId = action.toolCallId ?? action.actionId;
  return {
    batch_id: action.groupId,
    trace_id: action.runId ?? '',
    tool_call_id: toolCallId,
    tool_name: action.tool,
    argument_hash: callArgumentHash(toolCallId, action.tool, action.argumentsSha256),
    decision: 'approved',
  };
}

export interface GrantedCall {
  readonly traceId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly argumentsSha256: string;
}

/** Whether a grant is for exactly this call. */
export function grantFits(grant: Grant | null, call: GrantedCall): boolean {
  return (
    grant !== null &&
    grant.decision === 'approved' &&
    grant.trace_id === call.traceId &&
    grant.tool_call_id === call.toolCallId &&
    grant.tool_name === call.toolName &&
    grant.argument_hash === callArgumentHash(call.toolCallId, call.toolName, call.argumentsSha256)
  );
}

/** A denial as a value; the text goes to the model. */
export interface ConfirmationDenial {
  readonly denied: true;
  readonly code: 'CONFIRMATION_REQUIRED';
  readonly text: string;
}

/** The gate of a tool that needs confirmation: a denial, or null. */
export function confirmationGate(grant: Grant | null, call: GrantedCall): ConfirmationDenial | null {
  if (grantFits(grant, call)) return null;
  return {
    denied: true,
    code: 'CONFIRMATION_REQUIRED',
    text: `confirmation required for ${call.toolName.slice(0, 64)}`,
  };
}
