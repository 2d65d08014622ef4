import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, type HoldfastOptions, type ToolCallContext } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check, manualClock } from '../support/index.ts';
import { inDatabase } from './damage-world.ts';

type Test = Parameters<typeof openDesk>[0];

interface Desk {
  /** The signal of each invocation, the first first. */
  readonly began: AbortSignal[];
  /** Settles once so many have begun. */
  readonly begun: (times: number) => Promise<void>;
}

/** What a tool does with its call: `began` has seen it. */
function watched(answer: (call: ToolCallContext) => Promise<unknown>) {
  const began: AbortSignal[] = [];
  const execute = (_input: unknown, call: ToolCallContext): Promise<never> => {
    began.push(call.signal);
    return answer(call) as Promise<never>;
  };
  const begun = async (times: number): Promise<void> => {
    while (began.length < times) await sleep(2);
  };
  return { execute, began, begun } satisfies Desk & { execute: unknown };
}

const answersAfter = (ms: number) => () => sleep(ms, { ok: true });
const never = () => new Promise<never>(() => undefined);

interface Stood {
  readonly id: string;
  readonly status: string;
  readonly told: string;
}
const STOOD = `SELECT trace_id AS id, status,
  (SELECT kind FROM feed WHERE reference = trace_id ORDER BY seq DESC LIMIT 1) AS told FROM traces ORDER BY trace_id`;
const stood = (dataDir: string) => inDatabase(dataDir, (db) => db.prepare(STOOD).all() as unknown as readonly Stood[]);

async function openedAgain(t: Test, dataDir: string, options: HoldfastOptions = {}) {
  const holdfast = await Holdfast.open({ ...options, dataDir });
  t.after(() => holdfast.close());
  return holdfast;
}

/** How long closing took, while somebody awaited these, who may be too late to read how they stand. */
async function closed(holdfast: Holdfast, ...awaited: readonly Promise<unknown>[]): Promise<number> {
  const began = performance.now();
  const [closing] = await Promise.allSettled([holdfast.close(), ...awaited]);
  assert.equal(closing?.status, 'fulfilled');
  return performance.now() - began;
}

/** Far less than the time that is given to calls under way. */
const SOON_MS = 4_000;

check('a call that answers after its process was asked to close is done, and resuming runs it no more', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began, begun } = watched(answersAfter(300));
  const agent = { name: 'clerk', model: callsThenDone([{ note: 'a' }, { note: 'b' }]), tools: [noteTool({ execute })] };
  const run = holdfast.agent(agent).run('go');
  await begun(1);
  const took = await closed(holdfast, run);
  assert.ok(took > 200 && took < SOON_MS, `it took ${took} ms`);
  assert.deepEqual([began.length, began[0]?.aborted], [1, false]);
  const [one] = stood(dataDir);
  assert.deepEqual([one?.status, one?.told], ['running', 'run.interrupted']);
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(one?.id ?? '');
  assert.deepEqual([resumed.status, began.length], ['completed', 2]);
  assert.deepEqual(
    resumed.view.calls.map(({ outcome }) => outcome?.state),
    ['done', 'done'],
  );
});

check('a call that never answers is cancelled once its process has waited long enough, and is unknown', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 200 });
  const { execute, began, begun } = watched(never);
  const agent = { name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ execute })] };
  const run = holdfast.agent(agent).run('go');
  await begun(1);
  const took = await closed(holdfast, run);
  assert.ok(took >= 190 && took < SOON_MS, `it took ${took} ms`);
  assert.equal(began[0]?.aborted, true);
  const [one] = stood(dataDir);
  assert.equal(one?.status, 'failed');
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(one.id);
  assert.deepEqual([resumed.status, resumed.view.outcome, began.length], ['failed', 'unknown', 1]);
});

