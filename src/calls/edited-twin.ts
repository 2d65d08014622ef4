import { proposedBeforeEdit } from '../approvals/index.ts';
import type { Tx } from '../store/index.ts';
import type { Beginning } from './begin.ts';
import type { CallsContext } from './context.ts';

/**
 * An unresolved operation that was meant as this call is: what was proposed and what an approver made of it are one
 * intent, and whoever proposes it again, in whichever of both words, would have it done twice. The status reference, or
 * null; only where approvers may change something is there anything to look for.
 */
export async function findEditedTwin(tx: Tx, context: CallsContext, of: Beginning): Promise<string | null> {
  const { authority, call, place, request } = of;
  if (call.tool.editable.length === 0) return null;
  const wordings = async (text: string, requestId: string): Promise<readonly string[]> => {
    const proposed = await proposedBeforeEdit(tx, place.principal, requestId);
    return proposed === null ? [text] : [text, proposed];
  };
  const approved = await context.operations.unresolvedApproved(tx, request);
  if (approved.length === 0) return null;
  const meant = await wordings(call.argumentsText, authority.by === 'request' ? authority.requestId : '');
  for (const { statusRef, argumentsJson, approvalId } of approved)
    if ((await wordings(argumentsJson, approvalId)).some((text) => meant.includes(text))) return statusRef;
  return null;
}
