import { fail } from '../core/index.ts';
import { isGroupEmpty, type Principal, requireBranch, requireCheckpoint, requireGroup } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import * as doc from './documents.ts';
import { keyConflict, requireProof, wrongPhase } from './errors.ts';
import { EventLog } from './event-log.ts';
import { eventsOfRun, replayedEvent, rootCursor, transition } from './events.ts';
import { keyField, listField, textField } from './fields.ts';
import { nextFinding, nextStatus } from './machine.ts';
import type { AutoEvent, AutoFinding, AutoRepair, AutoRun, RepairBinding, Transition } from './model.ts';
import * as sql from './queries.ts';
import { bindingsOf, type BoundGroup, proveRepair, readBoundGroups } from './repair-proof.ts';
import type { ProvedRun } from './run-proof.ts';
import { takeStep } from './step.ts';
import { requireCurrent, requireMutable, requireRun } from './usable.ts';
import { tailOf, visibleLog } from './visible.ts';

export type RepairTransition = Transition<
  AutoRepair & { after_version_ids: string[]; created_at: number; finished_at: number | null }
>;

export const repairAnswer = (repair: AutoRepair, event: AutoEvent, created: boolean): RepairTransition =>
  transition(
    {
      ...repair,
      after_version_ids: repair.after_version_ids ?? [],
      created_at: repair.started_at,
      finished_at: repair.completed_at,
    },
    event,
    created,
  );

export interface NewRepair {
  readonly repairRunId: string;
  readonly key: string;
  readonly findingIds: readonly string[];
  readonly beforeVersionIds: readonly string[];
  readonly checkpointId: string;
  /** The workspace tree that was read whole just before, so that the checkpoint can be restored; null when it cannot. */
  readonly restorableTreeId: string | null;
}

/**
 * Starts a bounded repair of named findings from a checkpoint that can be restored. Refuses with AUTO_FINDING_NOT_OPEN,
 * AUTO_VERSIONS_MISMATCH, AUTO_CHECKPOINT_UNFIT (not the head of the branch, without a workspace, not restorable, behind
 * the log), AUTO_WRONG_PHASE, AUTO_KEY_CONFLICT, AUTO_RUN_NOT_FOUND, INVALID_VALUE, and what makes a run unusable.
 */
export async function startRepair(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
  asked: NewRepair,
): Promise<RepairTransition> {
  const at = context.sessions.clock.nowMs();
  const run = await requireRun(tx, principal, runId);
  const repair = newRepair(run, asked, at);
  const { start_idempotency_key: key, start_request_sha256: request } = repair;
  const earlier = await replayedEvent(tx, runId, key, 'repair_started', request);
  if (earlier) {
    const stored = await tx.get(sql.REPAIR_BY_KEY, [runId, key]);
    requireProof(stored !== undefined, 'repair ledger', 'the repair is missing');
    return repairReplayed(tx, context, principal, run, sql.REPAIRS.read(stored ?? {}), earlier);
  }
  const proved = await requireMutable(tx, context, principal, run);
  if (nextStatus(run.status, 'repair_start') === null) throw wrongPhase('Starting a repair', run.status);
  const findings = requireFindings(run, repair, proved);
  if (!doc.sameJson(repair.before_version_ids, run.candidate_version_ids))
    throw fail('AUTO_VERSIONS_MISMATCH', 'The repair starts from other versions than those of the candidate.');
  await requireRestorable(tx, principal, run, repair.checkpoint_id, asked.restorableTreeId);
  await tx.run(sql.REPAIRS.insert, sql.REPAIRS.params(repair));
  await moveFindings(tx, findings, 'claim', at);
  const { event } = await takeStep(tx, context, principal, run, 'repair_started', doc.repairStarted(repair));
  return repairAnswer(repair, event, true);
}

function newRepair(run: AutoRun, asked: NewRepair, at: number): AutoRepair {
  const finding_ids = listField('finding_ids', asked.findingIds);
  if (finding_ids.length === 0) throw fail('INVALID_VALUE', 'A repair names at least one finding.');
  const repair: AutoRepair = {
    repair_run_id: textField('repair_run_id', asked.repairRunId),
    ...doc.scopeOf(run),
    ...doc.UNENDED,
    start_idempotency_key: keyField('idempotency_key', asked.key),
    start_request_sha256: '',
    finding_ids,
    before_version_ids: listField('before_version_ids', asked.beforeVersionIds),
    after_version_ids: null,
    execution_group_ids: [],
    verification_review_run_id: null,
    checkpoint_id: textField('checkpoint_id', asked.checkpointId),
    started_at: at,
  };
  return { ...repair, start_request_sha256: doc.repairStartDigest(repair) };
}

/** The named findings: of the current candidate, found by a completed review that did not pass, open or unaddressed. */
function requireFindings(run: AutoRun, repair: AutoRepair, { findings, reviews }: ProvedRun): AutoFinding[] {
  return repair.finding_ids.map((id) => {
    const finding = findings.find((one) => one.finding_id === id);
    const found = reviews.find(({ review }) => review.review_run_id === finding?.review_run_id)?.review;
    const open =
      finding?.candidate_id === run.candidate_id &&
      found?.status === 'completed' &&
      found.verdict !== 'pass' &&
      nextFinding(finding.status, 'claim') !== null;
    if (!finding || !open)
      throw fail('AUTO_FINDING_NOT_OPEN', 'A finding is not one of the current candidate that waits for a repair.');
    return finding;
  });
}

