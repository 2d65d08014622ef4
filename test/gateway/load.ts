import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayRefusal, type HoldfastClient } from '../../src/client/index.ts';
import { systemClock } from '../../src/core/index.ts';
import type { ModelFunction } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import type { Ending } from '../support/index.ts';
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
 * So many clients decide and read at once. Each request is decided by two of them, one to approve and one to reject:
 * exactly one must be heard, and exactly what was approved must be done, once.
 */
export async function load(t: Ending, { clients: many, decisions, callsPerRun }: LoadOptions): Promise<LoadReport> {
  const notes: string[] = [];
  const tool = noteTool({ needsApproval: true, execute: ({ note }) => ({ kept: notes.push(note) }) });
  const world = await openWorld(t, { model: manyNotes(callsPerRun), tools: [tool] });
  const agent = await world.client(['agent']);
  const clients: HoldfastClient[] = [];
  for (let i = 0; i < many; i += 1) clients.push(await world.client(['approver'], { subject: `approver-${i}` }));
  const runs: string[] = [];
  for (let i = 0; i < Math.ceil(decisions / callsPerRun); i += 1)
    runs.push((await agent.startRun({ task: `task-${i}` })).run_id);
  const waiting: string[] = [];
  for (const runId of runs) waiting.push(...(await untilIn(agent, runId, ['waiting_confirmation'])).pending);
  const faults: string[] = [];
  const times: number[] = [];
  const approved: string[] = [];
  const tasks = waiting.slice(0, decisions).flatMap((id) => [[id, 'approve'] as const, [id, 'reject'] as const]);
  const heard = new Map<string, number>();
  const decideNext = async (client: HoldfastClient): Promise<void> => {
    for (let task = tasks.shift(); task; task = tasks.shift()) {
      const [id, decision] = task;
      try {
        const { digest, canonical_arguments: text } = await client.showApproval(id);
        const began = systemClock.nowMs();
        const said = await client.decide(id, { decision, digest }).finally(() => {
          times.push(systemClock.nowMs() - began);
        });
        heard.set(id, (heard.get(id) ?? 0) + 1);
        if (said.request.status === 'allowed' || said.request.status === 'used')
          approved.push((JSON.parse(text) as { note: string }).note);
        if (tasks.length % 7 === 0) await client.listApprovals({ limit: 20 });
      } catch (error) {
        const isSecond = error instanceof GatewayRefusal && error.code === 'APPROVAL_ALREADY_DECIDED';
        if (!isSecond) faults.push(`${decision} ${id}: ${String(error)}`);
      }
    }
  };
  await Promise.all(clients.map(decideNext));
  for (const id of waiting.slice(0, decisions))
    if (heard.get(id) !== 1) faults.push(`${id} was decided ${heard.get(id) ?? 0} times`);
  for (const runId of runs) {
    const run = await untilIn(agent, runId, ['completed', 'failed', 'stopped']);
    if (run.status !== 'completed') faults.push(`a run is ${run.status}: ${run.reason}`);
  }
  const done = notes.toSorted().join('\n');
  if (done !== approved.toSorted().join('\n'))
    faults.push(`${notes.length} notes were taken for ${approved.length} approvals`);
  return { faults, times: times.toSorted((a, b) => a - b), approved: approved.length };
}

async function untilIn(client: HoldfastClient, runId: string, statuses: readonly string[]) {
  for (;;) {
    const run = await client.showRun(runId);
    if (statuses.includes(run.status)) return run;
    if (run.status === 'failed') throw new Error(run.reason);
    await sleep(50);
  }
}
