import { timingSafeEqual } from 'node:crypto';
import {
  canonicalJson,
  type Clock,
  fail,
  type Ids,
  JSON_PROFILES,
  LIMITS,
  newSecret,
  readCanonicalJson,
  requireText,
  requireWithin,
  sha256Hex,
} from '../core/index.ts';
import type { ReadTx, Row, Tx } from '../store/index.ts';
import { type IssuedToken, type Role, ROLES, type Token } from './model.ts';
import * as sql from './queries.ts';

/** What the functions of this room need of the world. */
export interface TokensContext {
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface NewToken {
  readonly tenantId: string;
  readonly subjectId: string;
  readonly roles: readonly Role[];
  /** What it is for, as lists show it. Default: its subject. */
  readonly name?: string;
  /** Epoch ms; null or absent: it does not end by itself. */
  readonly expiresAt?: number | null;
}

const PREFIX = 'hf';
const FORM = /^hf_([0-9a-f]{32})_([A-Za-z0-9_-]{43})$/;
const NOBODY = sha256Hex('no such token');

/**
 * Makes a token of a tenant that is there; its text is given this once. Refuses with INVALID_VALUE (roles, texts, an
 * expiry that is over), LIMIT_REACHED, STORE_CONSTRAINT for a tenant that is not there.
 */
export async function createToken(tx: Tx, context: TokensContext, token: NewToken): Promise<IssuedToken> {
  const { tenantId, expiresAt = null } = token;
  const now = context.clock.nowMs();
  const subjectId = requireText('subject', token.subjectId, LIMITS.tokenSubjectCodePoints);
  const name = requireText('name', token.name ?? subjectId, LIMITS.tokenNameCodePoints);
  const roles = checkRoles(token.roles);
  if (expiresAt !== null && (!Number.isSafeInteger(expiresAt) || expiresAt <= now))
    throw fail('INVALID_VALUE', 'A token must end later than now.');
  const row = await tx.get(sql.COUNT_LIVING, [tenantId, now, LIMITS.tokensPerTenant]);
  requireWithin('tokensPerTenant', Number(row?.['living']) + 1);
  const tokenId = context.ids.next();
  const secret = newSecret();
  const params = [tokenId, tenantId, subjectId, canonicalJson([...roles]), name, sha256Hex(secret), now, expiresAt];
  await tx.run(sql.INSERT_TOKEN, params);
  const made = {
    tokenId,
    tenantId,
    subjectId,
    roles,
    name,
    createdAt: now,
    expiresAt,
    rotatedAt: null,
    revokedAt: null,
  };
  return { token: made, text: textOf(tokenId, secret) };
}

const textOf = (tokenId: string, secret: string): string => `${PREFIX}_${tokenId}_${secret}`;

function checkRoles(roles: readonly Role[]): readonly Role[] {
  const known = ROLES.filter((role) => roles.includes(role));
  if (known.length === 0 || known.length !== roles.length)
    throw fail('INVALID_VALUE', `roles must be one or more of ${ROLES.join(', ')}, each once.`);
  return known;
}

/**
 * Whose a token is, or TOKEN_INVALID: one that is not known, has another secret, was revoked or is over is refused
 * alike, and the secret is compared in the same time whatever is stored.
 */
export async function requireToken(tx: ReadTx, clock: Clock, text: string): Promise<Token> {
  const [, tokenId = '', secret = ''] = FORM.exec(text) ?? [];
  const row = await tx.get(sql.SELECT_FOR_CHECK, [tokenId]);
  const stored = row ? String(row['secret_sha256']) : NOBODY;
  const same = timingSafeEqual(Buffer.from(stored), Buffer.from(sha256Hex(secret)));
  const token = row && tokenOf(row);
  const over = !token || token.revokedAt !== null || (token.expiresAt !== null && token.expiresAt <= clock.nowMs());
  if (!same || over) throw fail('TOKEN_INVALID', 'The token is not known, or is no longer good.');
  return token;
}

/** Whether the tenant has a token that is still good. */
export async function hasToken(tx: ReadTx, clock: Clock, tenantId: string): Promise<boolean> {
  const row = await tx.get(sql.COUNT_LIVING, [tenantId, clock.nowMs(), 1]);
  return Number(row?.['living']) > 0;
}

/**
 * The roles that a subject's good tokens give it now, together; none where every token of it is over, and null where it
 * never had one, so that tokens say nothing about it.
 */
export async function currentRoles(
  tx: ReadTx,
  clock: Clock,
  of: { readonly tenantId: string; readonly subjectId: string },
): Promise<readonly Role[] | null> {
  const rows = await tx.all(sql.SELECT_ROLES, [clock.nowMs(), of.tenantId, of.subjectId]);
  if (rows.length === 0) return null;
  const good = rows.filter((row) => row['good'] === 1).flatMap((row) => rolesOf(row));
  return ROLES.filter((role) => good.includes(role));
}

export interface TokenPage {
  readonly items: readonly Token[];
  /** The `after` of the page that follows; null at the end. */
  readonly next: string | null;
}

/** Tokens of a tenant, oldest first, revoked ones too. At most, and unless told, 200. */
export async function listTokens(
  tx: ReadTx,
  tenantId: string,
  page: { readonly after?: string; readonly limit?: number } = {},
): Promise<TokenPage> {
  const limit = page.limit ?? LIMITS.tokenPageEntries;
  requireWithin('tokenPageEntries', limit);
  const rows = await tx.all(sql.LIST_TOKENS, [tenantId, page.after ?? '', limit + 1]);
  const items = rows.slice(0, limit).map(tokenOf);
  return { items, next: rows.length > limit ? (items.at(-1)?.tokenId ?? null) : null };
}

/** Gives a token a new secret; the old text is no longer good. TOKEN_NOT_FOUND; TOKEN_REVOKED, also once its time is over. */
export async function rotateToken(
  tx: Tx,
  context: TokensContext,
  of: { readonly tenantId: string; readonly tokenId: string },
): Promise<IssuedToken> {
  const secret = newSecret();
  const now = context.clock.nowMs();
  const { changes } = await tx.run(sql.ROTATE, [sha256Hex(secret), now, of.tokenId, of.tenantId, now]);
  const token = await tokenOfTenant(tx, of);
  if (changes !== 1) {
    const isOver = token.revokedAt === null;
    throw fail(
      'TOKEN_REVOKED',
      isOver ? 'The time of the token is over: a new text would not be good.' : 'The token was revoked, and stays so.',
    );
  }
  return { token, text: textOf(token.tokenId, secret) };
}

/** Ends a token at once. Revoking it again changes nothing. TOKEN_NOT_FOUND. */
export async function revokeToken(
  tx: Tx,
  context: TokensContext,
  of: { readonly tenantId: string; readonly tokenId: string },
): Promise<Token> {
  await tx.run(sql.REVOKE, [context.clock.nowMs(), of.tokenId, of.tenantId]);
  return tokenOfTenant(tx, of);
}

async function tokenOfTenant(tx: ReadTx, of: { tenantId: string; tokenId: string }): Promise<Token> {
  const row = await tx.get(sql.SELECT_TOKEN, [of.tokenId, of.tenantId]);
  if (!row) throw fail('TOKEN_NOT_FOUND', 'There is no such token.');
  return tokenOf(row);
}

const numberOrNull = (value: unknown): number | null => (value === null ? null : Number(value));

function rolesOf(row: Row): readonly Role[] {
  const roles = readCanonicalJson(String(row['roles']), JSON_PROFILES.operations);
  return ROLES.filter((role) => Array.isArray(roles) && roles.includes(role));
}

function tokenOf(row: Row): Token {
  return {
    tokenId: String(row['token_id']),
    tenantId: String(row['tenant_id']),
    subjectId: String(row['subject_id']),
    roles: rolesOf(row),
    name: String(row['name']),
    createdAt: Number(row['created_at_ms']),
    expiresAt: numberOrNull(row['expires_at_ms']),
    rotatedAt: numberOrNull(row['rotated_at_ms']),
    revokedAt: numberOrNull(row['revoked_at_ms']),
  };
}
