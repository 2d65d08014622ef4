import { z } from 'zod';
import { deliverAgain, movedOperationDocument, operationDocument } from '../../app/index.ts';
import { type CallOutcome, settleByPerson, settleByStatus } from '../../calls/index.ts';
import { fail, type JsonObject, unixSeconds } from '../../core/index.ts';
import { Principal as OperationPrincipal } from '../../operations/index.ts';
import type { Principal } from '../../sessions/index.ts';
import { OF_THE_HOUSE } from '../authenticate.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/operations.ts';
import { ADMINS, ANYONE, APPROVERS, DEFAULT_PAGE, WORKERS } from './common.ts';

const ofOperation = z.strictObject({ status_ref: id });

export const operationRoutes = [
  route({
    id: 'listOperations',
    method: 'GET',
    path: '/api/v1/operations',
    summary: 'Operations of the tenant, newest first; with open=true only those whose outcome is not known',
    roles: ANYONE,
    params: none,
    query: page.extend({ ...shape.operationQuery, after: shape.operationMark.optional() }),
    body: null,
    reply: shape.operationPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { open, after, limit = DEFAULT_PAGE } }) => {
      const found = await runtime.operations.list(askerOf(principal), {
        open: open === 'true',
        limit,
        now: unixSeconds(runtime.calls.clock),
        ...(after === undefined ? {} : { before: Number(after) }),
      });
      return {
        operations: found.operations.map(operationDocument),
        next: found.next === null ? null : String(found.next),
      };
    },
  }),
  route({
    id: 'auditOperations',
    method: 'GET',
    path: '/api/v1/operations/audit',
    summary:
      'Check everything stored about operations, in one snapshot; for an admin of the tenant that runs the gateway',
    roles: ADMINS,
    params: none,
    query: none,
    body: null,
    reply: shape.operationsAudit,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal }) => {
      // It reads the rows of every tenant.
      if (principal.tenant !== runtime.principal.tenant)
        throw fail('ROLE_NOT_ALLOWED', 'The audit is for the tenant that runs the gateway.', { resolve: OF_THE_HOUSE });
      const { counts, foreign_key_violations: violations, ...audit } = await runtime.operations.audit();
      return {
        ...audit,
        integrity_check: [...audit.integrity_check],
        semantic_errors: [...audit.semantic_errors],
        foreign_key_violations: violations.map((row) => [...row]),
        counts: { ...counts },
      };
    },
  }),
  route({
    id: 'showOperation',
    method: 'GET',
    path: '/api/v1/operations/{status_ref}',
    summary: 'One operation: what is known of it, its receipts and verdict',
    roles: ANYONE,
    params: ofOperation,
    query: none,
    body: null,
    reply: shape.operation,
    status: 200,
    creates: false,
    handle: ({ gateway, principal, params }) => shown(gateway, principal, params.status_ref),
  }),
  route({
    id: 'askOperation',
    method: 'POST',
    path: '/api/v1/operations/{status_ref}/status',
    summary: 'Ask the other side what became of an operation; what it answers is written down',
    roles: ANYONE,
    params: ofOperation,
    query: none,
    body: none,
    reply: shape.movedOperation,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const { calls, filesystem } = gateway.runtime;
      const outcome = await settleByStatus(calls, principal, params.status_ref, filesystem);
      return moved(gateway, principal, params.status_ref, outcome);
    },
  }),
  route({
    id: 'processOperation',
    method: 'POST',
    path: '/api/v1/operations/{status_ref}/process',
    summary: 'Deliver an operation again where its tool allows that: under the same key, after the lease',
    roles: WORKERS,
    params: ofOperation,
    query: none,
    body: none,
    reply: shape.movedOperation,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params }) => {
      const outcome = await deliverAgain(gateway.runtime, principal, params.status_ref);
      return moved(gateway, principal, params.status_ref, outcome);
    },
  }),
  route({
    id: 'settleOperation',
    method: 'POST',
    path: '/api/v1/operations/{status_ref}/verdict',
    summary: 'Say what a person found out about an operation whose outcome is unknown; final',
    roles: APPROVERS,
    params: ofOperation,
    query: none,
    body: shape.verdict,
    reply: shape.operation,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params, body }) => {
      await settleByPerson(gateway.runtime.calls, principal, params.status_ref, body);
      return shown(gateway, principal, params.status_ref);
    },
  }),
];

const askerOf = ({ tenant, subject, roles }: Principal) => new OperationPrincipal(tenant, subject, roles);

async function shown(gateway: GatewayContext, principal: Principal, statusRef: string): Promise<JsonObject> {
  return operationDocument(await viewOf(gateway, principal, statusRef));
}

async function moved(gateway: GatewayContext, principal: Principal, statusRef: string, outcome: CallOutcome) {
  return movedOperationDocument(await viewOf(gateway, principal, statusRef), outcome);
}

function viewOf({ runtime }: GatewayContext, principal: Principal, statusRef: string) {
  return runtime.operations.show(askerOf(principal), statusRef, unixSeconds(runtime.calls.clock));
}
