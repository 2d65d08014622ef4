import type { Command } from 'commander';
import { fileSource } from '../archive/index.ts';
import type { CommandContext } from './commands.ts';
import { collectEarly } from './early-collection.ts';
import { withProgress } from './progress.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** `holdfast import FILE`: a package as a new, locked session. Nothing in it is run. */
export function define(command: Command, context: CommandContext): void {
  command.argument('<file>', 'The package').action((file: string, options: RunOptions) =>
    context.run(() => {
      collectEarly();
      return withoutAgents(context, options, async ({ runtime: { packages, principal } }) => {
        const source = await fileSource(file);
        try {
          const work = () => packages.import(principal, source);
          const imported = await withProgress(context.terminal, 'Importing', work);
          context.output.result({
            document: imported,
            lines: (colours) => [
              `Imported as session ${imported.root_frame_id}, locked: nothing in it runs.`,
              `  texts that try to instruct: ${imported.injection_flags}`,
              `Look at it, then trust it: ${colours.command(`holdfast sessions trust ${imported.root_frame_id} --yes`)}`,
            ],
          });
          return 0;
        } finally {
          await source.close();
        }
      });
    }),
  );
}