check('calls side by side end together, each as it answers', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 400 });
  const { execute, begun } = watched(() => ((turn += 1) === 1 ? sleep(100, { ok: true }) : never()));
  let turn = 0;
  const tools = [noteTool({ execute, parallel: true })];
  const agent = { name: 'clerk', model: callsThenDone([{ note: 'a' }, { note: 'b' }]), tools };
  const run = holdfast.agent(agent).run('go');
  await begun(2);
  await closed(holdfast, run);
  const again = await openedAgain(t, dataDir);
  const { view } = await again.agent(agent).resume(stood(dataDir)[0]?.id ?? '');
  assert.deepEqual(
    view.calls.map(({ outcome }) => outcome?.state),
    ['done', 'unknown'],
  );
});

check('a run below ends its call too, and both go on together', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began, begun } = watched(answersAfter(200));
  const define = (of: Holdfast) => {
    const helper = of.agent({ name: 'helper', model: callsThenDone([{}]), tools: [noteTool({ execute })] });
    const lead = { name: 'lead', children: [helper] };
    return of.agent({
      ...lead,
      model: ({ messages }) =>
        messages.at(-1)?.role === 'tool'
          ? `up: ${messages.at(-1)?.text ?? ''}`
          : { calls: [{ toolName: 'ask_helper', arguments: { task: 'please' } }] },
    });
  };
  const run = define(holdfast).run('go');
  await begun(1);
  await closed(holdfast, run);
  assert.equal(began[0]?.aborted, false);
  assert.deepEqual(
    stood(dataDir).map(({ status }) => status),
    ['running', 'running'],
  );
  const again = await openedAgain(t, dataDir);
  const resumed = await define(again).resume(stood(dataDir)[0]?.id ?? '');
  assert.match(resumed.text, /up: .*told: .*ok/);
  assert.equal(began.length, 1);
});

check('a call that its tool declares to be tried again is not, once its process closes', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began, begun } = watched(async () => {
    await sleep(100);
    throw new Error('not now');
  });
  const tools = [noteTool({ effect: 'idempotent', execute, retry: { most: 5, pauseMs: 10 } })];
  const run = holdfast.agent({ name: 'clerk', model: callsThenDone([{}]), tools }).run('go');
  await begun(1);
  await closed(holdfast, run);
  assert.equal(began.length, 1);
  assert.equal(stood(dataDir)[0]?.status, 'failed');
});

check('a run that is stopped while its process closes has its call cancelled at once', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 10_000 });
  const { execute, began, begun } = watched(never);
  const run = holdfast.agent({ name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ execute })] }).run('go');
  await begun(1);
  const [one] = stood(dataDir);
  const closing = closed(holdfast, run);
  await sleep(50);
  assert.equal(began[0]?.aborted, false);
  // As another process asks for it, of which this one hears soon.
  inDatabase(dataDir, (db) => db.exec('UPDATE traces SET stop_requested_at = updated_at'));
  assert.ok((await closing) < SOON_MS);
  assert.equal(began[0]?.aborted, true);
  assert.equal(stood(dataDir)[0]?.id, one?.id);
});

check('nothing begins once a process closes: no run, no call; and closing twice is closing once', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began, begun } = watched(answersAfter(300));
  const model = callsThenDone([{}]);
  const tools = [noteTool({ execute })];
  const agent = holdfast.agent({ name: 'clerk', model, tools });
  const careful = holdfast.agent({ name: 'careful', model, tools, askForEach: true });
  const waiting = await careful.run('go');
  const run = agent.run('go');
  await begun(1);
  const closing = closed(holdfast, run);
  const other = holdfast.close();
  await assert.rejects(agent.run('and this'), { code: 'INSTANCE_ENDED' });
  await assert.rejects(careful.resume(waiting.id), { code: 'INSTANCE_ENDED' });
  await Promise.all([closing, other]);
  assert.deepEqual(
    [began.length, ...stood(dataDir).map(({ status }) => status)],
    [1, 'waiting_confirmation', 'running'],
  );
});

