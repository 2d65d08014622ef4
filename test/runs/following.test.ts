import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { fail } from '../../src/core/index.ts';
import type { Holdfast } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';

const node = (program: string, ...args: string[]) =>
  promisify(execFile)(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, program), ...args],
    { timeout: 60_000, killSignal: 'SIGKILL' },
  );
const decideElsewhere = (dataDir: string) => node('decider.ts', dataDir, 'approve');

const asking = () => ({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });

async function untilEnded({ runtime }: Holdfast, runId: string) {
  for (let i = 0; i < 400; i += 1) {
    const { state } = await runtime.runs.get(runtime.principal, runId);
    if (state.status !== 'running' && state.status !== 'waiting_confirmation') return state;
    await sleep(25);
  }
  throw new Error('the run did not end');
}

check(
  'a process that follows carries on what another decides, a child below included, and nobody awaits it',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const child = holdfast.agent({ ...asking(), name: 'helper' });
    const model = callsThenDone([{ name: 'ask_helper' }]);
    const lead = holdfast.agent({
      name: 'lead',
      children: [child],
      model: async (request) => {
        const reply = await model(request);
        if (typeof reply === 'string' || !reply.calls) return reply;
        return { calls: reply.calls.map((call) => ({ ...call, arguments: { task: 'x' } })) };
      },
    });
    const heard: string[] = [];
    await holdfast.carryOnDecided({ listener: { onOutcome: (_id, tool) => void heard.push(tool) } });
    await holdfast.carryOnDecided();
    const run = await lead.run('go');
    const alone = await child.run('go');
    await decideElsewhere(dataDir);
    assert.equal((await untilEnded(holdfast, run.id)).status, 'completed');
    assert.equal((await untilEnded(holdfast, alone.id)).status, 'completed');
    assert.ok(heard.includes('ask_helper') && heard.includes('take_note'));
  },
);

check(
  'what was decided while nobody was there is carried on by a process that follows; what waits, waits',
  async (t) => {
    const { holdfast, dataDir } = await openDesk(t);
    const agent = holdfast.agent(asking());
    const decided = await agent.run('go');
    const { approvals, principal } = holdfast.runtime;
    const [request] = decided.pending;
    assert.ok(request);
    await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
    const waits = await agent.run('go');
    await holdfast.close();
    const { holdfast: next } = await openDesk(t, { dataDir });
    next.agent(asking());
    await next.carryOnDecided();
    assert.equal((await untilEnded(next, decided.id)).status, 'completed');
    await sleep(100);
    assert.equal((await next.runtime.runs.get(principal, waits.id)).state.status, 'waiting_confirmation');
  },
);

check('of two processes that follow one has the run; a run of an unknown agent is left alone', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  let ran = 0;
  const counting = () => ({ ...asking(), tools: [noteTool({ needsApproval: true, execute: () => (ran += 1) })] });
  const { holdfast: other } = await openDesk(t, { dataDir });
  const agent = holdfast.agent(counting());
  other.agent(counting());
  const strange = await holdfast.agent({ ...counting(), name: 'strange', tools: [] }).run('go');
  assert.equal(strange.status, 'completed', 'a call of a tool that it has not is refused');
  const { holdfast: unknowing } = await openDesk(t, { dataDir });
  const told: unknown[] = [];
  for (const one of [holdfast, other, unknowing])
    await one.carryOnDecided({ onError: (_runId, error) => void told.push(error) });
  const run = await agent.run('go');
  await decideElsewhere(dataDir);
  assert.equal((await untilEnded(holdfast, run.id)).status, 'completed');
  await sleep(100);
  assert.equal(ran, 1);
  assert.deepEqual(told, []);
});

