import { z } from 'zod';
import { asJsonValue, fail, JSON_PROFILES, type JsonObject } from '../../core/index.ts';
import {
  type EffectEntry,
  type EffectsSummary,
  type EffectVerification,
  listEffects,
  showEffect,
  verificationDocument,
  verifyRun,
} from '../../effects/index.ts';
import { route } from '../route.ts';
import { id, none, page } from '../schemas/common.ts';
import * as shape from '../schemas/operations.ts';
import { ANYONE, DEFAULT_PAGE, refOf } from './common.ts';

const ofRun = z.strictObject({ run_id: id });

export const effectRoutes = [
  route({
    id: 'listEffects',
    method: 'GET',
    path: '/api/v1/effects',
    summary: 'What calls of the tenant may have changed, newest run first',
    roles: ANYONE,
    params: none,
    query: page,
    body: null,
    reply: shape.effectPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, query: { after, limit = DEFAULT_PAGE } }) => {
      const found = await runtime.store.read('gateway.effects', (tx) =>
        listEffects(tx, refOf(principal), after === undefined ? { limit } : { limit, before: markOf(after) }),
      );
      const { next } = found;
      return { effects: found.effects.map(entryDocument), next: next ? `${next.runId}.${next.effectId}` : null };
    },
  }),
  route({
    id: 'showEffect',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/effects/{effect_id}',
    summary: 'One effect of a run, judged as it was at completion and as it is now',
    roles: ANYONE,
    params: z.strictObject({ run_id: id, effect_id: id }),
    query: none,
    body: null,
    reply: shape.verifiedEffect,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params: { run_id: runId, effect_id: effectId } }) => {
      await runtime.runs.get(principal, runId);
      const found = await runtime.store.read('gateway.effect', (tx) =>
        showEffect(tx, refOf(principal), { runId, effectId }),
      );
      return verified(found);
    },
  }),
  route({
    id: 'verifyRunEffects',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/effects',
    summary: 'The effects of one run, judged as they were at completion and as they are now',
    roles: ANYONE,
    params: ofRun,
    query: page,
    body: null,
    reply: shape.runEffects,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params, query: { after, limit = DEFAULT_PAGE } }) => {
      if (after !== undefined && !/^\d{1,15}$/.test(after)) throw notAMark();
      const { runId } = await runtime.runs.get(principal, params.run_id);
      const found = await runtime.store.read('gateway.run-effects', (tx) =>
        verifyRun(tx, refOf(principal), { runId, limit, ...(after === undefined ? {} : { after: Number(after) }) }),
      );
      return {
        run_id: runId,
        summary: summaryDocument(found.summary),
        effects: found.effects.map(verified),
        next: found.next === undefined ? null : String(found.next),
      };
    },
  }),
];

const verified = (of: EffectVerification): JsonObject =>
  asJsonValue(verificationDocument(of), JSON_PROFILES.packages) as JsonObject;

function notAMark(): Error {
  return fail('REQUEST_INVALID', 'after must be the next of the page before.', { details: { where: 'query.after' } });
}

function markOf(after: string): { runId: string; effectId: string } {
  const dot = after.indexOf('.');
  if (dot < 1) throw notAMark();
  return { runId: after.slice(0, dot), effectId: after.slice(dot + 1) };
}

function entryDocument(effect: EffectEntry): JsonObject {
  return {
    run_id: effect.runId,
    effect_id: effect.effectId,
    action_id: effect.actionId,
    tool: effect.tool,
    operation_id: effect.operationId,
    execution: effect.execution,
    impact: effect.impact,
  };
}

function summaryDocument(summary: EffectsSummary): JsonObject {
  return {
    effects: summary.effects,
    reported_success: summary.reportedSuccess,
    verified: summary.verified,
    unresolved: summary.unresolved,
    by_verdict: { ...summary.byVerdict },
  };
}
