import { fail, LIMITS } from '../../core/index.ts';
import type { ReadTx, Tx } from '../../store/index.ts';
import { type EffectHistory, historyOf } from '../history.ts';
import { LogState } from '../log-state.ts';
import type {
  ClaimInput,
  EffectClaim,
  EffectObservation,
  EffectOutcome,
  EffectRecord,
  ObservationInput,
  OutcomeInput,
} from '../model.ts';
import { interruption, makeClaim, makeObservation, makeOutcome } from '../records.ts';
import { checkRunId } from '../validity.ts';
import {
  CLAIM_IS_THERE,
  CLAIM_NEXT,
  CLAIM_STATE,
  INSERT_CLAIM,
  INSERT_OBSERVATION,
  INSERT_OUTCOME,
  INTERRUPTED_CLAIMS,
  LAST_POSITION,
  OBSERVATION_IS_THERE,
  OPEN_CLAIMS_OF_OPERATION,
  RECORDS_OF_RUN,
  SETTLE_NEXT,
} from './queries.ts';
import { bodyOf, recordOf } from './rows.ts';

const MOST = LIMITS.effectRecordsPerRun;

/** Whose log: a tenant's root run. Records of another tenant are never seen, not even as a conflict. */
export interface LedgerRun {
  readonly tenantId: string;
  readonly runId: string;
}

/** A claim in the ledger may belong to an operation: settling the operation then writes its outcome (E-1). */
export interface LedgerClaimInput extends ClaimInput {
  readonly operationId?: string;
}

/** What ends an effect: anything but its going on. */
export type EffectEnding = OutcomeInput & { readonly execution: Exclude<OutcomeInput['execution'], 'running'> };

/**
 * Claims an effect: two statements. The tool may run once the transaction has committed.
 * Throws `EFFECT_CONFLICT`, `LIMIT_REACHED`, `EFFECT_RECORD_INVALID` or `EFFECT_RUN_ID_INVALID`.
 */
export async function claim(tx: Tx, run: LedgerRun, input: LedgerClaimInput): Promise<EffectClaim> {
  const made = makeClaim(input, checkRunId(run.runId), 0);
  const body = bodyOf({ type: 'claim', record: made });
  const sequence = await nextPosition(tx, run);
  if (sequence > MOST && !(await tx.get(CLAIM_IS_THERE, [run.tenantId, run.runId, made.effectId]))) throw full();
  const params = [run.tenantId, run.runId, sequence, made.effectId, input.operationId ?? null, body];
  const { changes } = await tx.run(INSERT_CLAIM, params);
  if (changes === 0) throw fail('EFFECT_CONFLICT', 'The run already has a claim with this effect id.');
  return { ...made, sequence };
}

/** Claims an effect as `claim` does, for whoever need not know its position: one statement. */
export async function claimNext(tx: Tx, run: LedgerRun, input: LedgerClaimInput): Promise<void> {
  const { tenantId, runId } = run;
  const made = makeClaim(input, checkRunId(runId), 0);
  const body = bodyOf({ type: 'claim', record: made });
  const params = [tenantId, runId, MOST, tenantId, runId, made.effectId, input.operationId ?? null, body];
  // Where it landed on nothing, `claim` finds out why.
  if ((await tx.run(CLAIM_NEXT, params)).changes === 0) await claim(tx, run, input);
}

/**
 * Records how a claimed effect ended, for whoever need not know the outcome's position: one statement. False when it was
 * settled already. Throws `EFFECT_NOT_FOUND` for an effect without a claim.
 */
export async function settleNext(tx: Tx, run: LedgerRun, input: EffectEnding): Promise<boolean> {
  const { tenantId, runId } = run;
  const made = makeOutcome(input, 0);
  const { effectId, execution, impact } = made;
  const body = bodyOf({ type: 'outcome', record: made });
  const params = [tenantId, runId, tenantId, runId, effectId, effectId, execution, impact, body];
  if ((await tx.run(SETTLE_NEXT, params)).changes === 1) return true;
  return (await recordOutcome(tx, run, input)) !== null;
}

/**
 * Records what the executor reported: two statements. Null when the effect was already settled. Progress (`running`)
 * needs room among the run's records, an ending always finds some.
 * Throws `EFFECT_NOT_FOUND` for an effect without a claim, or `LIMIT_REACHED`.
 */
