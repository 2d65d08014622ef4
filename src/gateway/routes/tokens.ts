import { z } from 'zod';
import { createToken, listTokens, revokeToken, rotateToken, tokenDocument } from '../../principals/index.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/tokens.ts';
import { ADMINS, ANYONE, DEFAULT_PAGE } from './common.ts';

const ofToken = z.strictObject({ token_id: id });

export const tokenRoutes = [
  route({
    id: 'showPrincipal',
    method: 'GET',
    path: '/api/v1/principal',
    summary: 'Whose token this is, and what it allows',
    roles: ANYONE,
    params: none,
    query: none,
    body: null,
    reply: shape.principal,
    status: 200,
    creates: false,
    handle: async ({ token: { tenantId: tenant, subjectId: subject, roles, tokenId } }) => ({
      tenant,
      subject,
      roles: [...roles],
      token_id: tokenId,
    }),
  }),
  route({
    id: 'listTokens',
    method: 'GET',
    path: '/api/v1/tokens',
    summary: 'Tokens of the tenant, oldest first',
    roles: ADMINS,
    params: none,
    query: page,
    body: null,
    reply: shape.tokenPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { after, limit = DEFAULT_PAGE } }) => {
      const found = await runtime.store.read('gateway.tokens', (tx) =>
        listTokens(tx, principal.tenant, after === undefined ? { limit } : { limit, after }),
      );
      return { tokens: found.items.map(tokenDocument), next: found.next };
    },
  }),
  route({
    id: 'createToken',
    method: 'POST',
    path: '/api/v1/tokens',
    summary: 'Make a token of the tenant; its text is given this once, and not to a repeated request',
    roles: ADMINS,
    params: none,
    query: none,
    body: shape.newToken,
    reply: shape.issuedToken,
    status: 201,
    creates: true,
    handle: ({ gateway, principal, body, keep }) =>
      gateway.runtime.store.write('gateway.new-token', async (tx) => {
        const { subject: subjectId, roles, name, expires_at: expiresAt = null } = body;
        const named = name === undefined ? {} : { name };
        const wanted = { tenantId: principal.tenant, subjectId, roles, expiresAt, ...named };
        const { token, text } = await createToken(tx, worldOf(gateway), wanted);
        const shown = tokenDocument(token);
        await keep(tx, { ...shown, token: text }, { ...shown, token: null });
        return { ...shown, token: text };
      }),
  }),
  route({
    id: 'rotateToken',
    method: 'POST',
    path: '/api/v1/tokens/{token_id}/rotate',
    summary: 'Give a token a new text; the old one is no longer good',
    roles: ADMINS,
    params: ofToken,
    query: none,
    body: none,
    reply: shape.issuedToken,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const of = { tenantId: principal.tenant, tokenId: params.token_id };
      const { token, text } = await gateway.runtime.store.write('gateway.rotate-token', (tx) =>
        rotateToken(tx, worldOf(gateway), of),
      );
      return { ...tokenDocument(token), token: text };
    },
  }),
  route({
    id: 'revokeToken',
    method: 'DELETE',
    path: '/api/v1/tokens/{token_id}',
    summary: 'End a token at once and for ever',
    roles: ADMINS,
    params: ofToken,
    query: none,
    body: null,
    reply: shape.token,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const of = { tenantId: principal.tenant, tokenId: params.token_id };
      return tokenDocument(
        await gateway.runtime.store.write('gateway.revoke-token', (tx) => revokeToken(tx, worldOf(gateway), of)),
      );
    },
  }),
];

const worldOf = ({ runtime: { calls } }: GatewayContext) => ({ clock: calls.clock, ids: calls.sessions.ids });
