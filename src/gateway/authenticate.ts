import { fail, HoldfastError } from '../core/index.ts';
import { requireToken, type Role, type Token } from '../principals/index.ts';
import type { ReadTx } from '../store/index.ts';
import type { GatewayContext } from './context.ts';
import type { Route } from './route.ts';

const BEARER = /^Bearer +([A-Za-z0-9_-]{1,200})$/i;

/**
 * Whose request this is, by its token alone: TOKEN_REQUIRED, TOKEN_INVALID. Tries without a good token are counted
 * against the address they come from, so that guessing is slow: TOO_MANY_REQUESTS.
 */
export async function authenticate(gateway: GatewayContext, header: string | null, address: string): Promise<Token> {
  try {
    const [, text] = BEARER.exec(header ?? '') ?? [];
    if (text === undefined) throw fail('TOKEN_REQUIRED', 'This route needs a token.');
    return await goodToken(gateway, text);
  } catch (error) {
    const isRefusal = error instanceof HoldfastError && error.httpStatus === 401;
    if (isRefusal) gateway.rates.take(`address ${address}`);
    throw error;
  }
}

/** The token, if it is good now; TOKEN_INVALID. */
export function goodToken({ runtime }: GatewayContext, text: string): Promise<Token> {
  return runtime.store.read('gateway.token', (tx) => requireToken(tx, runtime.calls.clock, text));
}

/**
 * Once more, where something of a request was waited for since its token was looked at: one that was revoked, rotated or is
 * over by now does nothing. TOKEN_INVALID.
 */
export function requireStillGood(gateway: GatewayContext, request: Request, token: Token): Promise<void> {
  return gateway.runtime.store.read('gateway.token', (tx) => requireStillGoodIn(tx, gateway, request, token));
}

/** The same in the transaction that acts. */
export async function requireStillGoodIn(
  tx: ReadTx,
  { runtime }: GatewayContext,
  request: Request,
  token: Token,
): Promise<void> {
  const [, text = ''] = BEARER.exec(request.headers.get('authorization') ?? '') ?? [];
  const now = await requireToken(tx, runtime.calls.clock, text);
  if (now.tokenId !== token.tokenId) throw fail('TOKEN_INVALID', 'The token is not good any more.');
}

/** What resolves the refusal of what tells of all tenants. */
export const OF_THE_HOUSE = 'Use a token with the role admin of the tenant that runs the gateway.';

/** ROLE_NOT_ALLOWED unless the token has one of the route's roles. */
export function requireRole({ roles }: Route, token: Token): void {
  if (roles.some((role: Role) => token.roles.includes(role))) return;
  throw fail('ROLE_NOT_ALLOWED', `This needs a token with the role ${roles.join(' or ')}.`, {
    details: { roles: roles.join(', ') },
  });
}
