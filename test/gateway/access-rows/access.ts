import type { Role } from '../../../src/principals/index.ts';

/** Who may do what, written out by route, with a body that the route accepts. */
export type Access = Readonly<Record<string, { readonly roles: readonly Role[]; readonly body?: unknown }>>;
