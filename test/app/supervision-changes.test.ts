import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { requireRequest } from '../../src/approvals/index.ts';
import type { FaultPoint, FaultPoints } from '../../src/core/index.ts';
import { functionModel, type Model } from '../../src/index.ts';
import { newestCheckpoints } from '../../src/sessions/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { authorOf, honestReviewer, openSupervised, type SupervisedWorld } from '../support/supervised-world.ts';

/** Does something the first time that a point is reached; `times` is how often it was. */
function firstAt(wanted: FaultPoint, act: () => void): FaultPoints & { readonly times: () => number } {
  let seen = 0;
  return {
    times: () => seen,
    reach: (point) => {
      if (point === wanted && (seen += 1) === 1) act();
    },
  };
}

const died = (): never => {
  throw new Error('died');
};

async function onlyRun({ holdfast }: SupervisedWorld): Promise<string> {
  const { runs, principal } = holdfast.runtime;
  const { items } = await runs.list(principal, { limit: 10 });
  return items.find((run) => run.parent === null)?.runId ?? '';
}

/** A reviewer under an id of its own, which counts how often it is asked. */
function countingReviewer(id: string, answer: unknown): Model & { readonly asked: () => number } {
  let asked = 0;
  const model = functionModel(() => {
    asked += 1;
    return JSON.stringify(answer);
  }, id);
  return { id, turn: (request) => model.turn(request), asked: () => asked };
}

check('a review that one reviewer began is ended by no other: it is begun anew by whoever reviews now', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const faults = firstAt('auto-review-started', died);
  const dying = await openSupervised({ dataDir, author: authorOf('total 42'), options: { faults } });
  await assert.rejects(dying.agent.run('Write the total.'), /died/);
  await dying.holdfast.close();
  const reviewer = countingReviewer('another', { verdict: 'pass', summary: 'Fine.' });
  const world = await openSupervised({ dataDir, author: authorOf('total 42'), reviewer });
  const run = await world.agent.resume(await onlyRun(world));
  const { autonomy, principal } = world.holdfast.runtime;
  const { review_runs } = await autonomy.exportProjection(principal, run.view.sessionId);
  const [first, second] = review_runs as { status?: string; reviewer?: { model_fingerprint?: string } }[];
  assert.deepEqual([first?.status, second?.status], ['unavailable', 'completed']);
  assert.notEqual(first?.reviewer?.model_fingerprint, second?.reviewer?.model_fingerprint);
  assert.deepEqual([run.supervision?.status, reviewer.asked()], ['verified', 1]);
  await world.holdfast.close();
});

check('advice that one reviewer began is given by no other', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const setting = { dataDir, needsApproval: true };
  const alone = { preset: 'off', resultReviewMode: 'auto_fix' } as const;
  const before = await openSupervised({ ...setting, terms: alone });
  const first = await before.agent.run('Write the total.');
  const { autonomy, approvals, principal, store } = before.holdfast.runtime;
  const [waits] = (await approvals.pending(principal)).items;
  const decisionId = waits?.requestId ?? '';
  const { action } = await store.read('test.request', (tx) => requireRequest(tx, principal, decisionId));
  await autonomy.startAssessment(principal, first.supervision?.autoRunId ?? '', {
    assessmentId: 'advice',
    auditId: 'advice-audit',
    decisionId,
    actionDigest: action.actionDigest,
    policyVersion: 'somebody:1:0',
    key: 'advice:start',
  });
  await before.holdfast.close();
  const other = countingReviewer('other', { outcome: 'allow_once', risk: 'low', summary: 'Harmless.' });
  const terms = { reviewer: { model: honestReviewer() }, permissionReviewer: { model: other } };
  const world = await openSupervised({ ...setting, terms });
  const run = await world.agent.resume(first.id);
  assert.deepEqual([run.supervision?.advice[0]?.status, other.asked()], ['unavailable', 0]);
  assert.equal(run.pending.length, 1);
  await world.holdfast.close();
});

