import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, LIMITS } from '../../src/core/index.ts';
import type { Holdfast, ModelFunction, Run } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { SlowModel } from './slow-model.ts';

const BOUND = LIMITS.runsCarriedOnAtOnce;

async function approve({ runtime: { approvals, principal } }: Holdfast, run: Run): Promise<void> {
  const [request] = run.pending;
  assert.ok(request);
  const { requestId, digest } = request;
  await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
}

async function statuses({ runtime }: Holdfast): Promise<Record<string, string>> {
  const { items } = await runtime.runs.list(runtime.principal, { limit: 200 });
  return Object.fromEntries(items.map(({ task, state }) => [task, state.status]));
}

async function until(holdfast: Holdfast, status: string, count: number): Promise<readonly string[]> {
  for (let i = 0; ; i += 1) {
    const found = Object.entries(await statuses(holdfast)).filter((one) => one[1] === status);
    if (found.length >= count || i === 400) return found.map(([task]) => task);
    await sleep(25);
  }
}

const tasks = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `task ${String(i).padStart(2, '0')}`);

/** Runs that wait, in the order of their tasks. */
async function waiting(holdfast: Holdfast, model: SlowModel, count: number, ran: string[] = []): Promise<Run[]> {
  const execute = ({ note }: { readonly note: string }) => ran.push(note);
  const agent = holdfast.agent({ model: model.turn, tools: [noteTool({ needsApproval: true, execute })] });
  const runs: Run[] = [];
  for (const task of tasks(count)) runs.push(await agent.run(task));
  return runs;
}

check(
  'as many decided runs as the bound go on at once, the others after them in their order, and none is lost',
  async (t) => {
    const { holdfast } = await openDesk(t);
    const model = new SlowModel();
    const ran: string[] = [];
    const runs = await waiting(holdfast, model, BOUND + 8, ran);
    await holdfast.carryOnDecided();
    for (const run of runs) await approve(holdfast, run);
    await model.untilBegun(BOUND);
    assert.deepEqual(model.begun.toSorted(), tasks(BOUND));
    assert.equal(model.now, BOUND);
    for (let i = 1; i <= 4; i += 1) {
      model.letOneGo();
      await model.untilBegun(BOUND + i);
    }
    assert.deepEqual(model.begun.slice(BOUND), tasks(BOUND + 4).slice(BOUND));
    model.letGo();
    assert.deepEqual((await until(holdfast, 'completed', BOUND + 8)).toSorted(), tasks(BOUND + 8));
    assert.equal(model.most, BOUND);
    assert.deepEqual(ran.toSorted(), tasks(BOUND + 8), 'each once');
  },
);

check('a run that cannot be carried on gives its place to the next', async (t) => {
  const { holdfast } = await openDesk(t);
  const { store } = holdfast.runtime;
  const model = new SlowModel();
  const runs = await waiting(holdfast, model, BOUND + 2);
  const told: unknown[] = [];
  await holdfast.carryOnDecided({ onError: (_runId, error) => void told.push(error) });
  const write = store.write.bind(store);
  let left = BOUND;
  Object.assign(store, {
    write: (name: string, body: never) =>
      name === 'calls.begin' && (left -= 1) >= 0 ? Promise.reject(fail('STORE_IO', 'No disk.')) : write(name, body),
  });
  for (const run of runs) await approve(holdfast, run);
  model.letGo();
  assert.equal((await until(holdfast, 'completed', 2)).length, 2);
  assert.deepEqual([told.length, (told[0] as { code?: string }).code], [BOUND, 'STORE_IO']);
});

