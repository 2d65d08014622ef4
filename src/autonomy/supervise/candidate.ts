import { shownArguments } from '../../calls/index.ts';
import { LIMITS } from '../../core/index.ts';
import { branchGroups } from '../../runs/index.ts';
import { recordCandidate } from '../candidates.ts';
import { codeOf } from '../errors.ts';
import type { AutoRun } from '../model.ts';
import { type CandidateBytes, readCandidate, type ShownAction } from './candidate-bytes.ts';
import type { AuthorRun, SuperviseContext } from './context.ts';
import type { Standing } from './standing.ts';

/** What makes a result impossible to read, and so to review. */
const UNREADABLE: ReadonlySet<string> = new Set(['WORKSPACE_NOT_A_FOLDER', 'WORKSPACE_CHANGED', 'LIMIT_REACHED']);

export const isUnreadable = (error: unknown): boolean => UNREADABLE.has(codeOf(error) ?? '');

/** The result of a run as it is now, with every byte of it read again. */
export async function readResult(context: SuperviseContext, run: AuthorRun): Promise<CandidateBytes> {
  const { principal, place, task } = run;
  const { rootFrameId, branchId, turnId } = place;
  const groups = await context.store.read('autonomy.result', (tx) =>
    branchGroups(tx, principal, rootFrameId, branchId),
  );
  const own = groups.filter(({ group }) => group.turnId === turnId);
  const actions = own.flatMap(({ calls }) =>
    calls.map(
      (call): ShownAction => ({
        callId: call.callId,
        tool: call.toolName,
        argumentsText: shownArguments(context.tools, call),
        outcome: call.outcome,
      }),
    ),
  );
  const text = own.findLast(({ group }) => group.kind === 'finalize')?.group.assistantContent ?? '';
  return readCandidate({ rootFrameId, branchId, turnId, task, text, actions }, await context.directoryOf(rootFrameId));
}

/** Records what was read as the candidate of the run: a further one, where one was recorded before. */
export async function recordResult(
  context: SuperviseContext,
  run: AuthorRun,
  { run: auto, events }: Standing,
  read: CandidateBytes,
): Promise<void> {
  const number = events.filter((event) => event.type === 'candidate_ready').length + 1;
  const listed = read.artifactIds.length <= LIMITS.autoListItems;
  const name = `${auto.execution_id}-candidate-${number}`;
  await context.store.write('autonomy.candidate', (tx) =>
    recordCandidate(tx, context.autonomy, run.principal, auto.run_id, {
      key: `${name}:ready`,
      candidateId: name,
      candidateSnapshotSha256: read.snapshotSha256,
      evidenceSnapshotSha256: read.evidenceSha256,
      artifactSetSha256: read.artifactSetSha256,
      candidateArtifactIds: listed ? read.artifactIds : [],
      candidateVersionIds: listed ? read.versionIds : [],
    }),
  );
  await context.faults.reach('auto-candidate-recorded', number);
}

/** Whether what was read is exactly the candidate of a run. */
export const isCandidate = (auto: AutoRun, read: CandidateBytes): boolean =>
  auto.candidate_snapshot_sha256 === read.snapshotSha256 &&
  auto.artifact_set_sha256 === read.artifactSetSha256 &&
  auto.evidence_snapshot_sha256 === read.evidenceSha256;
