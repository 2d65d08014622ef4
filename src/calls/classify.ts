import { type JsonValue, sentence, storableText } from '../core/index.ts';
import { acceptOutput, type Tool } from '../tools/index.ts';
import type { Attempt } from './attempt.ts';
import { fitsOperations } from './fits-operations.ts';

/** What an attempt at a tool is known to have done. The table of DESIGN, and nothing else decides it. */
export type Finding =
  | { readonly found: 'done'; readonly output: JsonValue; readonly text: string }
  | { readonly found: 'not_done'; readonly code: 'TOOL_NOT_DONE'; readonly reason: string }
  | { readonly found: 'unknown'; readonly code: UnknownCode; readonly reason: string };

export type UnknownCode =
  | 'TOOL_THREW'
  | 'TOOL_TIMED_OUT'
  | 'CALL_CANCELLED'
  | 'TOOL_OUTPUT_INVALID'
  | 'OUTCOME_UNKNOWN';

/**
 * Judges how a tool's `execute` ended. A valid output is done; `NotDone`, or a throw where the tool promises
 * `onError: 'not_done'`, is not done; everything else is unknown, since it may have happened before it went wrong.
 */
export async function classify(tool: Tool, input: unknown, attempt: Attempt): Promise<Finding> {
  switch (attempt.ended) {
    case 'returned': {
      const output = await acceptOutput(tool, attempt.value, input);
      if (output.ok && fitsOperations(output)) return { found: 'done', output: output.value, text: output.text };
      if (output.ok) return unknown('TOOL_OUTPUT_INVALID', 'The tool answered more than the ledger can keep.');
      return unknown(
        'TOOL_OUTPUT_INVALID',
        sentence(storableText(`The tool answered what it may not answer: ${output.problems.join('; ')}`)),
      );
    }
    case 'not_done':
      return { found: 'not_done', code: 'TOOL_NOT_DONE', reason: attempt.reason };
    case 'threw':
      return tool.onError === 'not_done'
        ? { found: 'not_done', code: 'TOOL_NOT_DONE', reason: attempt.reason }
        : unknown('TOOL_THREW', `The tool failed: ${attempt.reason}`);
    case 'timed_out':
      return unknown('TOOL_TIMED_OUT', `The tool gave no answer within ${attempt.timeoutMs} ms.`);
    case 'cancelled':
      return unknown('CALL_CANCELLED', 'The call was cancelled after it had started.');
    case 'not_sent':
      return { found: 'not_done', code: 'TOOL_NOT_DONE', reason: attempt.reason };
  }
}

function unknown(code: UnknownCode, reason: string): Finding {
  return { found: 'unknown', code, reason };
}
