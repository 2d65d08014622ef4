import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/core/index.ts';
import { runConfig } from '../../../src/runs/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { finished, startChild } from '../../faults/runs/children.ts';
import {
  APPROVE,
  batchOf,
  BOTH,
  desk,
  orphaned,
  REVIEW,
  type SideEffect,
  statusOf,
  type Waiting,
  waitingDesk,
  withCall,
} from './agents.ts';

const CHILD = join(import.meta.dirname, '..', '..', 'faults', 'runs', 'agent-child.ts');

type Test = Parameters<typeof waitingDesk>[0];

interface Answer {
  readonly status?: string;
  readonly code?: string;
  readonly http?: number;
  readonly message?: string;
  readonly waiting?: readonly string[];
  readonly started?: readonly string[];
  readonly unknown?: readonly string[];
  readonly spared?: readonly string[];
}

/** Lets another process do something with the run, and waits for its end. */
const other = (t: Test, at: Waiting, action: string): Promise<Answer> =>
  order(t, at.folder, [at.traceId, at.batch.batchId, action]);

async function order(t: Test, folder: string, args: readonly string[]): Promise<Answer> {
  const child = startChild(t, CHILD, [folder, ...args]);
  const { lines } = await finished(child);
  return JSON.parse(lines[0] ?? '{}') as Answer;
}

const heal = (t: Test, at: Pick<Waiting, 'folder'>): Promise<Answer> => order(t, at.folder, [REVIEW, '', 'heal']);

/** What the tools of other processes did, in order. */
function effectsElsewhere({ folder }: { readonly folder: string }): readonly SideEffect[] {
  const path = join(folder, '..', 'effects.log');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line) as SideEffect);
}

contract('RUN-41 RUN-43 RUN-44 RUN-46', 'another process approves with an edit and carries the run out', async (t) => {
  const at = await waitingDesk(t);
  assert.equal((await other(t, at, 'edit')).status, 'started');
  assert.deepEqual(effectsElsewhere(at), [
    ['dangerous', 9, 'fixed'],
    ['safe', 'after-approval'],
  ]);
  assert.equal((await batchOf(at, at.traceId)).status, 'completed');
  assert.equal(await statusOf(at, at.traceId), 'completed');
  assert.deepEqual(at.effects, []);
});

contract('RUN-47 RUN-48 RUN-49', 'another process rejects; an approval here is then a conflict', async (t) => {
  const at = await waitingDesk(t);
  await other(t, at, 'reject');
  assert.deepEqual(effectsElsewhere(at), [['safe', 'after-approval']]);
  const batch = await batchOf(at, at.traceId);
  assert.equal(batch.calls.find((call) => call.toolCallId === 'danger-1')?.executionStatus, 'rejected');
  await assert.rejects(at.runner.decide(at.traceId, at.batch.batchId, APPROVE), { httpStatus: 409 });
});

contract('RUN-50 RUN-51 RUN-53', 'a forbidden edit from another process changes nothing', async (t) => {
  const at = await waitingDesk(t);
  assert.equal((await other(t, at, 'tamper')).http, 422);
  assert.deepEqual(await batchOf(at, at.traceId), at.batch);
  assert.equal(at.batch.status, 'pending');
  assert.deepEqual(effectsElsewhere(at), []);
});

contract(
  'RUN-45 RUN-52',
  'every call that another process carried out is executed; one that it may not edit is pending',
  async (t) => {
    const edited = await waitingDesk(t);
    await other(t, edited, 'edit');
    assert.ok((await batchOf(edited, edited.traceId)).calls.every((call) => call.executionStatus === 'executed'));
    const tampered = await waitingDesk(t);
    await other(t, tampered, 'tamper');
    assert.equal((await batchOf(tampered, tampered.traceId)).calls[0]?.decision, 'pending');
  },
);

contract(
  'RUN-58',
  'another process finds a batch whose arguments were edited behind it, and runs nothing',
  async (t) => {
    const at = await waitingDesk(t);
    const path = join(at.folder, at.traceId, 'tool_approvals.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"value":1', '"value":2'));
    assert.match((await other(t, at, 'approve')).code ?? '', /CORRUPT/);
    assert.deepEqual(effectsElsewhere(at), []);
  },
);

