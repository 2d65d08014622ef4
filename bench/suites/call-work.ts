import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { executeCall, prepareCall, type CallPlace } from '../../src/calls/index.ts';
import { systemIds } from '../../src/core/index.ts';
import { Holdfast, tool } from '../../src/index.ts';
import { beginTurn, openGroup, openSession } from '../../src/sessions/index.ts';

const sendNote = tool({
  name: 'send_note',
  description: 'Sends a note.',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string' } },
    required: ['to', 'text'],
    additionalProperties: false,
  },
  effect: 'once',
  needsApproval: false,
  execute: (input) => ({ note: 'n-1', to: input['to'] }),
});
const allowed = new Set([sendNote.name]);

/** One run's place: a session of its own, a turn, and the action group of one reply. */
interface Caller {
  readonly place: CallPlace;
  readonly groupId: string;
}

/** The composed system on a folder of its own, with as many runs as are wanted. */
export class CallWork {
  readonly holdfast: Holdfast;
  readonly #callers: readonly Caller[];
  readonly #signal = new AbortController().signal;

  private constructor(holdfast: Holdfast, callers: readonly Caller[]) {
    this.holdfast = holdfast;
    this.#callers = callers;
  }

  static async open(folder: string, callers: number): Promise<CallWork> {
    const holdfast = await Holdfast.open({
      dataDir: join(mkdtempSync(join(folder, 'call-')), 'data'),
      tools: [sendNote],
    });
    const made: Caller[] = [];
    for (let i = 0; i < callers; i += 1) made.push(await newCaller(holdfast));
    return new CallWork(holdfast, made);
  }

  /** One writing call of that caller, its whole way: checked, begun, executed, ended. */
  async call(caller: number): Promise<void> {
    const of = this.#callers[caller];
    if (!of) throw new Error('there is no such caller');
    const { calls, filesystem } = this.holdfast.runtime;
    const proposal = {
      callId: `call-${systemIds.next()}`,
      toolName: sendNote.name,
      argumentsText: '{"to":"customer","text":"Your order is on its way."}',
    };
    const { principal } = of.place;
    const unlike = { ...proposal, argumentsText: proposal.argumentsText.replace('customer', proposal.callId) };
    const checked = await prepareCall(calls, principal, unlike, { allowed });
    if (checked.kind !== 'prepared') throw new Error('the call was refused');
    const authority = { by: 'policy', approver: 'policy:tool@send_note-v1' } as const;
    const ready = { ...of, call: checked.call, authority, filesystem, signal: this.#signal };
    const { outcome } = await executeCall(calls, ready);
    if (outcome.state !== 'done') throw new Error(`the call is ${outcome.state}`);
  }

  close(): Promise<void> {
    return this.holdfast.close();
  }
}

async function newCaller({ runtime }: Holdfast): Promise<Caller> {
  const { principal, projectId, calls, store } = runtime;
  const { sessions } = calls;
  return store.write('bench.caller', async (tx) => {
    const rootFrameId = await openSession(tx, sessions, principal, { projectId });
    const branchId = rootFrameId;
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content: 'Send notes.' });
    const kind = 'native_tools';
    const { id: groupId } = await openGroup(tx, sessions, principal, { rootFrameId, branchId, turnId, kind });
    return { place: { principal, projectId, rootFrameId, branchId, turnId, runId: systemIds.next() }, groupId };
  });
}
