import { systemIds } from '../core/index.ts';
import type { ToolPrincipal } from '../tools/index.ts';
import type { Invocation } from './attempt.ts';
import { classify } from './classify.ts';
import type { PreparedCall } from './model.ts';
import type { CallOutcome } from './outcome.ts';
import { currentRefusal, refusedNow } from './prepare.ts';
import { readOutcome } from './read-outcome.ts';
import { attemptUntilAnswered, ofAllAttempts, type Tried } from './retrying.ts';

/** A call in a home that has no operations: whoever makes it has written down that it starts. */
export interface CallAlone extends Omit<Invocation, 'principal'> {
  readonly call: Pick<PreparedCall, 'tool' | 'input'>;
  readonly principal: ToolPrincipal;
}

/**
 * Runs one call and judges how it ended, without keeping anything: for runs of the file home. A writing call that threw,
 * timed out, was cancelled or answered what it may not answer is `unknown`, and nothing here can settle it. Never throws
 * for what a tool does.
 */
export async function executeAlone(of: CallAlone): Promise<CallOutcome> {
  const { tool, input } = of.call;
  const refusal = await currentRefusal(of.call, of.principal);
  if (refusal) return refusedNow(refusal);
  const mayRepeat = async (): Promise<boolean> => (await currentRefusal(of.call, of.principal)) === null;
  const tried = await attemptUntilAnswered(tool, input, of, { ids: systemIds, mayRepeat });
  return tool.effect === 'read' ? readOutcome(tool, input, tried) : writeOutcome(of.call, tried);
}

async function writeOutcome({ tool, input }: CallAlone['call'], tried: Tried): Promise<CallOutcome> {
  const finding = ofAllAttempts(await classify(tool, input, tried.attempt), tried);
  switch (finding.found) {
    case 'done':
      return { state: 'done', output: finding.output, verified: false, settledBy: null };
    case 'not_done':
      return { state: 'not_done', code: finding.code, reason: finding.reason, settledBy: null };
    case 'unknown': {
      const resolve = 'Find out at the other side whether it took effect.';
      return { state: 'unknown', code: finding.code, reason: finding.reason, statusRef: null, resolve };
    }
  }
}
