import { isDecisionOpen } from '../../approvals/index.ts';
import { ledgerCalls } from '../../calls/index.ts';
import { displayText, LIMITS } from '../../core/index.ts';
import type { RunRecord } from '../../runs/index.ts';
import { appendEvent, openGroup, requirePen } from '../../sessions/index.ts';
import type { ReadTx } from '../../store/index.ts';
import { codeOf } from '../errors.ts';
import type { AutoFinding, AutoRepair, RepairEnd } from '../model.ts';
import { completeRepair } from '../repair-completion.ts';
import { bindRepairGroup, startRepair } from '../repairs.ts';
import { isUnreadable, readResult } from './candidate.ts';
import type { AuthorRun, SuperviseContext } from './context.ts';
import type { Standing } from './standing.ts';

/**
 * Begins a repair of the findings, from a checkpoint that was made for it under the pen of this ticket and read whole.
 * TICKET_LOST.
 */
export async function beginRepair(
  context: SuperviseContext,
  run: AuthorRun,
  { run: auto, repairs }: Standing,
  findings: readonly AutoFinding[],
  ticketId: string,
): Promise<void> {
  const { principal, place } = run;
  const { rootFrameId, branchId } = place;
  const number = repairs.length + 1;
  const asked = { rootFrameId, branchId, reason: 'before a repair' };
  const checkpoint = await context.history.checkpoint(principal, asked, (tx) => requirePen(tx, ticketId));
  const treeId = checkpoint.workspaceTreeId;
  const whole = treeId !== null && (await context.trees(treeId));
  const name = `${auto.execution_id}-repair-${number}`;
  await context.store.write('autonomy.repair.start', async (tx) => {
    await requirePen(tx, ticketId);
    await startRepair(tx, context.autonomy, principal, auto.run_id, {
      repairRunId: name,
      key: `${name}:start`,
      findingIds: findings.map((finding) => finding.finding_id),
      beforeVersionIds: auto.candidate_version_ids ?? [],
      checkpointId: checkpoint.checkpointId,
      restorableTreeId: whole ? treeId : null,
    });
  });
  await context.faults.reach('auto-repair-started', number);
}

/** What the author is told to put right. The claims are a reviewer's words, and shown as such. */
export function repairRequest(findings: readonly AutoFinding[]): string {
  const lines = findings.map(
    ({ severity, claim, evidence_refs }, at) =>
      `${at + 1}. [${severity}] ${displayText(claim)} (evidence: ${evidence_refs.map(displayText).join(', ')})`,
  );
  const text = [
    'An independent review of your result found what follows. Put right exactly this, and change nothing else.',
    'Then say in one sentence what you changed.',
    ...lines,
  ].join('\n');
  return Array.from(text).slice(0, LIMITS.runTaskCodePoints).join('');
}

/** The claims of a repair, from the best to the worst: the first that its ledgers carry is the one it ends with. */
const ENDS: readonly RepairEnd[] = ['completed', 'failed', 'outcome_unknown'];

/**
 * Ends a repair with the first claim that its recorded actions carry. What was proposed and never begun is cancelled
 * first; where nothing was proposed at all, that is written down too. False where something of it waits for a person.
 */
export async function endRepair(context: SuperviseContext, run: AuthorRun, repair: AutoRepair): Promise<boolean> {
  const bound = repair.execution_group_ids;
  if (await context.store.read('autonomy.repair.waits', (tx) => waitsIn(tx, bound))) return false;
  const groups = bound.length > 0 ? bound : [await declined(context, run, repair)];
  await cancelUnbegun(context, run, groups);
  const afterVersionIds = await versionsAfter(context, run);
  for (const status of ENDS) {
    const ended = await tryEnd(context, run, repair, { status, afterVersionIds, executionGroupIds: groups });
    if (ended === 'waits') return false;
    if (ended === 'ended') break;
  }
  await context.faults.reach('auto-repair-ended');
  return true;
}

/**
 * Whether a repair that came to a stand on an unknown call may come to know more of it, as after its lease. `triedMs`:
 * when it was taken up for that stand.
 */
