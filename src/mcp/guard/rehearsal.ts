import { setImmediate as turn } from 'node:timers/promises';
import { rehearseCall } from '../../calls/index.ts';
import type { GuardOptions } from './call-desk.ts';
import { guardTool } from './guard-tool.ts';
import { readHostLine } from '../wire/read-host-line.ts';
import { readServerLine } from '../wire/read-server-line.ts';
import { keptOutput } from './kept-output.ts';
import { describedTool } from './policy-decision.ts';

/** So many that the code of a call is read and its most used parts are compiled; in sum less than a server's start. */
const REHEARSALS = 24;
const NAME = 'holdfast_rehearsal';
const line = (message: object): Uint8Array => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }));
const ASKED = line({ method: 'tools/call', params: { name: NAME, arguments: { id: 1, text: 'a' } } });
const ANSWERED = line({ result: { content: [{ type: 'text', text: 'a' }], isError: false } });

/**
 * Makes ready what the first calls of a guard would wait for, while its server starts: the way of a write is gone, taken
 * back and gone again. A call that comes meanwhile ends it: `wanted` is asked before each. It fails for nobody: what is
 * wrong with the store is told to the first call that needs it.
 */
export async function rehearse(
  { calls, place, filesystem, sealed }: GuardOptions,
  wanted: () => boolean,
): Promise<void> {
  const unreachable = (): never => {
    throw new Error('a rehearsal reaches no server');
  };
  const tool = guardTool(sealed, NAME, { deliver: unreachable, ask: unreachable });
  const described = describedTool(sealed.policy, NAME);
  try {
    for (let done = 0; done < REHEARSALS; done += 1) {
      await turn();
      if (!wanted()) return;
      readHostLine(ASKED);
      const message = readServerLine(ANSWERED, () => true);
      const answer = message.kind === 'answer' && message.answer.kind === 'result' ? message.answer.result : {};
      await rehearseCall(calls, place, { tool, returned: keptOutput(answer, described), filesystem });
    }
  } catch {
    // See above.
  }
}