check('a decided run that a busy store kept from its turn is carried on once the store is free', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { store } = holdfast.runtime;
  const agent = holdfast.agent(asking());
  const write = store.write.bind(store);
  const read = store.read.bind(store);
  const busy = (): Promise<never> => Promise.reject(fail('STORE_BUSY', 'Another process has it.'));
  const told: string[] = [];
  await holdfast.carryOnDecided({ onError: (_runId, error) => void told.push((error as { code: string }).code) });
  for (const failing of ['runs.take', 'runs.waiting']) {
    const run = await agent.run('go');
    let left = 1;
    const once = (name: string): boolean => name === failing && left-- > 0;
    Object.assign(store, {
      write: (name: string, body: never) => (once(name) ? busy() : write(name, body)),
      read: (name: string, body: never) => (once(name) ? busy() : read(name, body)),
    });
    await decideElsewhere(dataDir);
    assert.equal((await untilEnded(holdfast, run.id)).status, 'completed', failing);
  }
  assert.deepEqual(told, ['STORE_BUSY', 'STORE_BUSY']);
});

check('where the store fails as a process begins to follow, nothing is followed, and it can begin again', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { runs, store } = holdfast.runtime;
  const agent = holdfast.agent(asking());
  const read = store.read.bind(store);
  for (const failing of ['runs.news', 'runs.waiting']) {
    Object.assign(store, {
      read: (name: string, body: never) =>
        name === failing ? Promise.reject(fail('STORE_IO', 'No disk.')) : read(name, body),
    });
    await assert.rejects(holdfast.carryOnDecided(), { code: 'STORE_IO' });
    assert.equal(runs.isFollowing, false);
  }
  Object.assign(store, { read });
  const run = await agent.run('go');
  await decideElsewhere(dataDir);
  await holdfast.carryOnDecided();
  assert.equal((await untilEnded(holdfast, run.id)).status, 'completed');
  const next = await agent.run('go on');
  await decideElsewhere(dataDir);
  assert.equal((await untilEnded(holdfast, next.id)).status, 'completed');
});

check('what a followed run meets is told, and the run is nobody’s, to be resumed', async (t) => {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent(asking()).run('go');
  const { runs, principal, approvals, store } = holdfast.runtime;
  const told: unknown[] = [];
  await holdfast.carryOnDecided({ onError: (_runId, error) => void told.push(error) });
  const write = store.write.bind(store);
  Object.assign(store, {
    write: (name: string, body: never) =>
      name === 'calls.begin' ? Promise.reject(fail('STORE_IO', 'No disk.')) : write(name, body),
  });
  const [request] = run.pending;
  assert.ok(request);
  await approvals.decide(principal, [{ requestId: request.requestId, digest: request.digest, decision: 'approve' }]);
  for (let i = 0; i < 200 && told.length === 0; i += 1) await sleep(25);
  Object.assign(store, { write });
  // Nothing but a decision carries it on: it is left to people, though it could go on now.
  await sleep(200);
  assert.equal((told[0] as { code?: string }).code, 'STORE_IO');
  const { state } = await runs.get(principal, run.id);
  assert.deepEqual(state, { status: 'running', ownerInstanceId: null });
  await run.resume();
  assert.equal(run.status, 'completed');
});

check('two that await one run are both told, and a process that awaits one stays until it has ended', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const run = await holdfast.agent(asking()).run('go');
  const both = [run.wait(), run.wait()];
  await decideElsewhere(dataDir);
  assert.deepEqual(
    (await Promise.all(both)).map(({ status }) => status),
    ['completed', 'completed'],
  );
  const { stdout } = await node('awaiting-program.ts', dataDir);
  assert.equal(stdout, 'completed');
});

check('a process that closes while it begins to await a run ends, and the run waits on in the store', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  // Killed, and so red, where something still keeps it.
  const { stdout } = await node('closing-program.ts', dataDir);
  assert.equal(stdout, 'closed');
  const { holdfast } = await openDesk(t, { dataDir });
  const { items } = await holdfast.runtime.runs.list(holdfast.runtime.principal, { limit: 5 });
  assert.deepEqual(
    items.map(({ state }) => state.status),
    ['waiting_confirmation'],
  );
});
