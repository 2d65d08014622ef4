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

/** So many calls a model asks for in one reply. */
const CALLS_PER_REPLY = 8;

/** One run's place: a session of its own and a turn; and the action group of the reply whose calls are being made. */
interface Caller {
  readonly place: CallPlace;
  groupId: string;
  left: number;
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

  /** One writing call of that caller, its whole way: checked, begun, executed, ended; the first of a reply opens it. */
  async call(caller: number): Promise<void> {
    const of = this.#callers[caller];
    if (!of) throw new Error('there is no such caller');
    const { calls, filesystem } = this.holdfast.runtime;
    if (of.left === 0) await this.#openReply(of);
    of.left -= 1;
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
    const { place, groupId } = of;
    const ready = { place, groupId, call: checked.call, authority, filesystem, signal: this.#signal };
    const { outcome } = await executeCall(calls, ready);
    if (outcome.state !== 'done') throw new Error(`the call is ${outcome.state}`);
  }

  async #openReply(of: Caller): Promise<void> {
    const { store, calls } = this.holdfast.runtime;
    const { principal, rootFrameId, branchId, turnId } = of.place;
    const reply = { rootFrameId, branchId, turnId, kind: 'native_tools', assistantContent: 'I send the notes.' };
    const { id } = await store.write('bench.reply', (tx) => openGroup(tx, calls.sessions, principal, reply));
    Object.assign(of, { groupId: id, left: CALLS_PER_REPLY });
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
    const place = { principal, projectId, rootFrameId, branchId, turnId, runId: systemIds.next() };
    return { place, groupId: '', left: 0 };
  });
}
