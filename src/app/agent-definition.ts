import { checkOptions, fail, LIMITS, listOption, requireText, shapeOf } from '../core/index.ts';
import { asModel } from '../models/index.ts';
import type { Agent, RunBudgets } from '../runs/index.ts';
import { AgentHandle } from './agent.ts';
import type { AgentOptions } from './holdfast.ts';
import { AGENT_OPTIONS } from './option-shapes.ts';

const DEFAULT_MAX_TURNS = 50;
const DEFAULT_RETRIES = 3;
const DEFAULT_PAUSE_MS = 500;
const DEFAULT_PARALLEL_CHILDREN = 4;
const DEFAULT_SIDE_BRANCH_TURNS = 5;

const SHAPES = {
  optional: {
    ...AGENT_OPTIONS.optional,
    children: listOption(shapeOf('an agent that `agent({...})` returned', (one) => one instanceof AgentHandle)),
  },
};

/** What the user wrote, checked and complete. Throws INVALID_VALUE, MODEL_INVALID. */
export function agentOf(options: AgentOptions): Agent {
  checkOptions('agent', options, SHAPES);
  const { name = 'agent', tools = [], children = [], costOf = null } = options;
  const { retries = {}, compactAboveTokens = null } = options;
  requireText('the agent’s name', name, LIMITS.toolNameCodePoints);
  const budgets = budgetsOf(options.budgets ?? {});
  if (budgets.maxCostMicros !== null && costOf === null)
    throw fail('INVALID_VALUE', 'A budget of cost (maxCostMicros) needs a price function (costOf).');
  if (compactAboveTokens !== null) whole('compactAboveTokens', compactAboveTokens, 1, Number.MAX_SAFE_INTEGER);
  return {
    name,
    model: asModel(options.model),
    instructions: options.instructions ?? null,
    allowed: new Set([...tools, ...children.map((child) => child.asTool)].map((tool) => tool.name)),
    maxTurns: whole('maxTurns', options.maxTurns ?? DEFAULT_MAX_TURNS, 1, LIMITS.runTurns),
    askForEach: options.askForEach ?? false,
    checkpoints: options.checkpoints ?? 'never',
    ...(options.settings ? { settings: options.settings } : {}),
    budgets,
    costOf,
    retries: {
      most: whole('retries.most', retries.most ?? DEFAULT_RETRIES, 0, LIMITS.runModelRetries),
      pauseMs: whole('retries.pauseMs', retries.pauseMs ?? DEFAULT_PAUSE_MS, 0, LIMITS.runRetryPauseMs),
    },
    children: new Map(children.map((child) => [child.asTool.name, child.name])),
    childMode: options.childMode ?? 'sequential',
    maxParallelChildren: whole(
      'maxParallelChildren',
      options.maxParallelChildren ?? DEFAULT_PARALLEL_CHILDREN,
      1,
      LIMITS.runParallelCalls,
    ),
    sideBranchMaxTurns: whole(
      'sideBranchMaxTurns',
      options.sideBranchMaxTurns ?? DEFAULT_SIDE_BRANCH_TURNS,
      1,
      LIMITS.runSideBranchTurns,
    ),
    compactAboveTokens,
  };
}

function budgetsOf(given: Partial<RunBudgets>): RunBudgets {
  const { maxTokens = null, maxCostMicros = null, maxWallMs = null, ...others } = given;
  const [unknown] = Object.keys(others);
  // A bound that is misspelled would be none.
  if (unknown !== undefined)
    throw fail(
      'INVALID_VALUE',
      `budgets.${unknown.slice(0, 64)} is not known: maxTokens, maxCostMicros and maxWallMs are.`,
    );
  for (const [field, bound] of Object.entries({ maxTokens, maxCostMicros, maxWallMs }))
    if (bound !== null) whole(`budgets.${field}`, bound, 1, Number.MAX_SAFE_INTEGER);
  return { maxTokens, maxCostMicros, maxWallMs };
}

function whole(field: string, value: number, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw fail('INVALID_VALUE', `${field} must be a whole number from ${least} to ${most}.`);
}
