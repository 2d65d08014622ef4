import type { Outdated, RequestedAction } from '../approvals/index.ts';
import { approvedRevision, boundPolicyRevision, type CallsContext } from '../calls/index.ts';
import { guardedToolOf } from '../tools/index.ts';

/**
 * What of a request is another by now, as far as this process can tell. Of a tool that it does not know it claims
 * nothing, nor of the guard's; and of policies only where agents of its own may call the tool, since another process
 * that carries the run out may have others.
 */
export function outdatedHere(
  calls: CallsContext,
  { tool: name, toolRevision, policyRevision, sideEffectClass }: RequestedAction,
  mayCall: (tool: string) => boolean,
): Outdated | null {
  const tool = calls.tools.current(name);
  if (!tool || guardedToolOf(name, { effect: sideEffectClass, policy: toolRevision })) return null;
  const now = approvedRevision(tool);
  const would = 'than when it was asked for: it would be refused if it were allowed.';
  if (now !== toolRevision)
    return { part: 'toolRevision', why: `The tool ${name} has other revisions by now (${now}) ${would}` };
  if (mayCall(name) && boundPolicyRevision(calls) !== policyRevision)
    return { part: 'policyRevision', why: `The policies have other revisions by now ${would}` };
  return null;
}
