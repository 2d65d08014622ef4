import { fail, type JsonObject } from '../core/index.ts';
import { checkPrincipal } from './host-context.ts';
import { type Awaitable, type OperationTool, Principal } from './model.ts';

/**
 * Who a presented principal is now. Asked before anything is stored and again before each delivery. Null: nobody.
 * Without a resolver the same tenant and subject, with no roles.
 */
export type PrincipalResolver = (presented: Principal) => Awaitable<Principal | null | undefined>;

function broken(cause?: unknown) {
  return fail('PRINCIPAL_RESOLVER_FAILED', 'The principal could not be resolved; nothing was done.', { cause });
}

async function askResolver(resolve: PrincipalResolver, presented: Principal): Promise<Principal | null | undefined> {
  try {
    return await resolve(presented);
  } catch (cause) {
    throw broken(cause);
  }
}

/** The principal with current roles, or null. Whatever a resolver answers wrongly stops the request. */
export async function currentPrincipal(
  resolve: PrincipalResolver | undefined,
  presented: Principal,
): Promise<Principal | null> {
  if (!resolve) return new Principal(presented.tenant, presented.subject);
  const current = await askResolver(resolve, presented);
  if (current === null || current === undefined) return null;
  if (!(current instanceof Principal) || current.tenant !== presented.tenant || current.subject !== presented.subject)
    throw broken();
  try {
    checkPrincipal(current);
  } catch (cause) {
    throw broken(cause);
  }
  return current;
}

/** The principal as it is now when it may act on this, else null: not there and not yours are one answer. */
export async function currentAccess(
  resolve: PrincipalResolver | undefined,
  presented: Principal,
  tool: OperationTool,
  input: JsonObject,
): Promise<Principal | null> {
  const current = await currentPrincipal(resolve, presented);
  if (!current) return null;
  const said: unknown = await tool.authorize(current, input);
  return said === true ? current : null;
}

/** Whether the business rule holds: it does where the tool says true, and not where it says why not. */
export async function ruleHolds(tool: OperationTool, current: Principal, input: JsonObject): Promise<boolean> {
  const said: unknown = await tool.precondition(current, input);
  return said === true;
}
