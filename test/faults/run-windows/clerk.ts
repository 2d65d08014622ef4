// The agents of the crash windows, the same before and after the crash. What is done to the world is a line in a file.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentHandle, Holdfast, ModelFunction } from '../../../src/index.ts';
import { callsThenDone, noteTool } from '../../calls/desk.ts';

export interface ClerkOptions {
  readonly needsApproval?: boolean;
  /** Called by the tool before it does anything, or instead. */
  readonly during?: () => void | Promise<void>;
  /** Called each time a model is asked. */
  readonly asked?: () => void;
}

export const WORLD = 'world.log';

/** `clerk` takes one note; `lead` gives that to the clerk. */
export function defineClerks(holdfast: Holdfast, dataDir: string, options: ClerkOptions) {
  const heard =
    (model: ModelFunction): ModelFunction =>
    (request) => {
      options.asked?.();
      return model(request);
    };
  const tool = noteTool({
    needsApproval: options.needsApproval ?? false,
    execute: async ({ note }) => {
      await options.during?.();
      appendFileSync(join(dataDir, '..', WORLD), `${note}\n`);
      return { ok: true };
    },
  });
  const clerk = holdfast.agent({ name: 'clerk', model: heard(callsThenDone([{}])), tools: [tool] });
  const ask: ModelFunction = ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'all done' : { calls: [{ toolName: 'ask_clerk', arguments: { task: 'note' } }] };
  const lead = holdfast.agent({ name: 'lead', model: heard(ask), children: [clerk] });
  return new Map<string, AgentHandle>([
    ['clerk', clerk],
    ['lead', lead],
  ]);
}