check('a supervisor that is closed over a repair that waits lets it wait', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const setting = { dataDir, needsApproval: true };
  const world = await openSupervised(setting);
  const first = await world.agent.run('Write the total.');
  const repairing = await first.approve(first.pending[0]);
  assert.equal(repairing.supervision?.status, 'repairing');
  const { runs, principal } = world.holdfast.runtime;
  const resumed = await runs.resume(principal, first.id);
  await runs.close();
  await resumed.ended;
  await world.holdfast.close();
  const later = await openSupervised(setting);
  const run = await later.agent.resume(first.id);
  const done = await run.approve(run.pending[0]);
  assert.deepEqual([done.supervision?.status, later.report()], ['verified', 'total 42']);
  await later.holdfast.close();
});

check('a repair after which the workspace cannot be read ends, and so does its run', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const folder = join(dataDir, '..', 'workspace');
  const right = authorOf('total 41', 'total 42');
  let turns = 0;
  const author: Model = {
    id: 'author',
    turn: (request) => {
      turns += 1;
      if (turns === 4) rmSync(folder, { recursive: true });
      return right.turn(request);
    },
  };
  const world = await openSupervised({ dataDir, author });
  const { supervision } = await world.agent.run('Write the total.');
  assert.deepEqual(
    [supervision?.status, supervision?.reason, supervision?.repairs],
    ['review_unavailable', 'WORKSPACE_NOT_A_FOLDER', 1],
  );
  await world.holdfast.close();
});

check('nothing is verified once another may be writing: it is decided anew under the pen', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const loseThePen = (): void => {
    const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
    db.exec('DELETE FROM session_tickets');
    db.close();
  };
  const faults = firstAt('auto-about-to-verify', loseThePen);
  const world = await openSupervised({ dataDir, author: authorOf('total 42'), options: { faults } });
  const { supervision } = await world.agent.run('Write the total.');
  assert.deepEqual([supervision?.status, faults.times()], ['verified', 2]);
  await world.holdfast.close();
});

check('a supervision that is stopped elsewhere while its reviewer answers is told as cancelled', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const seen: { stop: () => Promise<void> } = { stop: async () => undefined };
  const reviewer: Model = {
    id: 'reviewer',
    turn: async function* (request) {
      await seen.stop();
      yield* functionModel(() => JSON.stringify({ verdict: 'pass', summary: 'Fine.' }), 'pass').turn(request);
    },
  };
  const world = await openSupervised({ dataDir, author: authorOf('total 42'), reviewer });
  const elsewhere = await openSupervised({ dataDir, author: authorOf('total 42') });
  seen.stop = async () => {
    const { runs, principal } = elsewhere.holdfast.runtime;
    await runs.stop(principal, await onlyRun(elsewhere));
  };
  const { status, supervision } = await world.agent.run('Write the total.');
  assert.deepEqual([status, supervision?.status], ['completed', 'cancelled']);
  await world.holdfast.close();
  await elsewhere.holdfast.close();
});

check(
  'whoever stops a supervision just as its reviewer has answered is told how it stands, and of no conflict',
  async (t) => {
    const dataDir = join(await temporaryFolder(t), 'data');
    const answer = Promise.withResolvers<void>();
    const reviewed = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const passes = functionModel(() => JSON.stringify({ verdict: 'pass', summary: 'Fine.' }), 'pass');
    const reviewer: Model = {
      id: 'reviewer',
      turn: async function* (request) {
        asked.resolve();
        await answer.promise;
        yield* passes.turn(request);
      },
    };
    const faults = firstAt('auto-review-completed', () => reviewed.resolve());
    const world = await openSupervised({ dataDir, author: authorOf('total 42'), reviewer, options: { faults } });
    const elsewhere = await openSupervised({ dataDir, author: authorOf('total 42') });
    const carried = world.agent.run('Write the total.');
    await asked.promise;
    const { runs, store, principal } = elsewhere.holdfast.runtime;
    const read = store.read.bind(store);
    const late: typeof store.read = async (name, body) => {
      const found = await read(name, body);
      if (name !== 'autonomy.standing') return found;
      answer.resolve();
      await reviewed.promise;
      return found;
    };
    Object.assign(store, { read: late });
    await runs.stop(principal, await onlyRun(elsewhere));
    const { supervision } = await (await carried).refresh();
    assert.match(supervision?.status ?? '', /^(verified|cancelled)$/);
    await world.holdfast.close();
    await elsewhere.holdfast.close();
  },
);

