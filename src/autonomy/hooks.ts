import { revokeContinuations } from '../approvals/index.ts';
import type { Admission, Reverted, SessionHooks } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import { abandoned, wrongPhase } from './errors.ts';
import { rootCursor } from './events.ts';
import { isTerminal } from './machine.ts';
import type { RepairBinding } from './model.ts';
import * as sql from './queries.ts';
import { requireAtTail } from './usable.ts';

/**
 * The say of supervised runs in what happens to a session: in a group bound to a repair nothing new begins once the run
 * is not current; a branch that goes back abandons its run; a checkpoint notes where the run log stands; a session that goes takes its runs along.
 */
export const autonomyHooks: SessionHooks = {
  admit,
  onRevert,
  onDelete: async (tx, rootFrameId) => {
    await tx.run(sql.DROP_IMPORTED_OF_SESSION, [rootFrameId]);
    await tx.run(sql.DROP_RUNS_OF_SESSION, [rootFrameId]);
  },
  checkpointParts: async (tx, { rootFrameId }) => ({ autoEventCursor: await rootCursor(tx, rootFrameId) }),
};

/** What belongs to no bound group costs one statement; in a group that was opened just now, none. */
async function admit(tx: Tx, admission: Admission): Promise<void> {
  if (admission.what === 'group') return;
  if (admission.what === 'event' && (admission.observes || admission.groupIsNew)) return;
  const row = await tx.get(sql.BINDING_OF_GROUP, [admission.groupId]);
  if (!row) return;
  const binding = sql.BINDINGS.read(row);
  if (binding.sealed_at !== null) {
    // Events and attempts of a sealed group are refused by the tables themselves.
    if (admission.what === 'continuation') throw wrongPhase('Continuing a permission', 'sealed');
    return;
  }
  await requireRepairing(tx, binding);
}

async function requireRepairing(tx: ReadTx, binding: RepairBinding): Promise<void> {
  const row = await tx.get(sql.RUN_OF_BINDING, [binding.run_id]);
  if (!row) throw abandoned();
  const run = sql.RUNS.read(row);
  await requireAtTail(tx, { tenant: String(row['tenant_id']), subject: 'autonomy', roles: [] }, run);
  if (isTerminal(run.status)) throw wrongPhase('A new action', run.status);
}

/** In the transaction that moves the branch back. */
async function onRevert(tx: Tx, { rootFrameId, branchId, checkpointId, at }: Reverted): Promise<void> {
  // Whatever of the run cannot be read, the branch goes back, and the mark can be put there.
  const row = await tx.get(sql.ACTIVE_RUN_ID, [rootFrameId, branchId]);
  if (!row) return;
  const runId = String(row['run_id']);
  await tx.run(sql.ABANDON_RUN, [at, checkpointId, runId]);
  for (const { action_group_id: groupId } of await tx.all(sql.GROUPS_OF_RUN, [runId]))
    await revokeContinuations(tx, String(groupId));
}
