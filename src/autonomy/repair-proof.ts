import type { GroupLedger } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';
import * as doc from './documents.ts';
import { requireProof } from './errors.ts';
import { type EventLog, sameScope } from './event-log.ts';
import { judge, type Judgement } from './evidence.ts';
import { evidenceOf, ledgerDigest, requireLedger } from './ledger.ts';
import type { AutoEvent, AutoRepair, RepairBinding } from './model.ts';
import * as sql from './queries.ts';

const REPAIR = 'repair ledger';

/** A bound group with everything that was done in it. */
export interface BoundGroup {
  readonly binding: RepairBinding;
  readonly ledger: GroupLedger;
}

export async function bindingsOf(tx: ReadTx, repairRunId: string): Promise<RepairBinding[]> {
  return (await tx.all(sql.BINDINGS_OF_REPAIR, [repairRunId])).map(sql.BINDINGS.read);
}

export async function readBoundGroups(tx: ReadTx, bindings: readonly RepairBinding[]): Promise<BoundGroup[]> {
  const groups: BoundGroup[] = [];
  for (const binding of bindings) groups.push({ binding, ledger: await requireLedger(tx, binding) });
  return groups;
}

export const judgeGroups = (
  status: 'completed' | 'failed' | 'outcome_unknown',
  groups: readonly BoundGroup[],
): Judgement =>
  judge(
    status,
    groups.map(({ ledger }) => evidenceOf(ledger)),
  );

/** The events of a proved repair, and, where it failed, whether something of it stands. */
export interface RepairFacts {
  readonly start: AutoEvent;
  readonly completion: AutoEvent | null;
  readonly committed: boolean;
}

/**
 * Holds a repair against its events, its bindings against theirs and against the bound groups, and, once it has ended,
 * every ledger against its seal and all of them together against the claimed status.
 */
export function proveRepair(log: EventLog, repair: AutoRepair, groups: readonly BoundGroup[]): RepairFacts {
  requireProof(
    repair.start_request_sha256 === doc.repairStartDigest(repair) && repair.verification_review_run_id === null,
    REPAIR,
    'what was to be repaired differs',
  );
  const start = log.require(repair, 'repair_started', doc.repairStarted(repair), REPAIR);
  const bound = groups.map(({ binding }) => binding.action_group_id);
  requireProof(doc.sameJson(bound, repair.execution_group_ids), REPAIR, 'its action groups are not those bound to it');
  groups.forEach((group, at) => {
    proveBinding(log, repair, group, at);
  });
  if (repair.status === 'started') {
    const open = repair.completed_at === null && groups.every(({ binding }) => binding.sealed_at === null);
    requireProof(open, REPAIR, 'it has an end that was not written');
    return { start, completion: null, committed: false };
  }
  for (const group of groups) proveSeal(repair, group);
  requireProof(repair.completion_request_sha256 === doc.repairCompletionDigest(repair), REPAIR, 'its end differs');
  const judgement = judgeGroups(repair.status, groups);
  if (!judgement.supported) requireProof(false, REPAIR, judgement.why);
  const completion = log.require(repair, 'repair_completed', doc.repairCompleted(repair), REPAIR);
  return { start, completion, committed: judgement.supported && judgement.committed };
}

function proveBinding(log: EventLog, repair: AutoRepair, { binding, ledger }: BoundGroup, at: number): void {
  const { group } = ledger;
  const fits =
    binding.binding_ordinal === at &&
    sameScope(binding, repair) &&
    binding.request_sha256 === doc.bindingDigest(binding) &&
    group['root_frame_id'] === binding.root_frame_id &&
    group['branch_id'] === binding.branch_id &&
    group['turn_id'] === binding.turn_id &&
    group['kind'] === binding.action_group_kind;
  requireProof(fits, REPAIR, 'a bound action group is not the one that was bound');
  log.require(binding, 'repair_started', doc.groupBound(binding), REPAIR);
}

function proveSeal(repair: AutoRepair, { binding, ledger }: BoundGroup): void {
  const intact =
    binding.sealed_at === repair.completed_at &&
    binding.ledger_event_count === ledger.events.length &&
    binding.ledger_sha256 === ledgerDigest(ledger);
  requireProof(intact, REPAIR, 'a sealed ledger is not what was sealed');
}
