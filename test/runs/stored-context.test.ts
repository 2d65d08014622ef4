import { createHook } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentOptions, ModelFunction } from '../../src/index.ts';
import type { ModelSettings } from '../../src/models/index.ts';
import { loadSnapshot } from '../../src/runs/index.ts';
import { assert, check } from '../support/index.ts';
import { noteTool, openDesk } from '../calls/desk.ts';

const asking: ModelFunction = () => ({ calls: [{ callId: 'c', toolName: 'take_note', arguments: { note: 'x' } }] });
const plain = (more: Partial<AgentOptions> = {}): AgentOptions => ({
  model: asking,
  tools: [noteTool({ needsApproval: true })],
  ...more,
});

check('runs of one agent share what was read of their context, and nobody can change it', async (t) => {
  const { holdfast } = await openDesk(t);
  const agent = holdfast.agent(plain());
  const { runs, principal } = holdfast.runtime;
  const [one, other] = [await agent.run('go'), await agent.run('go on')];
  const { context } = await runs.get(principal, one.id);
  assert.equal((await runs.get(principal, other.id)).context, context);
  const snapshot = context['run_config_snapshot'] as { tools: string[] };
  assert.throws(() => snapshot.tools.push('launch'), TypeError);
  const proven = loadSnapshot(context);
  assert.equal(proven, loadSnapshot(context));
  assert.throws(() => Object.assign(proven.config, { maxIterations: 999 }), TypeError);
  assert.throws(() => Object.assign(proven.config.budgets, { maxTokens: null }), TypeError);
  assert.throws(() => (proven.config.tools as string[]).push('launch'), TypeError);
});

check('a context that is edited in the store after it was read is refused, each time it is looked at', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal, store } = holdfast.runtime;
  const agent = holdfast.agent(plain());
  const run = await agent.run('go');
  const setContext = (sql: string) =>
    store.write('test.edit', (tx) => tx.run(`UPDATE traces SET context = ${sql} WHERE trace_id = ?`, [run.id]));
  await runs.get(principal, run.id);
  await setContext(`json_set(context, '$.run_config_snapshot.max_iterations', 999)`);
  for (let i = 0; i < 2; i += 1) await assert.rejects(agent.resume(run.id), { code: 'RUN_SNAPSHOT_CORRUPT' });
  await setContext(`context || ' '`);
  for (let i = 0; i < 2; i += 1) await assert.rejects(runs.get(principal, run.id), { code: 'JSON_NOT_CANONICAL' });
  await setContext(`'[]'`);
  for (let i = 0; i < 2; i += 1) await assert.rejects(runs.get(principal, run.id), { code: 'RUN_RECORD_BROKEN' });
});

check('what is known of a context that somebody made is not kept: it may have been changed since', async (t) => {
  const { holdfast } = await openDesk(t);
  const run = await holdfast.agent(plain()).run('go');
  const { context } = await holdfast.runtime.runs.get(holdfast.runtime.principal, run.id);
  const made = structuredClone(context);
  loadSnapshot(made);
  Object.assign(made['run_config_snapshot'] as object, { max_iterations: 999 });
  assert.throws(() => loadSnapshot(made), { code: 'RUN_SNAPSHOT_CORRUPT' });
});

check('more contexts than are kept, and one longer than is kept, are read as they stand', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal, projectId } = holdfast.runtime;
  holdfast.agent(plain({ model: () => 'done' }));
  const started = [];
  for (let i = 0; i < 70; i += 1) {
    const own = { number: i, ...(i === 3 ? { long: 'x'.repeat(20_000) } : {}) };
    started.push(await runs.start(principal, 'agent', { task: 'go', projectId, context: own }));
  }
  for (const { ended } of started) await ended;
  for (const [i, { runId }] of started.entries()) assert.equal((await runs.get(principal, runId)).context['number'], i);
});

check('an agent whose settings are changed in place is frozen as it is when a run begins', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runs, principal } = holdfast.runtime;
  const settings: ModelSettings = { temperature: 0 };
  const setTo = (temperature: number | undefined) => void Object.assign(settings, { temperature });
  const agent = holdfast.agent(plain({ settings }));
  const temperatures: unknown[] = [];
  for (const temperature of [0, 0.5, 0.5, undefined]) {
    setTo(temperature);
    const { context } = await runs.get(principal, (await agent.run('go')).id);
    temperatures.push(loadSnapshot(context).config.temperature);
  }
  assert.deepEqual(temperatures, [0, 0.5, 0.5, null]);
  // As JSON this would be no temperature.
  setTo(Number.NaN);
  await assert.rejects(agent.run('go'), { code: 'RUN_CONFIG_INVALID' });
});

check('runs that wait keep no timer of their turns: how many there are does not grow with them', async (t) => {
  const { holdfast } = await openDesk(t);
  const agent = holdfast.agent(plain());
  const timers = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: (id) => void timers.delete(id),
  }).enable();
  t.after(() => hook.disable());
  const runs = await Promise.all(Array.from({ length: 20 }, () => agent.run('go')));
  for (const run of runs) void run.wait();
  await sleep(100);
  assert.ok(timers.size <= 3, `${timers.size} timers`);
});