async function requireRestorable(
  tx: ReadTx,
  principal: Principal,
  run: AutoRun,
  checkpointId: string,
  restorableTreeId: string | null,
): Promise<void> {
  const checkpoint = await requireCheckpoint(tx, principal, run.root_frame_id, checkpointId);
  const branch = await requireBranch(tx, principal, run.root_frame_id, run.branch_id);
  const cursor = checkpoint.cursors.autoEvent ?? -1;
  const seen = await tailOf(tx, await visibleLog(tx, branch));
  const fits =
    branch.headCheckpointId === checkpointId &&
    checkpoint.workspaceTreeId !== null &&
    checkpoint.workspaceTreeId === restorableTreeId &&
    cursor >= (seen?.cursor ?? 0) &&
    cursor <= (await rootCursor(tx, run.root_frame_id));
  if (!fits)
    throw fail(
      'AUTO_CHECKPOINT_UNFIT',
      'A repair starts from the head of its branch, with a workspace that can be restored.',
    );
}

export async function moveFindings(
  tx: Tx,
  findings: readonly AutoFinding[],
  step: 'claim' | 'addressed' | 'not_addressed',
  at: number,
): Promise<void> {
  for (const { finding_id, status } of findings) {
    const next = nextFinding(status, step);
    const moved = next !== null && (await tx.run(sql.MOVE_FINDING, [next, at, finding_id, status])).changes === 1;
    if (!moved) throw fail('AUTO_FINDING_NOT_OPEN', 'A finding is no longer where it was.');
  }
}

export async function requireRepair(tx: ReadTx, principal: Principal, repairRunId: string): Promise<AutoRepair> {
  const row = await tx.get(sql.FIND_REPAIR, [repairRunId, principal.tenant]);
  if (!row) throw fail('AUTO_REPAIR_NOT_FOUND', 'There is no such repair.');
  return sql.REPAIRS.read(row);
}

/** Proves the repair alone, so that what is wrong with its ledgers is named before what is wrong with the run. */
export async function proveRepairAlone(tx: ReadTx, repair: AutoRepair): Promise<BoundGroup[]> {
  const groups = await readBoundGroups(tx, await bindingsOf(tx, repair.repair_run_id));
  proveRepair(new EventLog(await eventsOfRun(tx, repair.run_id)), repair, groups);
  return groups;
}

export async function repairReplayed(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  repair: AutoRepair,
  event: AutoEvent,
): Promise<RepairTransition> {
  await proveRepairAlone(tx, repair);
  await requireCurrent(tx, context, principal, run);
  return repairAnswer(repair, event, false);
}

export type BindingTransition = RepairBinding & { event_id: string; event_cursor: number; created: boolean };

/**
 * Claims a new, empty action group for a repair that runs. Until the repair ends it is asked for again with the same
 * answer. Refuses with AUTO_REPAIR_NOT_FOUND, AUTO_WRONG_PHASE, AUTO_GROUP_SCOPE, AUTO_KEY_CONFLICT,
 * ACTION_GROUP_NOT_FOUND, and what makes a run unusable.
 */
export async function bindRepairGroup(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  repairRunId: string,
  asked: { readonly actionGroupId: string; readonly key: string },
): Promise<BindingTransition> {
  const key = keyField('idempotency_key', asked.key);
  const groupId = textField('action_group_id', asked.actionGroupId);
  const repair = await requireRepair(tx, principal, repairRunId);
  const run = await requireRun(tx, principal, repair.run_id);
  if (repair.status !== 'started') throw wrongPhase('Binding an action group', repair.status);
  await requireMutable(tx, context, principal, run);
  const group = await requireGroup(tx, principal, groupId);
  const binding = newBinding(repair, group.groupId, group.kind, key, context.sessions.clock.nowMs());
  const stored = await tx.get(sql.BINDING_BY_KEY, [repairRunId, key]);
  if (stored) {
    const earlier = sql.BINDINGS.read(stored);
    if (earlier.request_sha256 !== binding.request_sha256) throw keyConflict();
    const event = await replayedEvent(tx, run.run_id, key, 'repair_started', earlier.request_sha256);
    requireProof(event !== null, 'repair ledger', 'the event of a binding is missing');
    return { ...earlier, event_id: event?.event_id ?? '', event_cursor: event?.event_cursor ?? 0, created: false };
  }
  await replayedEvent(tx, run.run_id, key, 'repair_started', binding.request_sha256);
  if (group.rootFrameId !== run.root_frame_id || group.branchId !== run.branch_id || group.turnId !== run.turn_id)
    throw fail('AUTO_GROUP_SCOPE', 'The action group belongs to another action scope than the repair.');
  if (!(await isGroupEmpty(tx, groupId)) || (await tx.get(sql.BINDING_OF_GROUP, [groupId])))
    throw fail('AUTO_GROUP_SCOPE', 'The action group is not empty, or is bound to a repair already.');
  await tx.run(sql.BINDINGS.insert, sql.BINDINGS.params(binding));
  const grown = { ...repair, execution_group_ids: [...repair.execution_group_ids, groupId] };
  await tx.run(sql.GROW_REPAIR, [...sql.REPAIR_GROUPS.params(grown), repairRunId]);
  const { event } = await takeStep(tx, context, principal, run, 'repair_started', doc.groupBound(binding));
  return { ...binding, event_id: event.event_id, event_cursor: event.event_cursor, created: true };
}

function newBinding(repair: AutoRepair, groupId: string, kind: string, key: string, at: number): RepairBinding {
  const binding: RepairBinding = {
    ...doc.scopeOf(repair),
    repair_run_id: repair.repair_run_id,
    action_group_id: groupId,
    binding_ordinal: repair.execution_group_ids.length,
    action_group_kind: kind,
    idempotency_key: key,
    request_sha256: '',
    bound_at: at,
    ledger_event_count: null,
    ledger_sha256: null,
    sealed_at: null,
  };
  return { ...binding, request_sha256: doc.bindingDigest(binding) };
}
