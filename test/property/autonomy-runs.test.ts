import fc from 'fast-check';
import {
  mayEnd,
  nextFinding,
  nextStatus,
  type RunStatus,
  type RunStep,
  type TerminalStatus,
} from '../../src/autonomy/index.ts';
import { HoldfastError } from '../../src/core/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { assert, check } from '../support/index.ts';
import {
  acted,
  AUTONOMY_SCHEMAS,
  type AutonomyWorld,
  audits,
  captured,
  checkpoint,
  finding,
  group,
  HASH_A,
  HASH_B,
  line,
  openAutonomyWorld,
  projected,
  request,
  REVIEWER,
  start,
  withStore,
} from '../support/autonomy-world.ts';
import { EVIDENCE, EVIDENCE_SHA, FAR, requestOf } from '../support/autonomy-world.ts';
import { OWNER } from '../support/session-world.ts';

/** What must be so, kept beside the store by the machine alone. */
interface Model {
  runs: number;
  status: RunStatus | null;
  candidate: string | null;
  /** Candidates recorded so far, and what was found against each: a finding's name and its state. */
  candidates: number;
  readonly found: Map<string, { readonly candidate: string; state: Parameters<typeof nextFinding>[0] }>;
  review: string | null;
  passed: string | null;
  repair: { readonly id: string; readonly findings: string[]; readonly groups: string[]; lost: boolean } | null;
  assessment: string | null;
  abandoned: boolean;
  count: number;
}

/** The two processes that have the file open, and which of them acts. */
interface Hands {
  readonly worlds: [AutonomyWorld, AutonomyWorld];
}

interface Act {
  readonly name: string;
  run(model: Model, world: AutonomyWorld): Promise<void>;
}

const runId = (model: Model): string => `run-${model.runs}`;
const usable = (model: Model): boolean => model.status !== null && !model.abandoned;
const allowed = (model: Model, step: RunStep): boolean =>
  usable(model) && model.status !== null && nextStatus(model.status, step) !== null;

/** The store must answer as the machine says: done, or refused with a code, and then nothing has changed. */
async function expectEither(ok: boolean, attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    assert.equal(ok, false, `refused: ${error.code} ${error.message}`);
    return false;
  }
  assert.equal(ok, true, 'it was not refused');
  return true;
}

function step(model: Model, taken: RunStep): void {
  if (model.status !== null) model.status = nextStatus(model.status, taken);
}

const begin: Act = {
  name: 'start',
  async run(model, world) {
    const free = model.status === null || model.abandoned || model.status in ENDS;
    const next = model.runs + 1;
    const asked = { runId: `run-${next}`, turnId: 'turn-1', executionId: `execution-${next}`, key: `start-${next}` };
    if (!(await expectEither(free, () => start(world, asked)))) return;
    Object.assign(model, {
      runs: next,
      status: 'running',
      candidate: null,
      review: null,
      passed: null,
      repair: null,
      assessment: null,
      abandoned: false,
    });
  },
};

const ENDS: Readonly<Record<string, true>> = { verified: true, failed: true, cancelled: true, paused: true };

const propose: Act = {
  name: 'candidate',
  async run(model, world) {
    const id = `candidate-${model.candidates + 1}`;
    const attempt = () =>
      world.autonomy.recordCandidate(OWNER, runId(model), {
        key: `candidate:${(model.count += 1)}`,
        candidateId: id,
        candidateSnapshotSha256: HASH_A,
        evidenceSnapshotSha256: EVIDENCE_SHA,
        artifactSetSha256: HASH_B,
        candidateVersionIds: ['version-before'],
      });
    if (!(await expectEither(allowed(model, 'candidate'), attempt))) return;
    step(model, 'candidate');
    model.candidates += 1;
    model.candidate = id;
    model.passed = null;
  },
};

const review: Act = {
  name: 'review',
  async run(model, world) {
    const id = `review-${(model.count += 1)}`;
    const attempt = () =>
      world.autonomy.startReview(OWNER, runId(model), {
        reviewRunId: id,
        auditId: `audit-${id}`,
        key: `${id}:start`,
        candidateId: model.candidate ?? 'none',
        candidateSnapshotSha256: HASH_A,
        evidenceSnapshot: EVIDENCE,
        evidenceSnapshotSha256: EVIDENCE_SHA,
        roundIndex: 0,
        attempt: 1,
        reviewer: REVIEWER,
      });
    if (!(await expectEither(allowed(model, 'review_start'), attempt))) return;
    step(model, 'review_start');
    model.review = id;
  },
};

