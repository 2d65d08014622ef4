import { readStatusAnswer } from '../tools/index.ts';
import { attemptStatus, type Invocation, reasonOf } from './attempt.ts';
import { classify, type Finding } from './classify.ts';
import type { Ending } from './finish.ts';

/** Asking is bounded: a service that does not answer leaves the outcome as unknown as it was. */
const MOST_ASKING_MS = 15_000;

/**
 * Asks the tool what happened; null for a tool that cannot be asked. An output that its status gives is judged like
 * one that it returned. Whether a `not_done` is final is for the caller to judge, by the lease.
 */
export async function askStatus(of: Pick<Ending, 'tool' | 'input'>, invocation: Invocation): Promise<Finding | null> {
  if (!of.tool.status) return null;
  const { signal: _stopped, ...rest } = invocation;
  // Asking changes nothing, so it goes on when a run is stopped: the stop wants to know what it interrupted.
  const asking = { ...rest, signal: new AbortController().signal, timeoutMs: Math.min(MOST_ASKING_MS, rest.timeoutMs) };
  const attempt = await attemptStatus(of.tool, of.input, asking);
  if (attempt.ended !== 'returned') return unknown('The tool could not be asked what happened.');
  const answer = readStatusAnswer(attempt.value);
  switch (answer.state) {
    case 'happened':
      return classify(of.tool, of.input, { ended: 'returned', value: answer.output });
    case 'not_happened':
      return {
        found: 'not_done',
        code: 'TOOL_NOT_DONE',
        reason: 'The tool was asked and says that it did not happen.',
      };
    case 'unknown':
      return unknown(answer.reason ? reasonOf(answer.reason) : 'The tool was asked and does not know.');
  }
}

function unknown(reason: string): Finding {
  return { found: 'unknown', code: 'OUTCOME_UNKNOWN', reason };
}
