import { setTimeout as sleep } from 'node:timers/promises';
import { type Deadline, deadline, fail, HoldfastError, pauseBefore } from '../core/index.ts';
import { type ModelMessage, type ModelReply, readTurn } from '../models/index.ts';
import { type ModelToolSchema, modelToolSchemas } from '../tools/index.ts';
import type { Driving, RunsContext } from './context.ts';
import { spanOfTurn } from './run-spans.ts';

/**
 * Asks the agent's model for one reply, within so many milliseconds in all. A turn changes nothing, so a model that
 * failed is asked again, after pauses that grow and differ. Throws the codes of `readTurn`, and RUN_BUDGET_USED_UP where
 * `withinMs` ended it.
 */
export async function askModel(
  context: RunsContext,
  driving: Driving,
  messages: readonly ModelMessage[],
  withinMs: number,
): Promise<ModelReply> {
  const tools = modelToolSchemas(context.calls.tools, driving.agent.allowed);
  return ask(context, driving, { messages, tools, withinMs });
}

interface Question {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelToolSchema[];
  readonly withinMs: number;
}

/** As `askModel`, with the tools that are given. */
export async function ask(context: RunsContext, driving: Driving, question: Question): Promise<ModelReply> {
  const end = deadline(driving.signal, Math.max(1, Math.ceil(question.withinMs)));
  try {
    return await askUntil(context, driving, question, end);
  } finally {
    end.release();
  }
}

async function askUntil(
  context: RunsContext,
  driving: Driving,
  question: Question,
  end: Deadline,
): Promise<ModelReply> {
  const { agent, signal, listener } = driving;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await spanOfTurn(context, driving, () => askOnce(driving, question, end.signal));
    } catch (error) {
      if (!signal.aborted && end.over) throw fail('RUN_BUDGET_USED_UP', 'The time of the run ended in a turn.');
      if (attempt > agent.retries.most || !mayHelp(error)) throw error;
      const pauseMs = pauseBefore(context.calls.sessions.ids, agent.retries.pauseMs, attempt);
      listener.onRetry?.(attempt, pauseMs);
      // A stop or the end of the time is met by the next attempt, at once.
      await sleep(pauseMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  }
}

function askOnce(
  { agent, listener }: Driving,
  { messages, tools }: Question,
  signal: AbortSignal,
): Promise<ModelReply> {
  const request = { messages, tools, signal, ...(agent.settings ? { settings: agent.settings } : {}) };
  return readTurn(agent.model, request, {
    onEvent: (event) => {
      if (event.type === 'text' && event.text !== '') listener.onText?.(event.text);
    },
  });
}

/**
 * Asking again helps where the provider failed, or its connection did (there is then no status, or that of an answer that
 * broke off), but not where it says that the request itself is wrong.
 */
function mayHelp(error: unknown): boolean {
  if (!(error instanceof HoldfastError) || error.code !== 'MODEL_FAILED') return false;
  const { cause } = error;
  const status = typeof cause === 'object' && cause !== null && 'statusCode' in cause ? cause.statusCode : undefined;
  if (typeof status !== 'number' || status < 400) return true;
  return status >= 500 || status === 408 || status === 409 || status === 429;
}
