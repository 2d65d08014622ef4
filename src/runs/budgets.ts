import { fail, type JsonObject, LIMITS } from '../core/index.ts';
import type { ModelMessage, ModelReply } from '../models/index.ts';
import type { ReadTx } from '../store/index.ts';
import { loadSnapshot } from './config/snapshot.ts';
import type { RunBudgets } from './config/model.ts';
import type { Driving, RunsContext } from './context.ts';
import type { RunRecord } from './model.ts';
import { priceOf } from './price.ts';
import * as sql from './run-queries.ts';
import { requireRun } from './run-store.ts';

/** Why a run may not have another turn, with the code that says so, and how long the next one may take. */
export type Allowance = { readonly allowed: true; readonly withinMs: number } | ({ readonly allowed: false } & Refusal);

export interface Refusal {
  readonly code: 'RUN_BUDGET_USED_UP' | 'RUN_CONFIG_INVALID';
  readonly reason: string;
}

/**
 * What the budgets of a run, and of every run above it, leave for one more turn. A run's spending is its own and that
 * of all runs below it. Waiting counts as wall time. What an agent without a price would spend cannot be held to a budget of
 * cost: it spends nothing under one.
 */
export async function allowanceOf(context: RunsContext, { run, agent }: Driving): Promise<Allowance> {
  const { store, clock } = context.calls;
  let withinMs: number = LIMITS.modelTurnMs;
  for (let at: RunRecord | null = run, depth = 0; at !== null; depth += 1) {
    if (depth > LIMITS.runDepth) throw fail('RUN_RECORD_BROKEN', 'The runs above a run do not come to an end.');
    const own = depth === 0;
    const budgets: RunBudgets = own ? agent.budgets : budgetsOf(at.context);
    const { runId, principal, createdAt }: RunRecord = at;
    const used = await store.read('runs.spent', (tx) => spentBy(tx, principal.tenant, runId));
    const leftMs = budgets.maxWallMs === null ? withinMs : budgets.maxWallMs - (clock.nowMs() - createdAt);
    const whose = own ? 'The run' : 'A run above this one';
    const what = overspent(budgets, used, leftMs);
    if (what !== null) return { allowed: false, code: 'RUN_BUDGET_USED_UP', reason: `${whose} has used ${what}.` };
    if (budgets.maxCostMicros !== null && agent.costOf === null)
      return { allowed: false, code: 'RUN_CONFIG_INVALID', reason: `${whose} ${unpriced(agent)}` };
    withinMs = Math.min(withinMs, leftMs);
    const parent: string | undefined = at.parent?.runId;
    at = parent === undefined ? null : await store.read('runs.parent', (tx) => requireRun(tx, principal, parent));
  }
  return { allowed: true, withinMs };
}

const unpriced = ({ name }: Driving['agent']): string =>
  `has a budget of cost, and the agent ${name} has no price function (costOf): what its turns cost cannot be told.`;

const budgetsOf = (context: JsonObject): RunBudgets => loadSnapshot(context).config.budgets;

interface Spent {
  readonly tokens: number;
  readonly micros: number;
}

async function spentBy(tx: ReadTx, tenant: string, runId: string): Promise<Spent> {
  const row = await tx.get(sql.SPENT_BY_TREE, [runId, tenant]);
  return { tokens: Number(row?.['tokens'] ?? 0), micros: Math.round(Number(row?.['cost'] ?? 0) * 1_000_000) };
}

function overspent(budgets: RunBudgets, used: Spent, leftMs: number): string | null {
  const { maxTokens, maxCostMicros, maxWallMs } = budgets;
  if (maxTokens !== null && used.tokens >= maxTokens) return `its budget of ${maxTokens} tokens`;
  if (maxCostMicros !== null && used.micros >= maxCostMicros) return `its budget of ${maxCostMicros} millionths`;
  if (maxWallMs !== null && leftMs <= 0) return `its budget of ${maxWallMs} ms`;
  return null;
}

/** What one reply counts as. A provider that does not count gets a token for every four characters, rounded up. */
export function usageOf(
  { agent }: Pick<Driving, 'agent'>,
  asked: readonly ModelMessage[],
  reply: ModelReply,
): { readonly promptTokens: number; readonly completionTokens: number; readonly cost: number } {
  const promptTokens = reply.usage.inputTokens ?? estimatedTokens(asked);
  const completionTokens = reply.usage.outputTokens ?? estimatedTokens([{ role: 'assistant', ...reply }]);
  const counted = { inputTokens: promptTokens, outputTokens: completionTokens };
  const micros = agent.costOf === null ? 0 : priceOf(agent.costOf, counted);
  return { promptTokens, completionTokens, cost: micros / 1_000_000 };
}

export const CHARACTERS_PER_TOKEN = 4;

/** A rough count, from the lengths of texts alone: the same for the same messages. */
export function estimatedTokens(messages: readonly ModelMessage[]): number {
  const characters = messages.reduce((sum, message) => {
    const { calls, parts = [] } = message.role === 'assistant' ? message : { calls: [] };
    const reasoned = parts.reduce((more, part) => more + (part.type === 'reasoning' ? part.text.length : 0), 0);
    return (
      sum + message.text.length + reasoned + calls.reduce((more, { argumentsText }) => more + argumentsText.length, 0)
    );
  }, 0);
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
