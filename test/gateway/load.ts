import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HoldfastClient } from '../../src/client/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import type { Ending } from '../support/index.ts';
import type { LoadSeen, LoadWork } from './load-clients.ts';
import { openWorld } from './world.ts';

export interface LoadOptions {
  readonly clients: number;
  readonly decisions: number;
  readonly callsPerRun: number;
}

export interface LoadReport {
  /** What went wrong, one a line. */
  readonly faults: readonly string[];
  /** Milliseconds of each decision, in order of size. */
  readonly times: readonly number[];
  readonly approved: number;
  /** What one decision, with what is read around it, costs the gateway's process. Milliseconds of processor time. */
  readonly cpuMs: number;
}

/** A model that asks for so many notes at once, each its own, and then is done. */
function manyNotes(calls: number): ModelFunction {
  return ({ messages }) => {
    if (messages.some(({ role }) => role === 'tool')) return 'done';
    const task = messages.find(({ role }) => role === 'user')?.text ?? '';
    return {
      calls: Array.from({ length: calls }, (_, i) => ({
        callId: `call-${i}`,
        toolName: 'take_note',
        arguments: { note: `${task}/${i}` },
      })),
    };
  };
}

/**
 * So many clients, in a process of their own, decide and read at once. Each request is decided by two of them, one to
 * approve and one to reject: exactly one must be heard, and exactly what was approved must be done, once.
 */
export async function load(t: Ending, { clients: many, decisions, callsPerRun }: LoadOptions): Promise<LoadReport> {
  const notes: string[] = [];
  const tool = noteTool({ needsApproval: true, execute: ({ note }) => ({ kept: notes.push(note) }) });
  const world = await openWorld(t, { model: manyNotes(callsPerRun), tools: [tool] });
  const agent = await world.client(['agent']);
  const tokens: string[] = [];
  for (let i = 0; i < many; i += 1) tokens.push(await world.token(['approver'], { subject: `approver-${i}` }));
  const runs: string[] = [];
  for (let i = 0; i < Math.ceil(decisions / callsPerRun); i += 1)
    runs.push((await agent.startRun({ task: `task-${i}` })).run_id);
  const waiting: string[] = [];
  for (const runId of runs) waiting.push(...(await untilIn(agent, runId, ['waiting_confirmation'])).pending);
  const asked = waiting.slice(0, decisions);
  // The one that is sent first is mostly the one that is heard: each kind is first for half of the requests.
  const tasks = asked.flatMap((id, i) => {
    const [approve, reject] = [[id, 'approve'] as const, [id, 'reject'] as const];
    return i % 2 === 0 ? [approve, reject] : [reject, approve];
  });
  const before = process.cpuUsage();
  const seen = await clientsDo(t, { url: world.url, tokens, tasks });
  const { user, system } = process.cpuUsage(before);
  const faults = [...seen.faults];
  const heard = Map.groupBy(seen.heard, (id) => id);
  for (const id of asked) {
    const times = heard.get(id)?.length ?? 0;
    if (times !== 1) faults.push(`${id} was decided ${times} times`);
  }
  for (const runId of runs) {
    const run = await untilIn(agent, runId, ['completed', 'failed', 'stopped']);
    if (run.status !== 'completed') faults.push(`a run is ${run.status}: ${run.reason}`);
  }
  if (notes.toSorted().join('\n') !== seen.approved.toSorted().join('\n'))
    faults.push(`${notes.length} notes were taken for ${seen.approved.length} approvals`);
  const times = seen.times.toSorted((a, b) => a - b);
  return { faults, times, approved: seen.approved.length, cpuMs: (user + system) / 1000 / tasks.length };
}

/** The value below which a share of sorted times lies. */
export const percentile = (times: readonly number[], share: number): number =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

function clientsDo(t: Ending, work: LoadWork): Promise<LoadSeen> {
  const child = fork(join(import.meta.dirname, 'load-clients.ts'), { execArgv: [] });
  t.after(() => void child.kill('SIGKILL'));
  return new Promise((settle, refuse) => {
    child.once('message', (seen) => settle(seen as LoadSeen));
    child.once('error', refuse);
    child.once('exit', (code) => refuse(new Error(`the clients ended with ${code}`)));
    child.send(work);
  });
}

async function untilIn(client: HoldfastClient, runId: string, statuses: readonly string[]) {
  for (;;) {
    const run = await client.showRun(runId);
    if (statuses.includes(run.status)) return run;
    if (run.status === 'failed') throw new Error(run.reason);
    await sleep(50);
  }
}
