import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import {
  activateContinuation,
  consumeContinuation,
  decide,
  type NewRequest,
  type PermissionRequest,
  requestPermission,
  requireRequest,
} from '../../src/approvals/index.ts';
import {
  type AssessmentEnding,
  Autonomy,
  autonomyHooks,
  type AutonomyProofs,
  autonomySchema,
  type NewAutoRun,
  type NewFinding,
  type RepairEnding,
} from '../../src/autonomy/index.ts';
import { digestJson, type JsonValue } from '../../src/core/index.ts';
import {
  allocateAttempt,
  appendEvent,
  type Checkpoint,
  createCheckpoint,
  finishAttempt,
  markAttempt,
  type NewCheckpoint,
  openGroup,
  WorkspaceStore,
} from '../../src/sessions/index.ts';
import type { Row, Store } from '../../src/store/index.ts';
import { AGENT, openSessionWorld, OWNER, SCHEMAS, type SessionWorld } from './session-world.ts';

export const AUTONOMY_SCHEMAS = [...SCHEMAS, autonomySchema];
export const FAR = 10 ** 15;
export const HASH_A = 'a'.repeat(64);
export const HASH_B = 'b'.repeat(64);
export const EVIDENCE = { candidate_id: 'candidate-1', complete: true };
export const EVIDENCE_SHA = digestJson(EVIDENCE);
export const REVIEWER = {
  profile_id: 'scientific-reviewer',
  profile_revision: 7,
  model_fingerprint: 'review-model-v7',
};

/** A session with supervised runs, as the contracts set it up. */
export interface AutonomyWorld extends SessionWorld {
  readonly autonomy: Autonomy;
  readonly workspaces: WorkspaceStore;
  reopen(): Promise<AutonomyWorld>;
}

export async function openAutonomyWorld(proofs: Partial<AutonomyProofs> = {}): Promise<AutonomyWorld> {
  return around(await openSessionWorld([autonomyHooks], AUTONOMY_SCHEMAS), proofs);
}

/** The same session by another process: with a store of its own on the same file. */
export const withStore = (world: AutonomyWorld, store: Store): AutonomyWorld => around({ ...world, store }, {});

function around(world: SessionWorld, proofs: Partial<AutonomyProofs>): AutonomyWorld {
  const { store, clock, context } = world;
  const workspaces = new WorkspaceStore({
    store,
    folder: join(dirname(world.file), 'workspace-cas'),
    clock,
    ids: context.ids,
  });
  const trees = async (treeId: string) => (await workspaces.verifyTree(treeId)).length === 0;
  return {
    ...world,
    workspaces,
    autonomy: new Autonomy({ store, sessions: context, trees, proofs }),
    reopen: async () => around(await world.reopen(), proofs),
  };
}

export const newRun = (root: string, change: Partial<NewAutoRun> = {}): NewAutoRun => {
  const turnId = change.turnId ?? 'turn-1';
  return {
    runId: 'run-1',
    key: `${turnId}:auto-run`,
    rootFrameId: root,
    branchId: root,
    turnId,
    executionId: 'execution-1',
    mode: 'auto_fix',
    selection: {
      preset: 'autonomous',
      result_review_mode: 'auto_fix',
      approvals_reviewer: 'auto_review',
      source: 'frame',
    },
    budgets: { max_review_attempts: 2, max_repair_rounds: 2 },
    ownerInstanceId: 'daemon-test',
    ...change,
  };
};

export const start = ({ autonomy, root }: AutonomyWorld, change: Partial<NewAutoRun> = {}) =>
  autonomy.startRun(OWNER, newRun(root, change));

export const secondRun = { runId: 'run-2', turnId: 'turn-2', executionId: 'execution-2' } as const;

export const candidate = ({ autonomy }: AutonomyWorld, key = 'candidate:1') =>
  autonomy.recordCandidate(OWNER, 'run-1', {
    key,
    candidateId: 'candidate-1',
    candidateSnapshotSha256: HASH_A,
    evidenceSnapshotSha256: EVIDENCE_SHA,
    artifactSetSha256: HASH_B,
    candidateVersionIds: ['version-before'],
  });

export async function startReview(world: AutonomyWorld, name = 'pass') {
  return world.autonomy.startReview(OWNER, 'run-1', {
    reviewRunId: `review-${name}`,
    auditId: `audit-${name}`,
    key: `review-${name}:start`,
    candidateId: 'candidate-1',
    candidateSnapshotSha256: HASH_A,
    evidenceSnapshot: EVIDENCE,
    evidenceSnapshotSha256: EVIDENCE_SHA,
    roundIndex: 0,
    attempt: 1,
    reviewer: REVIEWER,
  });
}

export const finding = (id: string, severity = 'major'): NewFinding => ({
  findingId: id,
  fingerprint: `stable-${id}`,
  severity,
  category: 'evidence',
  claim: 'The result needs an independent recomputation.',
  evidenceRefs: ['cell-1'],
  versionIds: ['version-before'],
  cellIds: ['cell-1'],
});

