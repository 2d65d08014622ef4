import { z } from 'zod';
import {
  type ApprovalBatch,
  argumentsSha256,
  batchDocument,
  callArgumentHash,
  type Said,
  type ShownRequest,
} from '../../approvals/index.ts';
import { canonicalJson, fail, type JsonObject } from '../../core/index.ts';
import { type Principal, requireGroup } from '../../sessions/index.ts';
import { carryOn, type RunRef } from '../carry-on.ts';
import type { GatewayContext } from '../context.ts';
import { route } from '../route.ts';
import * as shape from '../schemas/batches.ts';
import { id, none, page } from '../schemas/common.ts';
import { ANYONE, APPROVERS, DEFAULT_PAGE } from './common.ts';

const ofRun = z.strictObject({ run_id: id });
const ofBatch = z.strictObject({ run_id: id, batch_id: id });

/** The calls of one model reply that wait for a person, decided together. A batch's id is its action group's. */
export const batchRoutes = [
  route({
    id: 'listBatches',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/batches',
    summary: 'The batches of a run in which a call needs or needed a person, newest first; a page may end early',
    roles: ANYONE,
    params: ofRun,
    query: page,
    body: null,
    reply: shape.batchPage,
    status: 200,
    creates: false,
    handle: async ({ gateway: { runtime }, principal, params: { run_id: runId }, query }) => {
      await runtime.runs.get(principal, runId);
      const { after, limit = DEFAULT_PAGE } = query;
      const asked = after === undefined ? { limit } : { limit, after };
      const found = await runtime.approvals.batchesOfRun(principal, runId, asked);
      const damaged = found.damaged.map(({ batchId, code, why }) => ({ batch_id: batchId, code, why }));
      return { batches: found.items.map(batchDocument), damaged, next: found.next };
    },
  }),
  route({
    id: 'showBatch',
    method: 'GET',
    path: '/api/v1/runs/{run_id}/batches/{batch_id}',
    summary: 'The calls of one model reply: what was said about each, and how far it is',
    roles: ANYONE,
    params: ofBatch,
    query: none,
    body: null,
    reply: shape.batch,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params }) =>
      batchDocument((await batchOf(gateway, principal, params.run_id, params.batch_id)).batch),
  }),
  route({
    id: 'decideBatch',
    method: 'POST',
    path: '/api/v1/runs/{run_id}/batches/{batch_id}/decisions',
    summary: 'Decide calls of a batch together, all or none; its run goes on when none of them waits any more',
    roles: APPROVERS,
    params: ofBatch,
    query: none,
    body: shape.batchDecisions,
    reply: shape.decidedBatch,
    status: 200,
    creates: false,
    handle: async ({ gateway, principal, params, body }) => {
      const found = await batchOf(gateway, principal, params.run_id, params.batch_id);
      const { approvals, packages } = gateway.runtime;
      await packages.requireTrusted(principal, found.run.rootFrameId);
      await approvals.decide(
        principal,
        body.decisions.map((one) => saidOf(one, found)),
      );
      const continues = await carryOn(gateway, principal, found.run);
      const waits = !continues && (await approvals.isRunWaiting(principal, found.run));
      return { status: waits ? 'waiting' : 'started', run_continues: continues };
    },
  }),
];

interface BatchOfRun {
  readonly batch: ApprovalBatch;
  readonly requests: readonly ShownRequest[];
  readonly run: RunRef;
}

/** RUN_NOT_FOUND; APPROVAL_NOT_FOUND for a batch that is not of the run. */
async function batchOf(
  { runtime }: GatewayContext,
  principal: Principal,
  runId: string,
  batchId: string,
): Promise<BatchOfRun> {
  const { runs, store, approvals } = runtime;
  const { place } = await runs.get(principal, runId);
  const { rootFrameId, branchId, turnId } = place;
  const group = await store.read('gateway.batch', (tx) => requireGroup(tx, principal, batchId));
  const isOfTurn = group.rootFrameId === rootFrameId && group.branchId === branchId && group.turnId === turnId;
  const batch = isOfTurn ? await approvals.batch(principal, batchId) : null;
  // A follow-up stands in the turn of the run that it follows.
  const requests = batch ? await approvals.ofGroup(principal, batchId) : [];
  if (!batch || !requests.some(({ document }) => document['run_id'] === runId))
    throw fail('APPROVAL_NOT_FOUND', 'The run has no such batch of calls.');
  return { batch, requests, run: { runId, rootFrameId } };
}

type Decision = z.output<typeof shape.batchDecisions>['decisions'][number];

/** The decision on one call, as one on its newest request: with the digest of what is stored where none was sent. */
function saidOf(one: Decision, { batch, requests }: BatchOfRun): Said {
  const { tool_call_id: callId, decision, argument_hash: hash, edited_arguments: edited } = one;
  const request = requests.findLast(({ document }) => document['tool_call_id'] === callId);
  if (!request) throw fail('APPROVAL_NOT_FOUND', 'No call of that id in this batch waits or waited for a person.');
  if (hash !== undefined && hash !== hashOf(batch, callId))
    throw fail('APPROVAL_DIGEST_MISMATCH', 'What was decided on is not the call as it is stored.');
  return {
    requestId: request.requestId,
    decision,
    digest: request.digest,
    // The schema passed it as an object, and it came from the strict reader: it is JSON.
    ...(edited === undefined ? {} : { editedArguments: edited as JsonObject }),
  };
}

function hashOf(batch: ApprovalBatch, callId: string): string | undefined {
  const call = batch.calls.find(({ toolCallId }) => toolCallId === callId);
  return call && callArgumentHash(callId, call.toolName, argumentsSha256(canonicalJson(call.effectiveArguments)));
}
