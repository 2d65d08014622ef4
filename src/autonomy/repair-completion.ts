import { cancelRequests, isDecisionOpen, revokeContinuations } from '../approvals/index.ts';
import { fail } from '../core/index.ts';
import { closeAttempts, type Principal, sealGroup } from '../sessions/index.ts';
import type { Tx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import * as doc from './documents.ts';
import { keyConflict, wrongPhase } from './errors.ts';
import { replayedEvent } from './events.ts';
import { keyField, listField, wordField } from './fields.ts';
import { ledgerDigest } from './ledger.ts';
import { type AutoEvent, type AutoRepair, type AutoRun, REPAIR_ENDS, type RepairEnd } from './model.ts';
import * as sql from './queries.ts';
import { type BoundGroup, judgeGroups, readBoundGroups } from './repair-proof.ts';
import {
  moveFindings,
  proveRepairAlone,
  repairAnswer,
  repairReplayed,
  type RepairTransition,
  requireRepair,
} from './repairs.ts';
import { requireNoOpenPhase } from './candidates.ts';
import { pauseReason, type ProvedRun, proveRun } from './run-proof.ts';
import { takeStep } from './step.ts';
import { requireMutable, requireRun } from './usable.ts';

export interface RepairEnding {
  readonly key: string;
  readonly status: RepairEnd;
  readonly afterVersionIds: readonly string[];
  /** Every bound group, in the order in which they were bound. */
  readonly executionGroupIds: readonly string[];
}

/**
 * Ends a repair with what its recorded actions show, and seals their ledgers. `completed` gives the run back without a
 * candidate: a repair never proves itself. `failed` gives it back as a candidate when nothing of the repair stands;
 * otherwise, and when an outcome is unknown, the run is paused. Refuses with AUTO_REPAIR_NOT_FOUND, AUTO_KEY_CONFLICT,
 * AUTO_WRONG_PHASE, AUTO_GROUPS_MISMATCH, AUTO_REPAIR_PERMISSION_PENDING, AUTO_REPAIR_NOT_TERMINAL,
 * AUTO_REPAIR_EVIDENCE, AUTO_PHASE_OPEN, AUTO_PROOF_FAILED, and what makes a run unusable.
 */
export async function completeRepair(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  repairRunId: string,
  asked: RepairEnding,
): Promise<RepairTransition> {
  const at = context.sessions.clock.nowMs();
  const ending = endingOf(asked);
  const repair = await requireRepair(tx, principal, repairRunId);
  const run = await requireRun(tx, principal, repair.run_id);
  const ended = endedRepair(repair, ending, at);
  const request = ended.completion_request_sha256 ?? '';
  const earlier = await replayedEvent(tx, run.run_id, ending.key, 'repair_completed', request);
  if (earlier) {
    if (repair.completion_idempotency_key !== ending.key) throw keyConflict();
    return repairReplayed(tx, context, principal, run, repair, earlier);
  }
  const proved = await requireMutable(tx, context, principal, run);
  if (repair.status !== 'started') throw wrongPhase('Completing the repair', repair.status);
  const groups = await closedGroups(tx, context, principal, repair, ended);
  const judgement = judgeGroups(ending.status, groups);
  if (!judgement.supported) throw unsupported(judgement);
  const sealed = await seal(tx, groups, at);
  const event = await writeEnd(tx, context, principal, { run, repair: ended, proved, committed: judgement.committed });
  await proveRun(tx, context, principal, await requireRun(tx, principal, run.run_id));
  return repairAnswer({ ...ended, execution_group_ids: sealed }, event, true);
}

type Ending = Pick<AutoRepair, 'after_version_ids' | 'execution_group_ids'> & {
  readonly key: string;
  readonly status: RepairEnd;
};

function endingOf(asked: RepairEnding): Ending {
  return {
    key: keyField('idempotency_key', asked.key),
    status: wordField('status', asked.status, REPAIR_ENDS),
    after_version_ids: listField('after_version_ids', asked.afterVersionIds),
    execution_group_ids: listField('execution_group_ids', asked.executionGroupIds),
  };
}

function endedRepair(repair: AutoRepair, { key, ...ending }: Ending, at: number): AutoRepair {
  const ended: AutoRepair = { ...repair, ...ending, completion_idempotency_key: key, completed_at: at };
  return { ...ended, completion_request_sha256: doc.repairCompletionDigest(ended) };
}

/**
 * The bound groups as they end: nothing waits in them, what was allowed and not used is taken back, since a sealed group
 * takes no line of it any more, and an unknown outcome closes what is open.
 */
async function closedGroups(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  repair: AutoRepair,
  ended: AutoRepair,
): Promise<BoundGroup[]> {
  const groups = await proveRepairAlone(tx, repair);
  const bound = groups.map(({ binding }) => binding);
  const ids = bound.map((binding) => binding.action_group_id);
  if (!doc.sameJson(ids, ended.execution_group_ids))
    throw fail('AUTO_GROUPS_MISMATCH', 'The completion must name exactly the bound action groups, in their order.');
  for (const id of ids)
    if (await isDecisionOpen(tx, id))
      throw fail('AUTO_REPAIR_PERMISSION_PENDING', 'A pending permission request stands in the repair.');
  let changed = 0;
  for (const groupId of ids)
    changed += (await cancelRequests(tx, context.sessions, principal, { groupId }, 'The repair has ended.')).length;
  if (ended.status === 'outcome_unknown')
    for (const id of ids) changed += await closeAttempts(tx, id, ended.completed_at ?? 0);
  return changed > 0 ? readBoundGroups(tx, bound) : groups;
}

function unsupported({ refusal, why }: { readonly refusal: 'not_terminal' | 'evidence'; readonly why: string }): Error {
  if (refusal === 'not_terminal')
    return fail('AUTO_REPAIR_NOT_TERMINAL', `The ledger of the repair is not terminal: ${why}.`);
  return fail('AUTO_REPAIR_EVIDENCE', `The ledger of the repair does not support this status: ${why}.`);
}

async function seal(tx: Tx, groups: readonly BoundGroup[], at: number): Promise<string[]> {
  const sealed: string[] = [];
  for (const { binding, ledger } of groups) {
    const { repair_run_id, action_group_id } = binding;
    await revokeContinuations(tx, action_group_id);
    await sealGroup(tx, action_group_id, at);
    await tx.run(sql.SEAL_BINDING, [ledger.events.length, ledgerDigest(ledger), at, repair_run_id, action_group_id]);
    sealed.push(action_group_id);
  }
  return sealed;
}

interface Ended {
  readonly run: AutoRun;
  readonly repair: AutoRepair;
  readonly proved: ProvedRun;
  readonly committed: boolean;
}

async function writeEnd(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  { run, repair, proved, committed }: Ended,
): Promise<AutoEvent> {
  const at = repair.completed_at ?? 0;
  await tx.run(sql.END_REPAIR, [...sql.REPAIR_END.params(repair), repair.repair_run_id]);
  const claimed = proved.findings.filter((finding) => repair.finding_ids.includes(finding.finding_id));
  await moveFindings(tx, claimed, repair.status === 'completed' ? 'addressed' : 'not_addressed', at);
  const step = await takeStep(tx, context, principal, run, 'repair_completed', doc.repairCompleted(repair));
  if (repair.status === 'outcome_unknown' || (repair.status === 'failed' && committed)) {
    await requireNoOpenPhase(tx, run.run_id);
    const reason = pauseReason(repair);
    const pause = {
      key: doc.repairPauseKey(repair),
      request: doc.terminalRequest('paused', reason, null),
      payload: doc.runTerminal('paused', reason, null),
      at,
    };
    await takeStep(tx, context, principal, step.run, 'auto_run_terminal', pause);
  }
  return step.event;
}
