// The agent of the crash tests, the same before and after the crash: four writing calls in two replies. The other side
// honours no key. `issue` can be asked what happened, `post` cannot.
import { z } from 'zod';
import {
  type AgentHandle,
  type Holdfast,
  type ModelFunction,
  type RunListener,
  type Tool,
  tool,
} from '../../../src/index.ts';

export const TASK = 'Credit two orders, and post two letters.';
/** What each call sends, by its id: what the other side's log is held against. */
export const SENT: Readonly<Record<string, { readonly order: string; readonly amount_cents: number }>> = {
  'issue-1': { order: 'A-1', amount_cents: 100 },
  'post-1': { order: 'B-1', amount_cents: 200 },
  'issue-2': { order: 'A-2', amount_cents: 300 },
  'post-2': { order: 'B-2', amount_cents: 400 },
};

const input = z.strictObject({ order: z.string(), amount_cents: z.number().int() });
const output = z.looseObject({ credit_note: z.string() });

async function commit(url: string, reference: string, body: object, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(`${url}/credit-notes`, {
    method: 'POST',
    body: JSON.stringify({ reference, ...body }),
    signal,
  });
  return response.json();
}

/** `beforeSending` holds a call back that has begun, before the other side hears of it. */
function toolsFor(url: string, beforeSending: () => Promise<void>): readonly Tool[] {
  const send = async (given: object, call: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => {
    await beforeSending();
    return commit(url, call.idempotencyKey, given, call.signal);
  };
  const issue = tool({
    name: 'issue',
    description: 'Credits an order.',
    inputSchema: input,
    outputSchema: output,
    effect: 'reconcilable',
    needsApproval: true,
    settlesWithinMs: 0,
    execute: send,
    async status(_given, call) {
      const response = await fetch(`${url}/credit-notes?reference=${call.idempotencyKey}`, { signal: call.signal });
      const { found, ...rest } = (await response.json()) as { found: boolean };
      return found ? { state: 'happened', output: rest } : { state: 'not_happened' };
    },
  });
  const post = tool({
    name: 'post',
    description: 'Posts a letter.',
    inputSchema: input,
    outputSchema: output,
    effect: 'once',
    needsApproval: false,
    execute: send,
  });
  return [issue, post];
}

const model: ModelFunction = ({ messages }) => {
  const replies = messages.filter((message) => message.role === 'assistant').length;
  const ids = [
    ['issue-1', 'post-1'],
    ['issue-2', 'post-2'],
  ][replies];
  if (!ids) return 'All four are done.';
  return { calls: ids.map((id) => ({ callId: id, toolName: id.split('-')[0] ?? '', arguments: { ...SENT[id] } })) };
};

export function defineAgent(
  holdfast: Holdfast,
  url: string,
  listener: RunListener = {},
  beforeSending = async (): Promise<void> => undefined,
): AgentHandle {
  return holdfast.agent({ name: 'clerk', model, tools: toolsFor(url, beforeSending), listener });
}

/** Longer than a busy machine keeps a process from its beat. */
export const INSTANCE_LEASE_MS = 5_000;
/** So far ahead is the clock of whoever comes after a killed process, which is known to be dead by then. */
export const KNOWN_DEAD_MS = INSTANCE_LEASE_MS + 50;
/** Of a process whose calls wait until it was renewed, each for one time more. */
export const RENEWED_LEASE_MS = 1_500;