export const passReview = ({ autonomy }: AutonomyWorld, name = 'pass') =>
  autonomy.completeReview(OWNER, `review-${name}`, {
    key: `review-${name}:complete`,
    status: 'completed',
    verdict: 'pass',
    assessment: { public_summary: 'Independent review passed.' },
  });

/** Records the candidate and a review of it that finds `finding-1`. */
export async function issueReview(world: AutonomyWorld) {
  await candidate(world);
  await startReview(world, 'issues');
  return world.autonomy.completeReview(OWNER, 'review-issues', {
    key: 'review-issues:complete',
    status: 'completed',
    verdict: 'completed_with_issues',
    assessment: { public_summary: 'One material issue.' },
    findings: [finding('finding-1')],
  });
}

export async function group(world: AutonomyWorld, turnId = 'turn-1'): Promise<string> {
  const { store, context, root } = world;
  const opened = await store.write('test.group', (tx) =>
    openGroup(tx, context, AGENT, {
      rootFrameId: root,
      branchId: root,
      turnId,
      kind: 'native_tools',
      assistantContent: 'Some actions',
    }),
  );
  return opened.id;
}

/** A permission request for one exact action; in a group of its own unless told. */
export async function request(
  world: AutonomyWorld,
  requestId: string,
  change: Partial<NewRequest> = {},
): Promise<PermissionRequest> {
  const groupId = change.groupId ?? (await group(world));
  return world.store.write('test.request', (tx) =>
    requestPermission(tx, world.context, AGENT, {
      requestId,
      groupId,
      actionId: `action-${requestId}`,
      tool: 'write_file',
      toolRevision: 'write_file-v1',
      target: 'result.txt',
      sideEffectClass: 'workspace_write',
      resourceKeys: ['workspace:result.txt'],
      arguments: [{ path: 'result.txt', content: `exact content for ${requestId}` }],
      policyRevision: 'enforce:',
      approver: { roles: ['owner'], subjects: [], requesterMayDecide: false },
      reason: 'write_file asks for a person.',
      ...change,
    }),
  );
}

export const requestOf = (world: AutonomyWorld, id: string): Promise<PermissionRequest> =>
  world.store.read('test.request', (tx) => requireRequest(tx, OWNER, id));

export const resolve = (world: AutonomyWorld, id: string, state: 'allowed' | 'denied', resolutionContext?: string) =>
  world.store.write('test.resolve', async (tx) => {
    const { action } = await requireRequest(tx, OWNER, id);
    const said = { requestId: id, digest: action.requestSha256, decision: DECISIONS[state] };
    return decide(tx, world.context, OWNER, [{ ...said, ...(resolutionContext ? { resolutionContext } : {}) }]);
  });
const DECISIONS = { allowed: 'approve', denied: 'reject' } as const;

export async function startAssessment(world: AutonomyWorld, name: string, decisionId = `decision-${name}`) {
  const { action } = await requestOf(world, decisionId);
  return world.autonomy.startAssessment(OWNER, 'run-1', {
    assessmentId: `assessment-${name}`,
    auditId: `permission-audit-${name}`,
    decisionId,
    actionDigest: action.actionDigest,
    policyVersion: 'guardian-v1',
    key: `permission:${name}:start`,
  });
}

export const completeAssessment = (world: AutonomyWorld, name: string, change: Partial<AssessmentEnding> = {}) =>
  world.autonomy.completeAssessment(OWNER, `assessment-${name}`, {
    key: `permission:${name}:complete`,
    status: 'completed',
    outcome: 'denied',
    risk: 'high',
    assessment: { public_summary: 'Denied by policy.' },
    ...change,
  });

/** A request `decision-<name>` with its assessment started. */
export async function assessed(world: AutonomyWorld, name: string) {
  await request(world, `decision-${name}`, { expiresAt: FAR });
  return startAssessment(world, name);
}

export async function checkpoint(world: AutonomyWorld, change: Partial<NewCheckpoint> = {}): Promise<Checkpoint> {
  const { root } = world;
  return world.store.write('test.checkpoint', (tx) =>
    createCheckpoint(tx, world.context, OWNER, { rootFrameId: root, branchId: root, reason: 'pre_repair', ...change }),
  );
}

/** A checkpoint with the workspace as it is. */
export async function captured(world: AutonomyWorld, checkpointId: string): Promise<Checkpoint> {
  const workspace = join(dirname(world.file), 'workspace');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'result.txt'), 'candidate\n');
  const { treeId } = await world.workspaces.capture(workspace);
  return checkpoint(world, { checkpointId, workspaceTreeId: treeId });
}

