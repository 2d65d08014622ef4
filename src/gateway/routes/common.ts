import type { Role } from '../../principals/index.ts';
import type { Principal } from '../../sessions/index.ts';
import type { PrincipalRef } from '../../store/index.ts';

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

export const refOf = ({ tenant, subject }: Principal): PrincipalRef => ({ tenantId: tenant, subjectId: subject });
