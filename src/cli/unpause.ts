import type { Command } from 'commander';
import type { CommandContext } from './commands.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** `holdfast unpause`: lets writes start again. */
export function define(command: Command, context: CommandContext): void {
  command.action((options: RunOptions) =>
    context.run(() =>
      withoutAgents(context, options, async ({ runtime }) => {
        const { unpause } = await import('../app/index.ts');
        await unpause(runtime.store);
        context.output.result({ document: { paused: false }, lines: () => ['Writes may start again.'] });
        return 0;
      }),
    ),
  );
}