export const startRepair = ({ autonomy }: AutonomyWorld, change: { id?: string; key?: string } = {}) =>
  autonomy.startRepair(OWNER, 'run-1', {
    repairRunId: change.id ?? 'repair-1',
    key: change.key ?? 'repair-1:start',
    findingIds: ['finding-1'],
    beforeVersionIds: ['version-before'],
    checkpointId: 'checkpoint-repair-1',
  });

export const bind = ({ autonomy }: AutonomyWorld, groupId: string, key = `repair-1:bind:${groupId}`) =>
  autonomy.bindRepairGroup(OWNER, 'repair-1', { actionGroupId: groupId, key });

/** A run with an issue, a checkpoint, a repair, and the group that is bound to it. */
export async function boundRepair(world: AutonomyWorld): Promise<string> {
  await start(world);
  await issueReview(world);
  await captured(world, 'checkpoint-repair-1');
  await startRepair(world);
  const groupId = await group(world);
  await bind(world, groupId);
  return groupId;
}

export const completeRepair = (
  { autonomy }: AutonomyWorld,
  executionGroupIds: readonly string[],
  change: Partial<RepairEnding> = {},
) =>
  autonomy.completeRepair(OWNER, 'repair-1', {
    key: 'repair-1:complete',
    status: 'completed',
    afterVersionIds: ['version-after'],
    executionGroupIds,
    ...change,
  });

/** One line of a group about an action. */
export const line = (
  world: AutonomyWorld,
  groupId: string,
  type: string,
  action: string,
  result?: JsonValue,
  sideEffectClass = 'workspace_write',
) =>
  world.store.write('test.line', (tx) =>
    appendEvent(tx, world.context, AGENT, {
      groupId,
      type,
      actionId: action,
      toolCallId: action,
      sideEffectClass,
      resourceKeys: ['workspace:result.txt'],
      ...(result === undefined ? {} : { result }),
    }),
  );

export async function acted(
  world: AutonomyWorld,
  groupId: string,
  action: string,
  result: JsonValue = { status: 'completed' },
  sideEffectClass = 'workspace_write',
): Promise<void> {
  await line(world, groupId, 'proposed', action, undefined, sideEffectClass);
  await line(world, groupId, 'result', action, result, sideEffectClass);
}

export const allocate = (world: AutonomyWorld, groupId: string, cell: string, ownerInstanceId?: string) =>
  world.store.write('test.attempt', (tx) =>
    allocateAttempt(tx, world.context, AGENT, {
      groupId,
      producingCellId: cell,
      ...(ownerInstanceId ? { ownerInstanceId } : {}),
    }),
  );

export const markStarted = (world: AutonomyWorld, attemptId: string) =>
  world.store.write('test.mark', (tx) => markAttempt(tx, world.context, AGENT, attemptId, 'started'));

export async function finished(world: AutonomyWorld, groupId: string, cell: string): Promise<string> {
  const { attemptId } = await allocate(world, groupId, cell);
  await world.store.write('test.attempt', async (tx) => {
    for (const milestone of ['started', 'response', 'capture'] as const)
      await markAttempt(tx, world.context, AGENT, attemptId, milestone);
    await finishAttempt(tx, world.context, AGENT, attemptId, { terminalState: 'completed' });
  });
  return attemptId;
}

export const activate = (world: AutonomyWorld, id: string) =>
  world.store.write('test.activate', (tx) => activateContinuation(tx, world.context, OWNER, id, FAR));

export const consume = (world: AutonomyWorld, args: JsonValue) =>
  world.store.write('test.consume', (tx) =>
    consumeContinuation(tx, world.context, AGENT, {
      rootFrameId: world.root,
      tool: 'write_file',
      target: 'result.txt',
      sideEffectClass: 'workspace_write',
      resourceKeys: ['workspace:result.txt'],
      arguments: args,
      by: 'execution-2',
    }),
  );

/** The run that the branch shows. */
export async function projected(world: AutonomyWorld) {
  return (await world.autonomy.project(OWNER, world.root, world.root)).run;
}

export const audits = (world: AutonomyWorld, query: object = {}) =>
  world.autonomy.audits(OWNER, { rootFrameId: world.root, branchId: world.root, ...query });

/** One row, read around the program. */
export function rawRow(world: SessionWorld, text: string, ...params: (string | number)[]): Row {
  const database = world.raw();
  try {
    return { ...database.prepare(text).get(...params) } as Row;
  } finally {
    database.close();
  }
}

/** Does something to the database around the program. */
export function behind<T>(world: SessionWorld, body: (database: DatabaseSync) => T): T {
  const database = world.raw();
  try {
    return body(database);
  } finally {
    database.close();
  }
}

export const countOf = (world: SessionWorld, from: string): number =>
  Number(rawRow(world, `SELECT COUNT(*) AS rows FROM ${from}`)['rows']);

/** Where a row of a page stands, as `before` takes it. */
export const ordinalOf = (row: { readonly [name: string]: unknown } | undefined): string =>
  Number(row?.['event_ordinal']).toString();
