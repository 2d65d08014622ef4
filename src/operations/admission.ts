import { isJsonObject } from '../core/index.ts';
import { currentAccess } from './access.ts';
import type { OperationsContext } from './context.ts';
import type { BindingPurpose } from './digests.ts';
import { errorEnvelope, type ResultEnvelope } from './envelope.ts';
import type { OutcomeCode } from './error-catalogue.ts';
import { checkHostContext } from './host-context.ts';
import { type OperationTool, type Principal, type ToolCall, type ToolContract, unregisteredContract } from './model.ts';
import { hasKey, type PreparedRequest, prepareRequest, requireDomain } from './request.ts';

export type Admission =
  | { readonly kind: 'refused'; readonly code: OutcomeCode; readonly envelope: ResultEnvelope }
  | { readonly kind: 'admitted'; readonly request: PreparedRequest };

/** The contract shown for a tool name, registered or not. */
export function contractOf(context: OperationsContext, name: string): ToolContract {
  return context.tools.current(name)?.contract ?? unregisteredContract(name);
}

async function refusalOf(
  context: OperationsContext,
  principal: Principal,
  call: ToolCall,
  tool: OperationTool | undefined,
): Promise<OutcomeCode | null> {
  if (!tool || tool.effect === 'read') return 'UNKNOWN_TOOL';
  if (!isJsonObject(call.arguments) || (await tool.checkArguments(call.arguments)).length > 0)
    return 'INVALID_ARGUMENTS';
  if (!(await currentAccess(context.resolvePrincipal, principal, tool, call.arguments))) return 'NOT_FOUND';
  return hasKey(call) ? null : 'IDEMPOTENCY_KEY_REQUIRED';
}

/**
 * The checks that dispatch and status query share, in the contracts' order: host context (throws INVALID_VALUE), tool,
 * arguments, current access, key. Nothing is stored by any of them.
 */
export async function admitCall(
  context: OperationsContext,
  principal: Principal,
  call: ToolCall,
  now: number,
  purpose: BindingPurpose,
): Promise<Admission> {
  checkHostContext(principal, call, now, context.profiles);
  // Each answer holds a digest of them, that to a tool nobody knows as well.
  requireDomain(call.arguments);
  const tool = context.tools.current(call.name);
  const code = await refusalOf(context, principal, call, tool);
  if (code === null && tool && hasKey(call))
    return { kind: 'admitted', request: prepareRequest(principal, call, tool, purpose) };
  const refused = code ?? 'IDEMPOTENCY_KEY_REQUIRED';
  const envelope = errorEnvelope(refused, principal, call, contractOf(context, call.name), now);
  return { kind: 'refused', code: refused, envelope };
}