contract('RUN-62', 'the error that another process writes down says that the outcome is unknown', async (t) => {
  const at = await waitingDesk(t);
  const executing = withCall(at.batch, 'executing', { decision: 'approved', executionStatus: 'executing' });
  await at.home.batches.replace(at.traceId, executing);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  await other(t, at, 'reconcile');
  assert.match((await at.home.traces.getTrace(at.traceId))?.errorMessage ?? '', /unknown/);
});

contract('RUN-71 RUN-72 RUN-73 RUN-74', 'another process puts an orphaned call back to a person', async (t) => {
  const at = await orphaned(t);
  const healed = await heal(t, at);
  assert.match(healed.message ?? '', /restored to persistent approval/);
  assert.equal((await batchOf(at, REVIEW)).status, 'pending');
  assert.equal(await statusOf(at, REVIEW), 'waiting_confirmation');
  assert.deepEqual(effectsElsewhere(at), []);
});

contract(
  'RUN-75 RUN-76 RUN-77',
  'another process finds an orphaned call that may have started, and never runs it',
  async (t) => {
    const at = await orphaned(t);
    await heal(t, at);
    const change = { decision: 'approved', executionStatus: 'executing' } as const;
    await at.home.batches.replace(
      REVIEW,
      withCall(await batchOf(at, REVIEW), 'executing', change, 'orphaned-review-call'),
    );
    await at.home.traces.updateTrace(REVIEW, { status: 'running' });
    assert.match((await heal(t, at)).message ?? '', /outcome is unknown/);
    assert.equal((await batchOf(at, REVIEW)).status, 'execution_unknown');
    assert.deepEqual(effectsElsewhere(at), []);
  },
);

contract(
  'RUN-78 RUN-79 RUN-80 RUN-81',
  'another process cannot store a result: unknown at once, told here',
  async (t) => {
    const at = await waitingDesk(t);
    assert.equal((await other(t, at, 'approve-without-results')).status, 'started');
    assert.equal((await batchOf(at, at.traceId)).status, 'execution_unknown');
    assert.equal(await statusOf(at, at.traceId), 'failed');
    assert.deepEqual(effectsElsewhere(at), [['dangerous', 1, 'fixed']]);
    assert.deepEqual((await at.again().reconcile()).unknown, []);
  },
);

contract('RUN-54 RUN-55 RUN-56 RUN-57', 'another process may not run what waits, and may stop it', async (t) => {
  const at = await waitingDesk(t);
  assert.equal((await other(t, at, 'run')).http, 409);
  assert.equal((await other(t, at, 'stop')).status, 'stopping');
  assert.equal(await statusOf(at, at.traceId), 'stopped');
  assert.equal((await batchOf(at, at.traceId)).status, 'cancelled');
  await assert.rejects(at.runner.decide(at.traceId, at.batch.batchId, APPROVE), { httpStatus: 409 });
});

contract(
  'RUN-59 RUN-60 RUN-61 RUN-63',
  'another process finds a call that was under way, and repeats nothing',
  async (t) => {
    const at = await waitingDesk(t);
    const executing = withCall(at.batch, 'executing', { decision: 'approved', executionStatus: 'executing' });
    await at.home.batches.replace(at.traceId, executing);
    await at.home.traces.updateTrace(at.traceId, { status: 'running' });
    assert.deepEqual((await other(t, at, 'reconcile')).unknown, [at.traceId]);
    const batch = await batchOf(at, at.traceId);
    assert.equal(batch.status, 'execution_unknown');
    assert.equal(batch.calls[0]?.executionStatus, 'execution_unknown');
    assert.equal(await statusOf(at, at.traceId), 'failed');
    assert.deepEqual(effectsElsewhere(at), []);
  },
);

contract('RUN-64 RUN-65 RUN-66', 'another process puts a stored batch back to waiting', async (t) => {
  const at = await waitingDesk(t);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  assert.deepEqual((await other(t, at, 'reconcile')).waiting, [at.traceId]);
  assert.equal(await statusOf(at, at.traceId), 'waiting_confirmation');
  assert.equal((await batchOf(at, at.traceId)).status, 'pending');
  assert.deepEqual(effectsElsewhere(at), []);
});

