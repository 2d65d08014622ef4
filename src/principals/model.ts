import type { JsonObject } from '../core/index.ts';

/** What a token lets its holder do. Each is given on its own: an admin decides nothing, an approver starts nothing. */
export const ROLES = ['agent', 'approver', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** A token as it is listed: everything but its secret, which is shown once and never stored. Times are epoch ms. */
export interface Token {
  readonly tokenId: string;
  readonly tenantId: string;
  readonly subjectId: string;
  readonly roles: readonly Role[];
  readonly name: string;
  readonly createdAt: number;
  /** When its time is over; null: never. */
  readonly expiresAt: number | null;
  readonly rotatedAt: number | null;
  readonly revokedAt: number | null;
}

/** A token with the one text that proves it. The text cannot be had again. */
export interface IssuedToken {
  readonly token: Token;
  readonly text: string;
}

/** A token as `--json` and HTTP carry it: never its text. Snake case, closed. */
export function tokenDocument(token: Token): JsonObject {
  return {
    token_id: token.tokenId,
    tenant: token.tenantId,
    subject: token.subjectId,
    roles: [...token.roles],
    name: token.name,
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    rotated_at: token.rotatedAt,
    revoked_at: token.revokedAt,
  };
}
