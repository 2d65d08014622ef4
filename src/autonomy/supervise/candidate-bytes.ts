import { type CallOutcome, outcomeDocument } from '../../calls/index.ts';
import {
  codePointsWithin,
  digestJson,
  type JsonObject,
  type JsonValue,
  LIMITS,
  redactText,
  sha256Hex,
} from '../../core/index.ts';
import { type ReadFile, type ReadWorkspace, readWorkspaceWhole } from '../../sessions/index.ts';

/** An action of the author as a reviewer is shown it. */
export interface ShownAction {
  readonly callId: string;
  readonly tool: string;
  readonly argumentsText: string | null;
  readonly outcome: CallOutcome | null;
}

/** What the author handed over, without the files. */
export interface Handed {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
  readonly task: string;
  readonly text: string;
  readonly actions: readonly ShownAction[];
}

/** A result as it is now: what is reviewed, and the digests that say so. */
export interface CandidateBytes {
  readonly snapshotSha256: string;
  readonly artifactSetSha256: string;
  readonly evidence: JsonObject;
  readonly evidenceSha256: string;
  readonly artifactIds: readonly string[];
  readonly versionIds: readonly string[];
}

const NO_FILES: ReadWorkspace = { files: [], skipped: [] };

/**
 * Reads a result whole: every byte of the workspace is read and every digest is taken anew, never from a cache. The
 * digests are documented in docs/autonomy.md. WORKSPACE_NOT_A_FOLDER, WORKSPACE_CHANGED, LIMIT_REACHED.
 */
export function readCandidate(handed: Handed, directory: string | null): CandidateBytes {
  const read = directory === null ? NO_FILES : readWorkspaceWhole(directory, LIMITS.autoEvidenceFileBytes);
  const skipped = read.skipped.map(({ path, reason }) => ({ path, reason }));
  const artifacts = read.files.map(({ path, size, sha256 }) => ({ path, size, sha256 }));
  const artifactSetSha256 = digestJson({ version: 1, artifacts, skipped });
  const { rootFrameId, branchId, turnId, task, text } = handed;
  const snapshotSha256 = digestJson({
    version: 1,
    root_frame_id: rootFrameId,
    branch_id: branchId,
    turn_id: turnId,
    task_sha256: sha256Hex(task),
    text_sha256: sha256Hex(text),
    artifact_set_sha256: artifactSetSha256,
  });
  const evidence = {
    version: 1,
    candidate_snapshot_sha256: snapshotSha256,
    artifact_set_sha256: artifactSetSha256,
    task: redactText(task),
    text: redactText(text),
    artifacts: shownFiles(read.files),
    skipped,
    actions: handed.actions.map(shownAction),
  };
  return {
    snapshotSha256,
    artifactSetSha256,
    evidence,
    evidenceSha256: digestJson(evidence),
    artifactIds: read.files.map(artifactId),
    versionIds: read.files.map((file) => `${artifactId(file)}@${file.sha256}`),
  };
}

/** A path names its artifact; one that is too long for an id is named by its digest. */
export const artifactId = ({ path }: Pick<ReadFile, 'path'>): string =>
  codePointsWithin(path, LIMITS.autoArtifactPathCodePoints) ? path : `path-sha256:${sha256Hex(path)}`;

/** The contents that a reviewer is shown: whole texts, up to a bound for each and for all. */
function shownFiles(files: readonly ReadFile[]): JsonValue[] {
  let left = LIMITS.autoEvidenceBytes;
  return files.map((file) => {
    const { path, size, sha256, bytes } = file;
    const text = bytes === null || bytes.length > left ? null : textOf(bytes);
    if (text === null)
      return { path, size, sha256, content: null, omitted: bytes === null ? 'too_large' : 'not_shown' };
    left -= size;
    return { path, size, sha256, content: redactText(text) };
  });
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Null for what is not text. */
function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

const shownAction = ({ callId, tool, argumentsText, outcome }: ShownAction): JsonObject => ({
  call_id: callId,
  tool,
  arguments: argumentsText === null ? null : redactText(argumentsText),
  outcome: outcome === null ? null : shownOutcome(outcome),
});

/** How an action ended, without what it gave back: that is in the files, or in what was said of it. */
function shownOutcome(outcome: CallOutcome): JsonObject {
  const { output: _output, ...document } = outcomeDocument(outcome);
  return document;
}
