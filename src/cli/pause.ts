import type { Command } from 'commander';
import type { CommandContext } from './commands.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** `holdfast pause`: lets no write start in this data folder, in any process, until `holdfast unpause`. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--reason <text>', 'Why, for whoever finds it paused', 'an operator paused it')
    .action((options: RunOptions & { reason: string }) =>
      context.run(() =>
        withoutAgents(context, options, async ({ runtime }) => {
          const { pause } = await import('../app/index.ts');
          await pause(runtime.store, options.reason);
          context.output.result({
            document: { paused: true, reason: options.reason },
            lines: (colours) => [
              `Paused: no write starts. What has started goes on. Undo it with: ${colours.command('holdfast unpause')}`,
            ],
          });
          return 0;
        }),
      ),
    );
}