contract('RUN-67 RUN-68 RUN-69 RUN-70', 'another process goes on with a decided batch', async (t) => {
  const at = await waitingDesk(t);
  const decided = withCall(at.batch, 'decided', { decision: 'approved', decidedAt: systemClock.nowMs() });
  await at.home.batches.replace(at.traceId, decided);
  await at.home.traces.updateTrace(at.traceId, { status: 'running' });
  assert.deepEqual((await other(t, at, 'reconcile')).started, [at.traceId]);
  assert.equal((await batchOf(at, at.traceId)).status, 'completed');
  assert.equal(await statusOf(at, at.traceId), 'completed');
  assert.deepEqual(effectsElsewhere(at), BOTH);
});

check('what a living process executes is spared; once it was killed the outcome is unknown', async (t) => {
  const at = await waitingDesk(t);
  const child = startChild(t, CHILD, [at.folder, at.traceId, at.batch.batchId, 'approve-and-hang']);
  await new Promise<void>((executing) => {
    let told = '';
    child.stdout?.on('data', (part: Buffer) => {
      told += part.toString();
      if (told.includes('"executing"')) executing();
    });
  });
  const here = at.again();
  assert.deepEqual((await here.reconcile()).spared, [at.traceId]);
  assert.equal((await batchOf(at, at.traceId)).status, 'executing');
  child.kill('SIGKILL');
  await finished(child);
  assert.deepEqual((await here.reconcile()).unknown, [at.traceId]);
  assert.equal((await batchOf(at, at.traceId)).status, 'execution_unknown');
  assert.equal(await statusOf(at, at.traceId), 'failed');
  assert.deepEqual(effectsElsewhere(at), [['dangerous', 1, 'fixed']]);
  assert.deepEqual(at.effects, []);
});

/** The crash windows of an approved run, by the number of the replaced file before which the process dies. */
const WINDOWS = [
  [1, 'the decision is not stored', 'waiting'],
  [2, 'decided, and the run not marked as running', 'started'],
  [3, 'decided, and nothing started', 'started'],
  [4, 'executing, and no result stored', 'unknown'],
  [5, 'a result without its event', 'started'],
  [7, 'a result, and the call not marked as executed', 'started'],
  [8, 'between two calls', 'started'],
  [12, 'the last result, and the batch not completed', 'interrupted'],
  [13, 'a completed batch, and the reply of the model not stored', 'interrupted'],
  [16, 'the last reply, and the run not marked as completed', 'interrupted'],
] as const;

for (const [dieAt, window, expected] of WINDOWS)
  check(`killed in the window '${window}': nothing runs twice, nothing unapproved, all is told`, async (t) => {
    const at = await waitingDesk(t);
    const child = startChild(t, CHILD, [at.folder, at.traceId, at.batch.batchId, 'approve', String(dieAt)]);
    assert.equal((await finished(child)).signal, 'SIGKILL');
    const here = at.again();
    const report = await here.reconcile();
    assert.deepEqual(report[expected], [at.traceId]);
    await here.running.get(at.traceId);
    if (expected === 'waiting') await here.decide(at.traceId, at.batch.batchId, APPROVE);
    await here.running.get(at.traceId);
    if (expected === 'interrupted') await here.run([], runConfig({ traceId: at.traceId }));
    const all = [...effectsElsewhere(at), ...at.effects];
    assert.deepEqual(all, expected === 'unknown' ? BOTH.slice(0, 1) : BOTH);
    assert.equal(await statusOf(at, at.traceId), expected === 'unknown' ? 'failed' : 'completed');
    const { totalMessages } = (await at.home.traces.getTrace(at.traceId)) ?? {};
    assert.equal((await at.home.traces.getEvents(at.traceId)).length, totalMessages);
  });

check('a run that a process started waits there and is carried on here', async (t) => {
  const at = await desk(t);
  const child = startChild(t, CHILD, [at.folder, 'from-elsewhere', '', 'start']);
  assert.equal((JSON.parse((await finished(child)).lines[0] ?? '') as Answer).status, 'waiting_confirmation');
  const batch = await batchOf(at, 'from-elsewhere');
  const here = at.again({ model: () => 'done' });
  await here.decide('from-elsewhere', batch.batchId, APPROVE);
  await here.running.get('from-elsewhere');
  assert.deepEqual(at.effects, BOTH);
  assert.equal(await statusOf(at, 'from-elsewhere'), 'completed');
});