export async function isKnownLater(
  { store, isKnownLater: isLater }: SuperviseContext,
  { principal, state }: Pick<RunRecord, 'principal' | 'state'>,
  { execution_group_ids: groupIds }: AutoRepair,
  triedMs: number,
): Promise<boolean> {
  if (state.status !== 'failed' || state.code !== 'OUTCOME_UNKNOWN') return false;
  const unknown = await store.read('autonomy.repair.unknown', async (tx) => {
    const found: string[] = [];
    for (const groupId of groupIds)
      for (const { outcome, statusRef } of await ledgerCalls(tx, principal, groupId))
        if (outcome?.state === 'unknown' && statusRef !== null) found.push(statusRef);
    return found;
  });
  for (const statusRef of unknown) if (await isLater(principal, statusRef, triedMs)) return true;
  return false;
}

/** None where they are too many, or where the workspace cannot be read: what is read next says so, and ends the run. */
async function versionsAfter(context: SuperviseContext, run: AuthorRun): Promise<readonly string[]> {
  try {
    const { versionIds } = await readResult(context, run);
    return versionIds.length <= LIMITS.autoListItems ? versionIds : [];
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return [];
  }
}

async function tryEnd(
  context: SuperviseContext,
  run: AuthorRun,
  { repair_run_id: id }: AutoRepair,
  ending: {
    readonly status: RepairEnd;
    readonly afterVersionIds: readonly string[];
    readonly executionGroupIds: readonly string[];
  },
): Promise<'ended' | 'waits' | 'not_carried'> {
  try {
    await context.store.write('autonomy.repair.complete', (tx) =>
      completeRepair(tx, context.autonomy, run.principal, id, { key: `${id}:end`, ...ending }),
    );
    return 'ended';
  } catch (error) {
    const code = codeOf(error);
    if (code === 'AUTO_REPAIR_PERMISSION_PENDING') return 'waits';
    const last = ending.status === ENDS.at(-1);
    if (!last && (code === 'AUTO_REPAIR_EVIDENCE' || code === 'AUTO_REPAIR_NOT_TERMINAL')) return 'not_carried';
    throw error;
  }
}

async function waitsIn(tx: ReadTx, groupIds: readonly string[]): Promise<boolean> {
  for (const groupId of groupIds) if (await isDecisionOpen(tx, groupId)) return true;
  return false;
}

/** A repair in which the author proposed nothing has a group that says so: it was cancelled, and nothing was done. */
async function declined(context: SuperviseContext, run: AuthorRun, repair: AutoRepair): Promise<string> {
  const { principal, place } = run;
  const { rootFrameId, branchId, turnId } = place;
  const { sessions } = context.autonomy;
  const actionId = `${repair.repair_run_id}-nothing`;
  return context.store.write('autonomy.repair.declined', async (tx) => {
    const of = { rootFrameId, branchId, turnId, kind: 'native_tools' } as const;
    const { id: groupId } = await openGroup(tx, sessions, principal, of);
    await bindRepairGroup(tx, context.autonomy, principal, repair.repair_run_id, {
      actionGroupId: groupId,
      key: `${repair.repair_run_id}:bind:${groupId}`,
    });
    const line = { groupId, actionId, sideEffectClass: 'none' } as const;
    await appendEvent(tx, sessions, principal, { ...line, type: 'proposed', result: { tool: 'repair' } });
    await appendEvent(tx, sessions, principal, {
      ...line,
      type: 'cancelled',
      result: { reason: 'The author proposed no action.' },
    });
    return groupId;
  });
}

/** Ends what was proposed and never begun, so that its group has an end for every action. */
async function cancelUnbegun(context: SuperviseContext, run: AuthorRun, groupIds: readonly string[]): Promise<void> {
  const { principal } = run;
  const result = { reason: 'The repair ended before it was begun.' };
  await context.store.write('autonomy.repair.cancel', async (tx) => {
    for (const groupId of groupIds)
      for (const call of await ledgerCalls(tx, principal, groupId)) {
        if (call.outcome !== null || call.statusRef !== null) continue;
        const { callId, sideEffectClass, resourceKeys } = call;
        await appendEvent(tx, context.autonomy.sessions, principal, {
          groupId,
          type: 'cancelled',
          actionId: callId,
          toolCallId: callId,
          sideEffectClass,
          resourceKeys,
          result,
        });
      }
  });
}
