import type { Policy } from '../approvals/index.ts';
import type { Filesystem } from '../effects/index.ts';
import { type Tool, ToolRegistry } from '../tools/index.ts';
import { begin } from './begin.ts';
import { classify } from './classify.ts';
import type { CallsContext } from './context.ts';
import { beginningOf, endingOf } from './execute.ts';
import { finish } from './finish.ts';
import type { CallPlace } from './model.ts';
import { prepareCall } from './prepare.ts';
import { propose } from './propose.ts';

/** Takes the transaction of a rehearsal back. */
class TakenBack extends Error {}

const ALLOWS: Policy = { name: 'rehearsal', revision: '1', decide: () => 'allow' };

/**
 * Goes the way of one writing call, from its proposal to its outcome, in a transaction that is taken back. What a process
 * does for the first time costs it many times as much; a call that comes later need not wait for that. The tool is not
 * invoked: `returned` is what it might have answered. Nothing is written and nobody is told.
 */
export async function rehearseCall(
  given: CallsContext,
  place: CallPlace,
  of: { readonly tool: Tool; readonly returned: unknown; readonly filesystem: Filesystem },
): Promise<void> {
  const { tool, returned, filesystem } = of;
  const tools = new ToolRegistry();
  tools.register(tool);
  const policies = { ...given.policies, policies: [...given.policies.policies, ALLOWS] };
  const context: CallsContext = { ...given, tools, policies };
  const proposal = { callId: context.sessions.ids.next(), toolName: tool.name, argumentsText: '{"id":1,"text":"a"}' };
  const checked = await prepareCall(context, place.principal, proposal, { allowed: new Set([tool.name]) });
  if (checked.kind !== 'prepared') return;
  const { call } = checked;
  const groupId = context.sessions.ids.next();
  const authority = { by: 'policy', approver: 'policy:rehearsal@1' } as const;
  const signal = new AbortController().signal;
  const ready = { place, groupId, call, authority, filesystem, signal };
  const beginning = beginningOf(ready);
  const finding = await classify(tool, call.input, { ended: 'returned', value: returned });
  const reply = { kind: 'native_tools', text: null, provider: 'mcp', groupId, calls: [{ proposal, checked }] } as const;
  const taken = context.store.write('calls.rehearsal', async (tx) => {
    const { next } = await propose(tx, context, place, reply, {});
    const begun = await begin(tx, context, beginning, next);
    if (begun.kind === 'begun') {
      const ending = endingOf(ready, beginning, begun.operation, 0);
      await finish(tx, context, ending, { finding, seen: [], since: [], verified: false });
    }
    throw new TakenBack();
  });
  await taken.catch((error: unknown) => {
    if (!(error instanceof TakenBack)) throw error;
  });
}
