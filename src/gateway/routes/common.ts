import { fail } from '../../core/index.ts';
import type { Role } from '../../principals/index.ts';
import type { Principal } from '../../sessions/index.ts';
import { findProject, type PrincipalRef, type ReadTx, requireProject } from '../../store/index.ts';
import type { GatewayContext } from '../context.ts';

/** Whoever has a token of the tenant may look. */
export const ANYONE: readonly Role[] = ['agent', 'approver', 'admin'];
/** Who begins and carries on work. */
export const WORKERS: readonly Role[] = ['agent', 'admin'];
/** Who decides, and says what became of what is unknown. */
export const APPROVERS: readonly Role[] = ['approver'];
/** Who takes responsibility for what came from elsewhere. */
export const DECIDERS: readonly Role[] = ['approver', 'admin'];
export const ADMINS: readonly Role[] = ['admin'];

export const DEFAULT_PAGE = 50;

/**
 * The project that is asked for, or the one that is taken unasked, which only some tenants have: REQUEST_INVALID for the
 * others. PROJECT_NOT_FOUND.
 */
export async function projectOf(
  tx: ReadTx,
  { runtime }: GatewayContext,
  principal: Principal,
  asked: string | undefined,
): Promise<string> {
  if (asked !== undefined) return (await requireProject(tx, refOf(principal), asked)).projectId;
  const unasked = await findProject(tx, refOf(principal), runtime.projectId);
  if (unasked) return unasked.projectId;
  throw fail('REQUEST_INVALID', 'Say which project: this tenant has none that is taken unasked.', {
    details: { where: 'body.project_id' },
    resolve:
      'List the projects with GET /api/v1/projects, or add one with POST /api/v1/projects, and send its id as project_id.',
  });
}

export const refOf = ({ tenant, subject }: Principal): PrincipalRef => ({ tenantId: tenant, subjectId: subject });
