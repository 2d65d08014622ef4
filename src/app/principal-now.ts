import type { Clock } from '../core/index.ts';
import { currentRoles } from '../principals/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';

/**
 * A principal with the roles that are left of those it had: what its tokens still give it. Null for one whose tokens are
 * all over. Tokens say nothing about somebody who never had one, such as a principal of the host's own, and take
 * nothing from the owner of the runtime.
 */
export async function principalNow(
  tx: ReadTx,
  clock: Clock,
  owner: Principal,
  had: Principal,
): Promise<Principal | null> {
  const current = await currentRoles(tx, clock, { tenantId: had.tenant, subjectId: had.subject });
  if (current === null) return had;
  const isOwner = owner.tenant === had.tenant && owner.subject === had.subject;
  const now = new Set<string>([...current, ...(isOwner ? owner.roles : [])]);
  return now.size === 0 ? null : { ...had, roles: had.roles.filter((role) => now.has(role)) };
}
