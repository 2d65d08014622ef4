import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import type { ApprovalBatch } from '../../../src/approvals/index.ts';
import type { FunctionReply, ModelFunction } from '../../../src/models/index.ts';
import {
  AgentRunner,
  type AgentRunnerOptions,
  fileRunHome,
  type RunConfig,
  runConfig,
  type RunHome,
} from '../../../src/runs/index.ts';
import { tool, ToolRegistry } from '../../../src/tools/index.ts';
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
