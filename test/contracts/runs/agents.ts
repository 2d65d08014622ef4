import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import type { ApprovalBatch } from '../../../src/approvals/index.ts';
import { systemClock } from '../../../src/core/index.ts';
import type { FunctionReply, ModelFunction } from '../../../src/models/index.ts';
import {
  AgentRunner,
  type AgentRunnerOptions,
  fileRunHome,
  newMessage,
  type RunConfig,
  runConfig,
  type RunHome,
  type TraceMessage,
  type TraceStore,
} from '../../../src/runs/index.ts';
import { type Tool, tool, ToolRegistry } from '../../../src/tools/index.ts';
import { assert, temporaryFolder } from '../../support/index.ts';
import { QUIET } from './config-fixtures.ts';

export type SideEffect = readonly (string | number)[];

/** A tool that a person must allow and may edit in part, and one that needs nobody; both tell what they did. */
export function writingTools(told: (effect: SideEffect) => void): ToolRegistry {
  const registry = new ToolRegistry();
  registry.register(
    tool({
      name: 'dangerous_tool',
      description: 'Does what cannot be undone.',
      inputSchema: z.object({ value: z.number().int(), fixed: z.string().default('fixed') }),
      effect: 'once',
      needsApproval: true,
      editable: ['value'],
      groups: ['tests'],
      execute({ value, fixed }) {
        told(['dangerous', value, fixed]);
        return { value };
      },
    }),
  );
  registry.register(
    tool({
      name: 'safe_tool',
      description: 'Does something harmless.',
      inputSchema: z.object({ label: z.string() }),
      effect: 'idempotent',
      needsApproval: false,
      groups: ['tests'],
      execute({ label }) {
        told(['safe', label]);
        return 'safe';
      },
    }),
  );
  return registry;
}

export const DANGER = {
  callId: 'danger-1',
  toolName: 'dangerous_tool',
  arguments: { value: 1, fixed: 'fixed' },
} as const;
export const SAFE = { callId: 'safe-1', toolName: 'safe_tool', arguments: { label: 'after-approval' } } as const;

/** Answers with the scripted replies in order, then with `done` for ever. */
export function scripted(...replies: readonly FunctionReply[]): ModelFunction & { readonly prompts: unknown[] } {
  const left = [...replies];
  const prompts: unknown[] = [];
  const answer: ModelFunction = async ({ messages }) => {
    prompts.push(messages);
    return left.shift() ?? 'done';
  };
  return Object.assign(answer, { prompts });
}

export const TOOLS: RunConfig = runConfig({
  model: 'fake',
  tools: ['dangerous_tool', 'safe_tool'],
  knowledge: QUIET,
  context: { agent_mode: 'legacy', agent_mode_revision: 1 },
});

/** A runner on a folder of its own, with the model of the contracts: two calls first, `done` afterwards. */
export interface Desk {
  readonly home: ReturnType<typeof fileRunHome>;
  readonly runner: AgentRunner;
  readonly effects: SideEffect[];
  readonly folder: string;
  /** Another runner on the same folder, as a later process would make one. */
  again(options?: Partial<AgentRunnerOptions>): AgentRunner;
}

export async function desk(
  t: TestContext,
  given: { readonly model?: ModelFunction; readonly home?: (own: RunHome) => RunHome } = {},
): Promise<Desk> {
  const folder = join(await temporaryFolder(t), 'traces');
  const home = fileRunHome({ folder });
  const effects: SideEffect[] = [];
  const tools = writingTools((effect) => effects.push(effect));
  const model = given.model ?? scripted({ calls: [DANGER, SAFE] });
  const again = (options: Partial<AgentRunnerOptions> = {}): AgentRunner => {
    const runner = new AgentRunner({ home: given.home?.(home) ?? home, tools, model, ...options });
    t.after(() => runner.close());
    return runner;
  };
  return { home, runner: again(), effects, folder, again };
}

export interface Waiting extends Desk {
  readonly traceId: string;
  readonly batch: ApprovalBatch;
}

/** The waiting batch from which most contracts begin. */
export async function waitingDesk(t: TestContext, given: Parameters<typeof desk>[1] = {}): Promise<Waiting> {
  const made = await desk(t, given);
  const { traceId } = await made.runner.run([{ role: 'user', content: 'run tools' }], TOOLS);
  const batch = await batchOf(made, traceId);
  return { ...made, traceId, batch };
}

export async function batchOf({ home }: Pick<Desk, 'home'>, traceId: string): Promise<ApprovalBatch> {
  const batch = await home.batches.get(traceId);
  assert.ok(batch);
  return batch;
}

export const statusOf = async ({ home }: Pick<Desk, 'home'>, traceId: string): Promise<string | undefined> =>
  (await home.traces.getTrace(traceId))?.status;

/** A batch with one call changed, as a stop between two writes leaves it. */
export function withCall(
  batch: ApprovalBatch,
  status: ApprovalBatch['status'],
  change: Partial<ApprovalBatch['calls'][number]>,
  toolCallId = 'danger-1',
): ApprovalBatch {
  const calls = batch.calls.map((call) => (call.toolCallId === toolCallId ? { ...call, ...change } : call));
  return { ...batch, status, calls };
}

export const APPROVE = [{ toolCallId: 'danger-1', decision: 'approve' }] as const;
export const REJECT = [{ toolCallId: 'danger-1', decision: 'reject' }] as const;
export const BOTH: readonly SideEffect[] = [
  ['dangerous', 1, 'fixed'],
  ['safe', 'after-approval'],
];

export const REVIEW = 'orphaned-review-approval';

/** The tool of the orphaned call; `told` hears of each time that it is carried out. */
export const reviewTool = (told: (childTraceId: string) => unknown): Tool =>
  tool({
    name: 'review_task_result',
    description: 'review',
    inputSchema: z.object({ child_trace_id: z.string() }),
    effect: 'once',
    execute: ({ child_trace_id }) => told(child_trace_id),
  });

/** A trace whose last message asks for a review that has neither a result nor a batch. */
export async function orphaned(t: Parameters<typeof desk>[0]) {
  const executed: string[] = [];
  const tools = new ToolRegistry();
  tools.register(reviewTool((childTraceId) => executed.push(childTraceId)));
  const at = await desk(t);
  await at.home.traces.createTrace({ traceId: REVIEW, mode: 'agent', uid: 'user-1', context: {} });
  const call = { name: 'review_task_result', arguments: JSON.stringify({ child_trace_id: 'child-1' }) };
  const content = { text: '', tool_calls: [{ id: 'orphaned-review-call', type: 'function', function: call }] };
  const reply = newMessage({ traceId: REVIEW, role: 'assistant', sequence: 1, content }, systemClock);
  await at.home.traces.addMessage(reply);
  await at.home.traces.updateTrace(REVIEW, { headSequence: 1, lastSequence: 1 });
  const config = runConfig({ autoExecuteTools: false, tools: ['review_task_result'] });
  const runner = at.again({ tools });
  return { ...at, runner, executed, heal: () => runner.healOrphanedCalls(REVIEW, config) };
}

/** A home whose store cannot keep the results of tools. */
export const withoutResults = (own: RunHome): RunHome => ({ ...own, traces: decorated(own.traces) });

function decorated(traces: TraceStore): TraceStore {
  const addMessage = async (message: TraceMessage): Promise<void> => {
    if (message.role === 'tool') throw Object.assign(new Error('injected'), { code: 'EIO', syscall: 'write' });
    return traces.addMessage(message);
  };
  return new Proxy(traces, {
    get(target, key) {
      if (key === 'addMessage') return addMessage;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