export async function recordOutcome(tx: Tx, run: LedgerRun, input: OutcomeInput): Promise<EffectOutcome | null> {
  const made = makeOutcome(input, 0);
  const { effectId, execution, impact } = made;
  const state = await tx.get<{ settled: number; last: number }>(CLAIM_STATE, [run.tenantId, run.runId, effectId]);
  if (!state) throw fail('EFFECT_NOT_FOUND', 'The run has no claim with this effect id.');
  if (state.settled !== 0) return null;
  const sequence = state.last + 1;
  if (execution === 'running' && sequence > MOST) throw full();
  const body = bodyOf({ type: 'outcome', record: made });
  await tx.run(INSERT_OUTCOME, [run.tenantId, run.runId, sequence, effectId, execution, impact, body]);
  return { ...made, sequence };
}

/** Records what a reading saw: two statements. Null when its id is taken. Throws `LIMIT_REACHED`. */
export async function recordObservation(
  tx: Tx,
  run: LedgerRun,
  input: ObservationInput,
): Promise<EffectObservation | null> {
  const made = makeObservation(input, 0);
  const body = bodyOf({ type: 'observation', record: made });
  const id = made.observationId;
  const sequence = await nextPosition(tx, { ...run, runId: checkRunId(run.runId) });
  if (sequence > MOST && !(await tx.get(OBSERVATION_IS_THERE, [run.tenantId, run.runId, id]))) throw full();
  const { changes } = await tx.run(INSERT_OBSERVATION, [run.tenantId, run.runId, sequence, id, body]);
  return changes === 0 ? null : { ...made, sequence };
}

/**
 * Writes one outcome for every claim of an operation that is still open, whatever run claimed it; called by whoever
 * settles the operation, in the same transaction. Answers the runs that had claimed it.
 */
export async function settleOperation(
  tx: Tx,
  of: { readonly tenantId: string; readonly operationId: string },
  outcome: Omit<OutcomeInput, 'effectId'>,
): Promise<readonly LedgerRun[]> {
  const open = await tx.all<{ run_id: string; effect_id: string }>(OPEN_CLAIMS_OF_OPERATION, [
    of.tenantId,
    of.operationId,
  ]);
  const runs: LedgerRun[] = [];
  for (const { run_id: runId, effect_id: effectId } of open) {
    const run = { tenantId: of.tenantId, runId };
    await recordOutcome(tx, run, { ...outcome, effectId });
    runs.push(run);
  }
  return runs;
}

/** See `EffectLog.recoverInterrupted`; claims attached to an operation stay pending. */
export async function recoverInterrupted(tx: Tx, run: LedgerRun): Promise<readonly EffectOutcome[]> {
  const open = await tx.all<{ effect_id: string }>(INTERRUPTED_CLAIMS, [run.tenantId, checkRunId(run.runId)]);
  const written: EffectOutcome[] = [];
  for (const row of open) {
    const outcome = await recordOutcome(tx, run, interruption(row.effect_id));
    if (outcome) written.push(outcome);
  }
  return written;
}

/** The records of a run, checked against each other. Throws `EFFECT_LEDGER_DAMAGED`. */
export async function readLog(tx: ReadTx, run: LedgerRun): Promise<LogState> {
  const rows = await tx.all(RECORDS_OF_RUN, [run.tenantId, checkRunId(run.runId), 2 * LIMITS.effectRecordsPerRun]);
  const state = new LogState();
  for (const row of rows) addRead(state, recordOf(row));
  return state;
}

/** What is known of a run's effects. Throws `EFFECT_LEDGER_DAMAGED`. */
export async function readHistory(tx: ReadTx, run: LedgerRun): Promise<EffectHistory> {
  return historyOf((await readLog(tx, run)).entries());
}

function addRead(state: LogState, entry: EffectRecord): void {
  try {
    state.add(entry);
  } catch (cause) {
    throw fail(
      'EFFECT_LEDGER_DAMAGED',
      `The record at position ${entry.record.sequence} disagrees with earlier ones.`,
      {
        cause,
      },
    );
  }
}

async function nextPosition(tx: Tx, run: LedgerRun): Promise<number> {
  const row = await tx.get<{ last: number | null }>(LAST_POSITION, [run.tenantId, run.runId]);
  return (row?.last ?? 0) + 1;
}

function full(): Error {
  return fail('LIMIT_REACHED', `A run has at most ${MOST} records of effects.`, {
    details: { limit: 'effectRecordsPerRun', max: MOST },
  });
}
