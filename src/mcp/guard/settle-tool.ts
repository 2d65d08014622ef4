import { type CallOutcome, outcomeDocument, outcomeForModel } from '../../calls/index.ts';
import { HoldfastError, type JsonObject } from '../../core/index.ts';
import type { ToolCallMessage } from '../wire/message.ts';
import { ownResultLine } from '../wire/write-line.ts';

/** The guard's own tool, where the policy offers it: by it a host asks what became of a call that it was told is unknown. */
export const SETTLE_TOOL = {
  name: 'holdfast_settle',
  title: 'Ask what became of an unknown call',
  description:
    'Asks what became of a call whose outcome is unknown. It changes nothing and repeats nothing: it looks into the ' +
    'ledger, and asks the server where the policy says how. Give the status_ref of that call.',
  inputSchema: {
    type: 'object',
    properties: {
      status_ref: { type: 'string', description: 'As it was told: status_ and 32 hexadecimal characters' },
    },
    required: ['status_ref'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, destructiveHint: false, openWorldHint: false },
} as const satisfies JsonObject & { readonly name: string };

/** The reference that the host gave; null where there is none that could be one. */
export function settledReference({ arguments: args }: ToolCallMessage): string | null {
  const { status_ref: ref, ...more } = args;
  return typeof ref === 'string' && /^status_[0-9a-f]{32}$/.test(ref) && Object.keys(more).length === 0 ? ref : null;
}

/** What the host is told of the call that it asked about. Only a call that happened is no error. */
export function settledLine(message: ToolCallMessage, outcome: CallOutcome): Uint8Array {
  const { output: _output, ...document } = outcomeDocument(outcome) as JsonObject;
  return ownResultLine(message, { text: textOf(outcome), isError: outcome.state !== 'done', document });
}

function textOf(outcome: CallOutcome): string {
  const words = outcomeForModel(outcome);
  return outcome.state === 'done' && outcome.settledBy !== 'person'
    ? `DONE: it is known that it happened. ${words}`
    : words;
}

/** A question that could not be answered: no such call, or no reference. */
export function unansweredLine(message: ToolCallMessage, error: unknown): Uint8Array {
  const known = error instanceof HoldfastError ? `${error.message} (${error.code})` : 'The ledger could not be read.';
  return ownResultLine(message, { text: `NOT ANSWERED: ${known}`, isError: true });
}