check('what is queued when a process closes waits in the store, and the next one carries it on', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { holdfast } = await openDesk(t, { dataDir });
  const model = new SlowModel();
  const ran: string[] = [];
  const runs = await waiting(holdfast, model, BOUND + 5, ran);
  await holdfast.carryOnDecided();
  for (const run of runs) await approve(holdfast, run);
  await model.untilBegun(BOUND);
  await holdfast.close();
  assert.equal(model.begun.length, BOUND);
  const { holdfast: next } = await openDesk(t, { dataDir });
  const late = tasks(BOUND + 5).slice(BOUND);
  assert.deepEqual(await until(next, 'waiting_confirmation', 5).then((found) => found.toSorted()), late);
  const quick = new SlowModel();
  quick.letGo();
  const execute = ({ note }: { readonly note: string }) => ran.push(note);
  next.agent({ model: quick.turn, tools: [noteTool({ needsApproval: true, execute })] });
  await next.carryOnDecided();
  assert.deepEqual((await until(next, 'completed', 5)).toSorted(), late);
  assert.deepEqual(ran.toSorted(), tasks(BOUND + 5), 'each once');
});

check('those that were decided before are carried on in the order in which they began', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { holdfast } = await openDesk(t, { dataDir });
  for (const run of (await waiting(holdfast, new SlowModel(), BOUND + 3)).toReversed()) await approve(holdfast, run);
  await holdfast.close();
  const { holdfast: next } = await openDesk(t, { dataDir });
  const model = new SlowModel();
  next.agent({ model: model.turn, tools: [noteTool({ needsApproval: true })] });
  await next.carryOnDecided();
  await model.untilBegun(BOUND);
  assert.deepEqual(model.begun.toSorted(), tasks(BOUND));
  model.letGo();
  assert.equal((await until(next, 'completed', BOUND + 3)).length, BOUND + 3);
});

check('a run that is decided while it is still on its way to its stand goes on all the same', async (t) => {
  const { holdfast } = await openDesk(t);
  const { store, approvals, principal } = holdfast.runtime;
  const model = new SlowModel();
  model.letGo();
  const agent = holdfast.agent({ model: model.turn, tools: [noteTool({ needsApproval: true })] });
  await holdfast.carryOnDecided();
  const write = store.write.bind(store);
  // The run waits in the store already, and this process has not yet let go of it.
  Object.assign(store, {
    write: async (name: string, body: never) => {
      if (name === 'sessions.release') await sleep(400);
      return write(name, body);
    },
  });
  const started = agent.run('go');
  for (let i = 0; i < 200; i += 1) {
    const [request] = (await approvals.pending(principal)).items;
    await sleep(10);
    if (!request) continue;
    await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
    break;
  }
  await started;
  assert.deepEqual(await until(holdfast, 'completed', 1), ['go']);
});

check('a run has one place, however many runs below it are decided at once', async (t) => {
  const { holdfast } = await openDesk(t);
  const { approvals, principal } = holdfast.runtime;
  const shared = noteTool({ needsApproval: true });
  const below = holdfast.agent({ name: 'helper', model: callsThenDone([{}]), tools: [shared] });
  const model = new SlowModel();
  const count = LIMITS.runParallelCalls;
  const asks = Array.from({ length: count }, (_, i) => ({
    callId: `c${i}`,
    toolName: 'ask_helper',
    arguments: { task: `part ${i}` },
  }));
  const turn: ModelFunction = (request) => (request.messages.length === 1 ? { calls: asks } : model.turn(request));
  const many = { childMode: 'parallel', maxParallelChildren: count } as const;
  const lead = await holdfast.agent({ name: 'lead', model: turn, children: [below], ...many }).run('lead');
  assert.equal(lead.pending.length, count);
  const agent = holdfast.agent({ name: 'alone', model: model.turn, tools: [shared] });
  const runs: Run[] = [];
  for (const task of tasks(BOUND - 1)) runs.push(await agent.run(task));
  await holdfast.carryOnDecided();
  await approvals.decide(
    principal,
    lead.pending.map(({ requestId, digest }) => ({ requestId, digest, decision: 'approve' })),
  );
  for (const run of runs) await approve(holdfast, run);
  await model.untilBegun(BOUND);
  assert.deepEqual(model.begun.toSorted(), ['lead', ...tasks(BOUND - 1)].toSorted());
  model.letGo();
  assert.equal((await until(holdfast, 'completed', BOUND + count)).length, BOUND + count);
});
