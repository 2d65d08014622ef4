import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentOptions, Holdfast, type HoldfastOptions, type ModelFunction } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { inDatabase } from './damage-world.ts';

/** A model that is asked and never answers, until `wakes`; and how often it was asked. */
function sleeper(answer: ModelFunction = () => 'answered') {
  const seen = { asked: 0, awake: false };
  const model: ModelFunction = (request) => {
    seen.asked += 1;
    return seen.awake ? answer(request) : sleep(600_000, 'late', { ref: false });
  };
  return { model, seen, wakes: () => void (seen.awake = true) };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(5);
}

async function openedAgain(t: Parameters<typeof openDesk>[0], dataDir: string, options: HoldfastOptions = {}) {
  const holdfast = await Holdfast.open({ ...options, dataDir });
  t.after(() => holdfast.close());
  return holdfast;
}

interface Stored {
  readonly id: string;
  readonly session: string;
  readonly status: string;
  /** What was told of it last. */
  readonly told: string;
}
const STORED = `SELECT trace_id AS id, root_frame_id AS session, status,
  (SELECT kind FROM feed WHERE reference = trace_id ORDER BY seq DESC LIMIT 1) AS told FROM traces ORDER BY trace_id`;

/** The runs of a data folder, the oldest first, as they stand there. */
const stored = (dataDir: string) =>
  inDatabase(dataDir, (db) => db.prepare(STORED).all() as unknown as readonly Stored[]);

/** Closes it while somebody awaits runs of it, who may be too late to read how they stand. */
const closed = (holdfast: Holdfast, ...awaited: readonly Promise<unknown>[]) =>
  Promise.allSettled([holdfast.close(), ...awaited]);

check('a run whose process closes in a turn of its model is let go of, not stopped, and goes on later', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { model, seen, wakes } = sleeper(callsThenDone([{}]));
  const ran = { times: 0 };
  const agent = { name: 'clerk', model, tools: [noteTool({ execute: () => ({ ran: (ran.times += 1) }) })] };
  const begun = holdfast.agent(agent).run('go');
  await until(() => seen.asked === 1);
  await closed(holdfast, begun);
  const [run] = stored(dataDir);
  assert.ok(run);
  assert.deepEqual([run.status, run.told], ['running', 'run.interrupted']);
  wakes();
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(run.id);
  assert.deepEqual([resumed.status, ran.times, seen.asked], ['completed', 1, 3]);
});

/** A run whose process closes, and waits for nothing, while a call of such a tool is under way; and who opens the folder next. */
async function closedInCall(t: Parameters<typeof openDesk>[0], effect: 'read' | 'once') {
  const { holdfast, dataDir } = await openDesk(t, { closeWaitMs: 0 });
  const started = Promise.withResolvers<void>();
  const execute = async (): Promise<{ ok: boolean }> => {
    started.resolve();
    await sleep(50);
    return { ok: true };
  };
  const agent = { name: 'clerk', model: callsThenDone([{}]), tools: [noteTool({ effect, execute })] };
  const begun = holdfast.agent(agent).run('go');
  await started.promise;
  await closed(holdfast, begun);
  const [run] = stored(dataDir);
  assert.ok(run);
  return { run, agent, again: await openedAgain(t, dataDir) };
}

check('what a read came to while its process closed is kept, and the run goes on with it', async (t) => {
  const { run, agent, again } = await closedInCall(t, 'read');
  assert.equal(run.status, 'running');
  const resumed = await again.agent(agent).resume(run.id);
  assert.equal(resumed.status, 'completed');
  assert.match(resumed.text, /FAILED.*The call was cancelled/);
});

check('a write that was under way when its process closed is unknown, and is not sent again', async (t) => {
  const { run, agent, again } = await closedInCall(t, 'once');
  assert.equal(run.status, 'failed');
  const resumed = await again.agent(agent).resume(run.id);
  assert.deepEqual([resumed.status, resumed.view.outcome], ['failed', 'unknown']);
});

check('a run below is let go of with the one above it, and both go on together', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { model, seen, wakes } = sleeper();
  const leads: ModelFunction = ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `up: ${messages.at(-1)?.text ?? ''}`
      : { calls: [{ toolName: 'ask_helper', arguments: { task: 'please' } }] };
  const helper: AgentOptions = { name: 'helper', model, tools: [] };
  const define = (of: Holdfast) => of.agent({ name: 'lead', model: leads, children: [of.agent(helper)] });
  const begun = define(holdfast).run('go');
  await until(() => seen.asked === 1);
  await closed(holdfast, begun);
  const [run] = stored(dataDir);
  assert.ok(run);
  assert.equal(run.status, 'running');
  const again = await openedAgain(t, dataDir);
  const { runs, principal } = again.runtime;
  const states = async () => (await runs.tree(principal, run.id)).map(({ state }) => state.status);
  assert.deepEqual(await states(), ['running', 'running']);
  wakes();
  const resumed = await define(again).resume(run.id);
  assert.match(resumed.text, /answered/);
  assert.deepEqual(await states(), ['completed', 'completed']);
});

check('a run that waits for its session when its process closes begins once somebody resumes it', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { model, seen, wakes } = sleeper();
  const agent = { name: 'clerk', model, tools: [] };
  const clerk = holdfast.agent(agent);
  const first = clerk.run('go');
  await until(() => seen.asked === 1);
  const rootFrameId = stored(dataDir)[0]?.session ?? '';
  const second = clerk.run('and this', { rootFrameId });
  await until(() => stored(dataDir).length === 2);
  await closed(holdfast, first, second);
  const queued = stored(dataDir)[1];
  assert.ok(queued);
  assert.equal(queued.status, 'running');
  wakes();
  const again = await openedAgain(t, dataDir);
  const resumed = await again.agent(agent).resume(queued.id);
  assert.deepEqual([resumed.status, resumed.text], ['completed', 'answered']);
});

check('a run that was asked to stop is stopped, though its process closes', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const { model, seen } = sleeper();
  const begun = holdfast.agent({ name: 'clerk', model, tools: [] }).run('go');
  await until(() => seen.asked === 1);
  // As another process asks for it, of which this one has not heard yet.
  inDatabase(dataDir, (db) => db.exec('UPDATE traces SET stop_requested_at = updated_at'));
  await closed(holdfast, begun);
  const [run] = stored(dataDir);
  assert.deepEqual([run?.status, run?.told], ['stopped', 'run.stopped']);
});