check('a call that had not begun when its process closed is begun by whoever resumes its run', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began } = watched(answersAfter(1));
  let closing: Promise<unknown> | undefined;
  const listener = { onStarted: () => void (closing ??= holdfast.close()) };
  const agent = { name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ execute })] };
  await Promise.allSettled([holdfast.agent({ ...agent, listener }).run('go')]);
  await closing;
  assert.deepEqual([began.length, stood(dataDir)[0]?.status], [0, 'running']);
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(stood(dataDir)[0]?.id ?? '');
  assert.deepEqual([resumed.status, began.length, resumed.view.calls[0]?.outcome?.state], ['completed', 1, 'done']);
});

check('a call whose beginning waits for the store when its process closes is not begun either', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began } = watched(answersAfter(1));
  let closing: Promise<unknown> | undefined;
  // Asked after the run was last seen to go on, and before the call is written down.
  const authorize = () => {
    if ((asked += 1) === 2) closing = holdfast.close();
    return true;
  };
  let asked = 0;
  const agent = { name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ execute, authorize })] };
  await Promise.allSettled([holdfast.agent(agent).run('go')]);
  assert.ok(closing, 'it was closed in between');
  await closing;
  assert.deepEqual([began.length, stood(dataDir)[0]?.status], [0, 'running']);
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(stood(dataDir)[0]?.id ?? '');
  assert.deepEqual([resumed.status, began.length], ['completed', 1]);
});

check('a process in which only approvals wait is closed at once, and they wait on', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, began } = watched(answersAfter(1));
  const agent = { name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ execute, needsApproval: true })] };
  const run = await holdfast.agent(agent).run('go');
  void run.wait();
  assert.ok((await closed(holdfast)) < SOON_MS);
  assert.equal(stood(dataDir)[0]?.status, 'waiting_confirmation');
  const again = await openedAgain(t, dataDir);
  const waiting = await again.agent(agent).resume(run.id);
  await waiting.approve(waiting.pending[0] ?? assert.fail('nothing waits'));
  assert.deepEqual([(await waiting.wait()).status, began.length], ['completed', 1]);
});

check('a call that may be sent again is not, where its process closes before that is written down', async (t) => {
  const clock = manualClock(Date.now());
  const { holdfast, dataDir } = await openDesk(t, { clock, instanceLeaseMs: 600_000, closeWaitMs: 60_000 });
  const { execute, began } = watched(() => Promise.reject(new Error('the line broke')));
  let asked = 0;
  let closing: Promise<unknown> | undefined;
  const authorize = () => {
    if ((asked += 1) === 3) closing = holdfast.close();
    return true;
  };
  const tools = [noteTool({ effect: 'idempotent', execute, authorize })];
  const agent = holdfast.agent({ name: 'clerk', model: callsThenDone([{}]), tools });
  const run = await agent.run('go');
  clock.advance(60_000);
  await Promise.allSettled([agent.resume(run.id)]);
  assert.ok(closing, 'it was closed in between');
  await closing;
  assert.deepEqual([began.length, stood(dataDir)[0]?.status], [1, 'failed']);
});

check('a run that is being begun when its process closes asks no model, and is there for others', async (t) => {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 60_000 });
  const { execute, begun } = watched(answersAfter(300));
  const first = holdfast.agent({ name: 'first', model: callsThenDone([{}]), tools: [noteTool({ execute })] }).run('go');
  await begun(1);
  let asked = 0;
  const agent = { name: 'clerk', model: () => `asked ${(asked += 1)}`, tools: [] };
  const run = holdfast.agent(agent).run('go');
  await closed(holdfast, first, run);
  assert.equal(asked, 0);
  const again = await openedAgain(t, dataDir);
  const { id = '', told } = stood(dataDir)[1] ?? {};
  assert.equal(told, 'run.interrupted');
  assert.equal((await again.agent(agent).resume(id)).text, 'asked 1');
});
