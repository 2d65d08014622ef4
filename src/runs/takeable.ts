import { fail, LIMITS } from '../core/index.ts';
import { childCallKey } from './child-call.ts';
import { type Damage, SHOW_DAMAGE } from './damage.ts';
import { groupsKnownTo } from './history.ts';
import type { RunRecord } from './model.ts';
import { damageOfRecovery, leftOf, type ProofContext, requireSound } from './orphans.ts';
import { SELECT_RUN } from './run-queries.ts';
import { findChild } from './run-store.ts';
import { lastReply } from './take-up.ts';

/**
 * Proves what whoever carries a run on reads of it before its next step, and of the runs below it that it waits for:
 * one of which a record is damaged is not taken. Changes nothing. RUN_DAMAGED.
 */
export async function requireTakeable(context: ProofContext, run: RunRecord, instanceId: string): Promise<void> {
  await requireSound(context, run);
  if (!isAtRest(run, instanceId)) return;
  const damage = await damageOf(context, run);
  if (damage === null) return;
  const { code, why } = damage;
  const text = `The run is left as it is, since a record of it or of a run below it is damaged (${code}): ${why}`;
  throw fail('RUN_DAMAGED', text, { details: { record: code }, resolve: SHOW_DAMAGE });
}

/** A run below another one goes on for that one, and within what that one may spend. RUN_ENDED where it is gone. */
export async function requireAbove({ store }: ProofContext, { runId, principal, parent }: RunRecord): Promise<void> {
  if (parent === null) return;
  const above = await store.read('runs.parent', (tx) => tx.get(SELECT_RUN, [parent.runId, principal.tenant]));
  if (above) return;
  throw fail('RUN_ENDED', 'The run above this one was removed with its session, so it goes on no more.', {
    resolve: `To take back what waits in it: holdfast runs stop ${runId}`,
  });
}

/** One that another process has is that one's; where it is dead, its run has been proved as recovery does it. */
function isAtRest({ state }: RunRecord, instanceId: string): boolean {
  if (state.status !== 'running') return state.status === 'waiting_confirmation' || state.status === 'failed';
  return state.ownerInstanceId === null || state.ownerInstanceId === instanceId;
}

async function damageOf(context: ProofContext, run: RunRecord): Promise<Damage | null> {
  try {
    await prove(context, run, 0);
    return null;
  } catch (error) {
    const damage = damageOfRecovery(error);
    if (damage === null) throw error;
    return damage;
  }
}

async function prove(context: ProofContext, run: RunRecord, depth: number): Promise<void> {
  if (depth > LIMITS.runDepth) throw fail('RUN_RECORD_BROKEN', 'The runs below a run do not come to an end.');
  const { store } = context;
  const groups = await store.read('runs.history', (tx) => groupsKnownTo(tx, run.principal, run.place));
  const last = lastReply({ run }, groups);
  if (last === null || hasEnded(run)) return;
  const { groupId } = last.group;
  await leftOf(context, run, groups);
  for (const { callId, outcome } of last.calls) {
    if (outcome !== null) continue;
    const child = await store.read('runs.child', (tx) => findChild(tx, run, childCallKey({ groupId, callId })));
    if (child !== null) await prove(context, child, depth + 1);
  }
}

const hasEnded = ({ state: { status } }: RunRecord): boolean => status === 'completed' || status === 'stopped';
