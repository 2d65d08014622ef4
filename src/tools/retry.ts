import { longestPauseBefore } from '../core/index.ts';
import type { Tool, ToolDefinition } from './model.ts';

export const DEFAULT_TIMEOUT_MS = 20_000;
const DEFAULT_RETRY_PAUSE_MS = 200;

/** A declared repetition, complete; null where none is declared. */
export function retryOf(given: ToolDefinition['retry']): Tool['retry'] {
  if (given === undefined) return null;
  return Object.freeze({ most: given.most, pauseMs: given.pauseMs ?? DEFAULT_RETRY_PAUSE_MS });
}

/** The longest that a call of the tool takes with all its repetitions and their pauses. Milliseconds. */
export function longestCallMs({ timeoutMs, retry }: Pick<Tool, 'timeoutMs' | 'retry'>): number {
  let wholeMs = timeoutMs;
  for (let n = 1; n <= (retry?.most ?? 0); n += 1) wholeMs += timeoutMs + longestPauseBefore(retry?.pauseMs ?? 0, n);
  return wholeMs;
}
