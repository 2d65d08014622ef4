import { digestJson, fail } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { AutonomyContext } from './context.ts';
import { candidateFields, candidateReady, runTerminal, sameJson, terminalRequest } from './documents.ts';
import { wrongPhase } from './errors.ts';
import { replayedEvent, transition } from './events.ts';
import { digestField, keyField, listField, textField, wordField } from './fields.ts';
import { mayEnd, nextStatus } from './machine.ts';
import { type AutoRun, type RunTransition, TERMINAL_STATUSES, type TerminalStatus } from './model.ts';
import * as sql from './queries.ts';
import type { ProvedRun } from './run-proof.ts';
import { takeStep } from './step.ts';
import { requireCurrent, requireMutable, requireRun } from './usable.ts';
import { whyNotVerified } from './verification.ts';

export interface NewCandidate {
  readonly key: string;
  readonly candidateId: string;
  readonly candidateSnapshotSha256: string;
  readonly evidenceSnapshotSha256: string;
  readonly artifactSetSha256: string;
  readonly candidateArtifactIds?: readonly string[];
  readonly candidateVersionIds?: readonly string[];
}

/**
 * Records the provisional result of a run. Refuses with AUTO_RUN_NOT_FOUND, AUTO_KEY_CONFLICT, AUTO_WRONG_PHASE,
 * AUTO_CANDIDATE_MISMATCH (the id stands for another result), and what makes a run unusable: AUTO_RUN_TERMINAL,
 * AUTO_RUN_ABANDONED, AUTO_PROOF_FAILED, SESSION_QUARANTINED, SESSION_REVERTING.
 */
export async function recordCandidate(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
  asked: NewCandidate,
): Promise<RunTransition> {
  const key = keyField('idempotency_key', asked.key);
  const fields = candidateFields({
    candidate_id: textField('candidate_id', asked.candidateId),
    candidate_snapshot_sha256: digestField('candidate_snapshot_sha256', asked.candidateSnapshotSha256),
    evidence_snapshot_sha256: digestField('evidence_snapshot_sha256', asked.evidenceSnapshotSha256),
    artifact_set_sha256: digestField('artifact_set_sha256', asked.artifactSetSha256),
    candidate_artifact_ids: listField('candidate_artifact_ids', asked.candidateArtifactIds),
    candidate_version_ids: listField('candidate_version_ids', asked.candidateVersionIds),
  });
  const request = digestJson(fields);
  const run = await requireRun(tx, principal, runId);
  const earlier = await replayedEvent(tx, runId, key, 'candidate_ready', request);
  if (earlier) return replayed(tx, context, principal, run, earlier);
  await requireMutable(tx, context, principal, run);
  if (nextStatus(run.status, 'candidate') === null) throw wrongPhase('Recording a candidate', run.status);
  if (run.candidate_id === fields.candidate_id && !sameJson(candidateFields(run), fields))
    throw fail('AUTO_CANDIDATE_MISMATCH', 'This candidate id stands for another result already.');
  const told = { key, request, payload: candidateReady(fields), at: context.sessions.clock.nowMs() };
  const step = await takeStep(tx, context, principal, run, 'candidate_ready', told);
  return transition(step.run, step.event, true);
}

async function replayed(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  run: AutoRun,
  event: RunTransition['event'],
): Promise<RunTransition> {
  await requireCurrent(tx, context, principal, run);
  return transition(run, event, false);
}

export interface RunEnding {
  readonly key: string;
  readonly status: TerminalStatus;
  readonly reason: string;
  readonly stopReason?: string;
}

/**
 * Ends a run for good. `verified` needs the proof that the newest review of exactly the current candidate passed:
 * AUTO_CANDIDATE_MISMATCH, AUTO_NOT_VERIFIED. Nothing ends over a review, repair or assessment that was started:
 * AUTO_PHASE_OPEN. Otherwise refuses as `recordCandidate`.
 */
export async function terminateRun(
  tx: Tx,
  context: AutonomyContext,
  principal: Principal,
  runId: string,
  asked: RunEnding,
): Promise<RunTransition> {
  const key = keyField('idempotency_key', asked.key);
  const status = wordField('status', asked.status, TERMINAL_STATUSES);
  const reason = keyField('reason', asked.reason);
  const stopReason = asked.stopReason === undefined ? null : keyField('stop_reason', asked.stopReason);
  const request = terminalRequest(status, reason, stopReason);
  const run = await requireRun(tx, principal, runId);
  const earlier = await replayedEvent(tx, runId, key, 'auto_run_terminal', request);
  if (earlier) return replayed(tx, context, principal, run, earlier);
  const proved = await requireMutable(tx, context, principal, run);
  await requireNoOpenPhase(tx, runId);
  if (status === 'verified') requireVerified(run, proved);
  if (!mayEnd(run.status, status)) throw wrongPhase(`Ending as ${status}`, run.status);
  const told = { key, request, payload: runTerminal(status, reason, stopReason), at: context.sessions.clock.nowMs() };
  const step = await takeStep(tx, context, principal, run, 'auto_run_terminal', told);
  return transition(step.run, step.event, true);
}

/** Nothing of the run is started and not ended. AUTO_PHASE_OPEN. */
export async function requireNoOpenPhase(tx: ReadTx, runId: string): Promise<void> {
  const open = (await tx.get(sql.OPEN_PHASES, [runId, runId, runId])) ?? {};
  for (const phase of ['reviews', 'repairs', 'assessments'])
    if (Number(open[phase]) > 0)
      throw fail('AUTO_PHASE_OPEN', `The run has an active durable phase: one of its ${phase} has not ended.`, {
        details: { phase },
      });
}

function requireVerified(run: AutoRun, { events, reviews, findings }: ProvedRun): void {
  if (run.candidate_id === null)
    throw fail('AUTO_CANDIDATE_MISMATCH', 'The run has no current candidate, so that nothing can be verified.');
  const why = whyNotVerified(run, events, reviews, findings);
  if (why !== null) throw fail('AUTO_NOT_VERIFIED', `The current candidate is not verified: ${why}.`);
}
