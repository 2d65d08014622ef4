import { sentence, storableText } from '../core/index.ts';
import { acceptOutput, type Tool } from '../tools/index.ts';
import type { Attempt } from './attempt.ts';
import type { CallOutcome } from './outcome.ts';
import type { Tried } from './retrying.ts';

/** What became of a call that only reads: it changed nothing, so whatever is no valid answer is `failed`. */
export async function readOutcome(
  tool: Tool,
  input: unknown,
  { attempt, retries }: Pick<Tried, 'attempt' | 'retries'>,
): Promise<CallOutcome> {
  if (attempt.ended !== 'returned') {
    const failure = failureOf(attempt);
    const reason = retries === 0 ? failure : `${sentence(failure)} It was tried ${retries + 1} times.`;
    return { state: 'failed', code: 'TOOL_FAILED', reason };
  }
  const output = await acceptOutput(tool, attempt.value, input);
  if (output.ok) return { state: 'done', output: output.value, verified: false, settledBy: null };
  return {
    state: 'failed',
    code: 'TOOL_FAILED',
    reason: sentence(storableText(`The tool's answer is invalid: ${output.problems.join('; ')}`)),
  };
}

function failureOf(attempt: Exclude<Attempt, { ended: 'returned' }>): string {
  switch (attempt.ended) {
    case 'not_done':
    case 'threw':
      return attempt.reason;
    case 'timed_out':
      return `The tool gave no answer within ${attempt.timeoutMs} ms.`;
    case 'cancelled':
      return 'The call was cancelled.';
    case 'not_sent':
      return 'The call was not made.';
  }
}