const judgeAs = (verdict: 'pass' | 'issues'): Act => ({
  name: verdict,
  async run(model, world) {
    const id = model.review ?? 'none';
    const found = verdict === 'pass' ? [] : [`finding-${model.count}`];
    const attempt = () =>
      world.autonomy.completeReview(OWNER, id, {
        key: `${id}:end`,
        status: 'completed',
        verdict,
        assessment: {},
        findings: found.map((name) => finding(name)),
      });
    if (!(await expectEither(model.review !== null && allowed(model, 'review_end'), attempt))) return;
    step(model, 'review_end');
    model.review = null;
    model.passed = verdict === 'pass' ? model.candidate : null;
    for (const name of found) model.found.set(name, { candidate: model.candidate ?? '', state: 'open' });
  },
});

const repair: Act = {
  name: 'repair',
  async run(model, world) {
    const waiting = [...model.found].filter(
      ([, { candidate, state }]) => candidate === model.candidate && nextFinding(state, 'claim') !== null,
    );
    const id = `repair-${(model.count += 1)}`;
    const checkpointId = `checkpoint-${id}`;
    await captured(world, checkpointId);
    const findingIds = waiting.map(([name]) => name);
    const ok = allowed(model, 'repair_start') && findingIds.length > 0;
    const asked = {
      repairRunId: id,
      key: `${id}:start`,
      findingIds,
      beforeVersionIds: ['version-before'],
      checkpointId,
    };
    if (!(await expectEither(ok, () => world.autonomy.startRepair(OWNER, runId(model), asked)))) return;
    step(model, 'repair_start');
    for (const [, one] of waiting) one.state = nextFinding(one.state, 'claim') ?? one.state;
    model.repair = { id, findings: findingIds, groups: [], lost: false };
  },
};

const endRepair = (status: 'completed' | 'failed' | 'outcome_unknown'): Act => ({
  name: status,
  async run(model, world) {
    const { id = 'none', findings = [], groups = [] } = model.repair ?? {};
    if (model.repair && usable(model)) {
      const groupId = await group(world);
      await world.autonomy.bindRepairGroup(OWNER, id, { actionGroupId: groupId, key: `${id}:${groupId}` });
      groups.push(groupId);
      if (status === 'completed') await acted(world, groupId, `a-${groupId}`);
      if (status === 'failed') await acted(world, groupId, `a-${groupId}`, { is_error: true, output_committed: false });
      if (status === 'outcome_unknown') await line(world, groupId, 'proposed', `a-${groupId}`);
    }
    const pauses = status === 'outcome_unknown';
    const known = pauses ? model.assessment === null : model.repair?.lost === false;
    const ok = model.repair !== null && usable(model) && known;
    const asked = { key: `${id}:end:${(model.count += 1)}`, status, afterVersionIds: [], executionGroupIds: groups };
    if (!(await expectEither(ok, () => world.autonomy.completeRepair(OWNER, id, asked)))) {
      // What was proposed and never answered stays in the group: such a repair only ends as unknown.
      if (model.repair && pauses && usable(model)) model.repair.lost = true;
      return;
    }
    step(model, REPAIRED[status]);
    if (pauses) model.status = 'paused';
    if (status === 'completed') model.candidate = null;
    for (const name of findings) {
      const one = model.found.get(name);
      if (one) one.state = nextFinding(one.state, status === 'completed' ? 'addressed' : 'not_addressed') ?? one.state;
    }
    model.repair = null;
  },
});
const REPAIRED = { completed: 'repair_completed', failed: 'repair_failed', outcome_unknown: 'repair_unknown' } as const;

const advise: Act = {
  name: 'advise',
  async run(model, world) {
    if (model.assessment === null) {
      const id = `advice-${(model.count += 1)}`;
      await request(world, id, { expiresAt: FAR });
      const { action } = await requestOf(world, id);
      const asked = { decisionId: id, actionDigest: action.actionDigest, policyVersion: 'v1', key: `${id}:start` };
      const attempt = () =>
        world.autonomy.startAssessment(OWNER, runId(model), { ...asked, assessmentId: id, auditId: `audit-${id}` });
      if (await expectEither(allowed(model, 'audit'), attempt)) model.assessment = id;
      return;
    }
    const id = model.assessment;
    const end = { key: `${id}:end`, status: 'completed', outcome: 'ask', risk: 'low', assessment: {} } as const;
    const attempt = () => world.autonomy.completeAssessment(OWNER, id, end);
    if (await expectEither(allowed(model, 'audit'), attempt)) model.assessment = null;
  },
};

