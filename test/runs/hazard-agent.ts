import { z } from 'zod';
import { type AgentOptions, type ModelFunction, tool } from '../../src/index.ts';

/** A request's time is over long before the lease of a process that lives on. */
export const ACTOR_OPTIONS = { approvalExpiresMs: 120_000, instanceLeaseMs: 600_000 };
export const PAST_APPROVAL_MS = 180_000;

const schema = z.strictObject({ note: z.string().max(20), count: z.number().int() });
const model: ModelFunction = ({ messages }) =>
  messages.slice(messages.findLastIndex(({ role }) => role === 'user')).some(({ role }) => role === 'assistant')
    ? `told: ${messages.at(-1)?.text ?? ''}`
    : { calls: [{ callId: 'c1', toolName: 'send', arguments: { note: 'a', count: 1 } }] };

/** The agent of the hazards: one call that a person decides, and how often it was carried out in this process. */
export function sendingAgent(): { readonly agent: AgentOptions; readonly ran: () => number } {
  let ran = 0;
  const send = tool({
    name: 'send',
    description: 'Sends.',
    inputSchema: schema,
    effect: 'once',
    needsApproval: true,
    editable: ['note'],
    execute: () => ({ ran: (ran += 1) }),
  });
  return { agent: { model, tools: [send] }, ran: () => ran };
}
