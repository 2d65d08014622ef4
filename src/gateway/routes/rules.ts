import { z } from 'zod';
import {
  dropStandingRule,
  listStandingRules,
  putStandingRule,
  standingRuleDocument,
  type StandingRuleOptions,
} from '../../app/index.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/rules.ts';
import { ANYONE, APPROVERS, DEFAULT_PAGE } from './common.ts';

export const ruleRoutes = [
  route({
    id: 'listRules',
    method: 'GET',
    path: '/api/v1/rules',
    summary: 'Standing rules of the tenant, of whatever scope, oldest first',
    roles: ANYONE,
    params: none,
    query: page,
    body: null,
    reply: shape.rulePage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { after, limit = DEFAULT_PAGE } }) => {
      const asked = after === undefined ? { limit } : { limit, after };
      const found = await listStandingRules(runtime, principal, asked);
      return { rules: found.items.map(standingRuleDocument), next: found.next };
    },
  }),
  route({
    id: 'putRule',
    method: 'POST',
    path: '/api/v1/rules',
    summary: 'Make a standing rule, or say something else with the one of the same place, tool and pattern',
    roles: APPROVERS,
    params: none,
    query: none,
    body: shape.newRule,
    reply: shape.rule,
    status: 201,
    creates: true,
    handle: async ({ gateway: { runtime }, principal, body, keep }) => {
      if (body.session_id !== undefined) await runtime.packages.requireTrusted(principal, body.session_id);
      return runtime.store.write('gateway.put-rule', async (tx) => {
        const made = standingRuleDocument(await putStandingRule(tx, runtime, principal, optionsOf(body)));
        await keep(tx, made);
        return made;
      });
    },
  }),
  route({
    id: 'dropRule',
    method: 'DELETE',
    path: '/api/v1/rules/{rule_id}',
    summary: 'Remove a standing rule; the answer says what it was',
    roles: APPROVERS,
    params: z.strictObject({ rule_id: id }),
    query: none,
    body: null,
    reply: shape.rule,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params }) =>
      standingRuleDocument(
        await runtime.store.write('gateway.drop-rule', (tx) =>
          dropStandingRule(tx, runtime, principal, params.rule_id),
        ),
      ),
  }),
];

function optionsOf({ decision, tool, pattern, ...of }: z.output<typeof shape.newRule>): StandingRuleOptions {
  const { project_id: projectId, session_id: sessionId } = of;
  return {
    decision,
    tool,
    ...(pattern === undefined ? {} : { pattern }),
    ...(projectId === undefined ? {} : { projectId }),
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}