check('a repair that is stopped elsewhere in a call ends with what the call came to', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const elsewhere: { stop?: () => Promise<void>; settled?: Promise<void> } = {};
  let turns = 0;
  const right = authorOf('total 41', 'total 42');
  const author: Model = { id: 'author', turn: (request) => ((turns += 1), right.turn(request)) };
  const beforeWrite = async (): Promise<void> => {
    if (turns === 3) await elsewhere.stop?.();
  };
  const world = await openSupervised({ dataDir, author, beforeWrite });
  const other = await openSupervised({ dataDir });
  const { runs, principal } = other.holdfast.runtime;
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  elsewhere.stop = async () => {
    let isOver = false;
    elsewhere.settled = onlyRun(other)
      .then((runId) => runs.stop(principal, runId))
      .then(() => void (isOver = true));
    const queued = () => db.prepare("SELECT 1 FROM session_tickets WHERE state = 'queued'").get() !== undefined;
    while (!isOver && !queued()) await new Promise((settle) => setTimeout(settle, 10));
  };
  const run = await world.agent.run('Write the total.');
  await elsewhere.settled;
  db.close();
  const { autonomy } = world.holdfast.runtime;
  const view = await autonomy.supervisionOf(principal, (await runs.get(principal, run.id)).place);
  assert.deepEqual([view?.status, view?.repairs, world.report()], ['cancelled', 1, 'total 42']);
  assert.equal((await other.holdfast.runtime.operations.audit()).passed, true);
  await world.holdfast.close();
  await other.holdfast.close();
});

check('who stops a repair stops the supervision: no other repair begins in its place', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const world = await openSupervised({ dataDir, needsApproval: true });
  const first = await world.agent.run('Write the total.');
  await first.approve(first.pending[0]);
  const { runs, principal } = world.holdfast.runtime;
  const repair = (await runs.tree(principal, first.id)).find(({ parent }) => parent !== null);
  await runs.stop(principal, repair?.runId ?? '');
  const { supervision, pending } = await world.agent.resume(first.id);
  assert.deepEqual([supervision?.status, supervision?.repairs, pending.length], ['cancelled', 1, 0]);
  await world.holdfast.close();
});

check('a repair begins from no checkpoint that was taken while another may have been writing', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const folder = join(dataDir, '..', 'workspace');
  let taken = 0;
  const workspaceOf = (): string => {
    const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
    const last = db.prepare('SELECT type FROM auto_mode_events ORDER BY event_cursor DESC LIMIT 1').get();
    if (last?.['type'] === 'auto_audit_completed' && (taken += 1) === 1) db.exec('DELETE FROM session_tickets');
    db.close();
    return folder;
  };
  const options = { workspaceOf };
  const world = await openSupervised({ dataDir, options, terms: { budgets: { max_repair_rounds: 1 } } });
  const { supervision, view } = await world.agent.run('Write the total.');
  const { store, principal } = world.holdfast.runtime;
  const points = await store.read('test.points', (tx) => newestCheckpoints(tx, principal, view.sessionId));
  assert.deepEqual(
    [supervision?.status, points.filter(({ reason }) => reason === 'before a repair').length],
    ['verified', 1],
  );
  assert.equal(taken, 3, 'twice for the checkpoint, once to verify');
  await world.holdfast.close();
});