const end = (status: TerminalStatus): Act => ({
  name: status,
  async run(model, world) {
    const open = model.review !== null || model.repair !== null || model.assessment !== null;
    const material = [...model.found.values()].some(({ candidate }) => candidate === model.candidate);
    const verified = model.candidate !== null && model.passed === model.candidate && !material;
    const ok =
      usable(model) && !open && mayEnd(model.status ?? 'failed', status) && (status !== 'verified' || verified);
    const asked = { key: `end:${(model.count += 1)}`, status, reason: 'told' };
    if (await expectEither(ok, () => world.autonomy.terminateRun(OWNER, runId(model), asked))) model.status = status;
  },
});

const revert: Act = {
  name: 'revert',
  async run(model, world) {
    const cursor = await world.autonomy.eventCursor(OWNER, world.root);
    const target = await checkpoint(world, { reason: 'target' });
    const undo = await checkpoint(world, { reason: 'undo' });
    await checkpoint(world, {
      reason: 'revert',
      metadata: {
        reverted_to: target.checkpointId,
        undo_checkpoint_id: undo.checkpointId,
        history_projection: {
          version: 1,
          base_checkpoint_id: target.checkpointId,
          resume_cursors: { auto_event_cursor: cursor },
        },
      },
    });
    if (model.status !== null && !(model.status in ENDS)) model.abandoned = true;
  },
};

const ACTS: readonly Act[] = [
  begin,
  propose,
  propose,
  review,
  judgeAs('pass'),
  judgeAs('issues'),
  repair,
  endRepair('completed'),
  endRepair('failed'),
  endRepair('outcome_unknown'),
  advise,
  end('verified'),
  end('cancelled'),
  end('failed'),
  revert,
];

const fresh = (): Model => ({
  runs: 0,
  status: null,
  candidate: null,
  candidates: 0,
  found: new Map(),
  review: null,
  passed: null,
  repair: null,
  assessment: null,
  abandoned: false,
  count: 0,
});

/** Both processes show what the machine says, every proof holds, and nothing is listed as broken. */
async function assertAgrees(model: Model, { worlds }: Hands): Promise<void> {
  for (const world of worlds) {
    const run = await projected(world);
    assert.equal(run?.['status'] ?? null, model.status);
    const exported = await world.autonomy.exportProjection(OWNER, world.root);
    assert.equal(exported.runs.length, model.runs);
    for (const { finding_id, status } of exported.findings)
      assert.equal(status, model.found.get(finding_id as string)?.state);
    for (const row of await audits(world)) assert.equal(row['error_kind'], undefined);
  }
}

const WAYS = [
  ['start', 'candidate', 'review', 'issues', 'repair', 'completed', 'candidate', 'review', 'pass', 'verified', 'start'],
  ['start', 'candidate', 'review', 'issues', 'repair', 'failed', 'repair', 'outcome_unknown', 'start', 'candidate'],
  ['start', 'advise', 'candidate', 'review', 'issues', 'repair', 'advise', 'revert', 'completed', 'start', 'cancelled'],
] as const;
const named = (name: string): Act => ACTS.find((act) => act.name === name) ?? begin;

check('random steps of two processes, over restarts, go as the machine says', async () => {
  const acts = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...WAYS).map((way) => way.map((name) => [named(name), false] as const)) },
    {
      weight: 3,
      arbitrary: fc.array(fc.tuple(fc.constantFrom(...ACTS), fc.boolean()), { minLength: 6, maxLength: 16 }),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.constantFrom(...WAYS),
          fc.array(fc.tuple(fc.nat(10), fc.constantFrom(...ACTS), fc.boolean()), { maxLength: 4 }),
        )
        .map(([way, more]) => {
          const list = way.map((name) => [named(name), false] as readonly [Act, boolean]);
          for (const [at, act, other] of more) list.splice(at % list.length, 0, [act, other]);
          return list;
        }),
    },
  );
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (list, reopens) => {
      await using first = await openAutonomyWorld();
      const store = await openSqliteStore({ file: first.file, schemas: AUTONOMY_SCHEMAS });
      const hands: Hands = { worlds: [first, withStore(first, store)] };
      const model = fresh();
      try {
        for (const [act, other] of list) await act.run(model, hands.worlds[other ? 1 : 0]);
        await assertAgrees(model, hands);
      } finally {
        await store.close();
      }
      if (!reopens) return;
      const world = await first.reopen();
      await assertAgrees(model, { worlds: [world, world] });
      await world.store.close();
    }),
    { numRuns: 10 },
  );
});
