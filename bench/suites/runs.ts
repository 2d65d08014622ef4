import { execFile, spawn } from 'node:child_process';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Holdfast, type ModelFunction, tool } from '../../src/index.ts';
import { builtProgram } from '../../scripts/installed.ts';
import { median } from '../measure.ts';
import type { BenchSuite } from '../suite.ts';

const DECIDER = join(import.meta.dirname, '..', '..', 'test', 'runs', 'decider.ts');
const WAITER = join(import.meta.dirname, '..', 'children', 'waiting-runs.ts');
const WAITING = 1000;
const WAITERS = 7;
/** The young generation has its largest size from the start, and code is made without threads. */
const STEADY = ['--min-semi-space-size=16', '--max-semi-space-size=16', '--no-concurrent-recompilation'];
const PICKED_UP = 100;
const INTERRUPTED = 1000;
const FINISHED = 100_000;

const calls: ModelFunction = ({ messages }) =>
  messages.some((message) => message.role === 'assistant')
    ? 'done'
    : { calls: [{ callId: 'c1', toolName: 'note', arguments: {} }] };

/** A runtime whose agent asks a person for its one call; `onRun` hears when the tool is run. */
async function runtimeWith(dataDir: string, onRun: () => void) {
  const holdfast = await Holdfast.open({ dataDir });
  const note = tool({
    name: 'note',
    description: 'Notes.',
    inputSchema: {
      type: 'object',
      properties: {},
      additionalProperties: false,
    },
    effect: 'idempotent',
    needsApproval: true,
    execute: () => onRun(),
  });
  return { holdfast, agent: holdfast.agent({ model: calls, tools: [note] }) };
}

/**
 * Megabytes that so many waiting runs add to an idle process. Each time in a process of its own, since what the engine
 * does with its young generation differs from one to the next; `flags` say which megabytes.
 */
async function memoryOfWaiting(
  folder: string,
  times: number,
  program: string,
  flags: readonly string[] = [],
): Promise<number[]> {
  const added: number[] = [];
  for (let i = 0; i < times; i += 1) {
    const dataDir = join(folder, `waiting-${basename(program)}${flags.join('')}-${i}`);
    const args = [...flags, program, dataDir, String(WAITING)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    added.push((JSON.parse(stdout) as { readonly added: number }).added);
  }
  return added;
}

/** Milliseconds from a decision that is durable in another process to the tool being run here, each. */
async function pickUps(folder: string): Promise<readonly number[]> {
  const dataDir = join(folder, 'decided');
  const ran: number[] = [];
  const { holdfast, agent } = await runtimeWith(dataDir, () => void ran.push(Date.now()));
  const runs = await Promise.all(Array.from({ length: PICKED_UP }, () => agent.run('go')));
  const ended = Promise.all(runs.map((run) => run.wait()));
  const child = spawn(process.execPath, [DECIDER, dataDir, 'approve', '60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const decided: number[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    decided.push((JSON.parse(line) as { readonly at: number }).at);
  });
  await ended;
  await holdfast.close();
  return decided.map((at, i) => (ran[i] ?? at) - at);
}

const COPY = `INSERT INTO traces (trace_id, tenant_id, project_id, mode, task, model, agent, context, status,
  root_frame_id, branch_id, turn_id, subject_id, roles, owner_instance_id, parent_trace_id, parent_call, created_at,
  updated_at, finished_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
SELECT ? || printf('%024d', i), tenant_id, project_id, mode, task, model, agent, context, ?, root_frame_id, branch_id,
  turn_id, subject_id, roles, ?, trace_id, ? || i, created_at, updated_at, ?
FROM n, (SELECT * FROM traces WHERE root_frame_id IS NOT NULL AND parent_trace_id IS NULL LIMIT 1)`;

/** Milliseconds to let go of the interrupted runs among so many finished ones. */
async function reconciling(folder: string): Promise<number> {
  const { holdfast, agent } = await runtimeWith(join(folder, 'many'), () => undefined);
  await (await agent.run('go')).stop();
  const { store, runs } = holdfast.runtime;
  const fill = (count: number, prefix: string, status: string, owner: string | null, finished: number | null) =>
    store.write('bench.fill', (tx) => tx.run(COPY, [BigInt(count), prefix, status, owner, prefix, finished]));
  for (let i = 0; i < 10; i += 1) await fill(FINISHED / 10, `f000000${i}`, 'completed', null, 1);
  await fill(INTERRUPTED, 'b0000000', 'running', 'a dead instance', null);
  const started = performance.now();
  const released = await runs.reconcile();
  const took = performance.now() - started;
  if (released.length !== INTERRUPTED) throw new Error(`${released.length} runs were let go of`);
  await holdfast.close();
  return took;
}

export const runsSuite: BenchSuite = {
  name: 'runs',
  async run(folder) {
    const resident = await memoryOfWaiting(folder, WAITERS, WAITER);
    const installed = await memoryOfWaiting(folder, WAITERS, builtProgram(WAITER));
    const kept = median(await memoryOfWaiting(folder, 3, WAITER, ['--expose-gc']));
    const steady = median(await memoryOfWaiting(folder, 3, WAITER, STEADY));
    const picked = median(await pickUps(folder));
    const reconciled = await reconciling(folder);
    const rows = [
      {
        what: `${WAITING} waiting runs add, resident, p50`,
        value: `${median(resident).toFixed(1)} MB`,
        note: `must be under 60; of ${WAITERS} processes the most ${Math.max(...resident).toFixed(1)}`,
      },
      {
        what: `${WAITING} waiting runs add to the package as installed, p50`,
        value: `${median(installed).toFixed(1)} MB`,
        note: `must be under 60; of ${WAITERS} processes the most ${Math.max(...installed).toFixed(1)}`,
      },
      {
        what: `${WAITING} waiting runs add where the young generation does not grow`,
        value: `${steady.toFixed(1)} MB`,
        note: 'resident; the rest of the rows above is what the engine takes for its garbage and its compilers',
      },
      {
        what: `${WAITING} waiting runs keep after a collection`,
        value: `${kept.toFixed(1)} MB`,
        note: `${((kept * 1024) / WAITING).toFixed(1)} KB each`,
      },
      {
        what: 'a decision elsewhere reaches its run, p50',
        value: `${picked.toFixed(0)} ms`,
        note: 'must be under 50',
      },
      {
        what: `${INTERRUPTED} interrupted among ${FINISHED} finished`,
        value: `${(reconciled / 1000).toFixed(2)} s`,
        note: 'must be under 5',
      },
    ];
    const runs = {
      waiting_1000_mb: Number(median(resident).toFixed(1)),
      waiting_1000_mb_most: Number(Math.max(...resident).toFixed(1)),
      waiting_1000_installed_mb: Number(median(installed).toFixed(1)),
      waiting_1000_installed_mb_most: Number(Math.max(...installed).toFixed(1)),
      waiting_1000_steady_mb: Number(steady.toFixed(1)),
      waiting_1000_kept_mb: Number(kept.toFixed(1)),
      pick_up_p50_ms: picked,
      reconcile_ms: Math.round(reconciled),
    };
    return { rows, figures: { peers: { runs } } };
  },
};
