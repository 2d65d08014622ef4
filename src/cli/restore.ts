import type { Command } from 'commander';
import { restoreDataFolder } from '../app/index.ts';
import type { CommandContext } from './commands.ts';
import { dataFolderOf, type RunOptions } from './with-runtime.ts';

/** `holdfast restore --from FILE`: a backup into a data folder that has no database. */
export function define(command: Command, context: CommandContext): void {
  const { output, run } = context;
  command
    .requiredOption('--from <file>', 'A file that `holdfast backup` made')
    .action((options: RunOptions & { from: string }) =>
      run(async () => {
        const dataDir = await dataFolderOf(context, options);
        const { bytes } = await restoreDataFolder({ dataDir, backup: options.from });
        output.result({
          document: { state: 'done', bytes, paused: true },
          lines: (colours) => [
            `The backup is restored and checked: ${bytes} bytes.`,
            'What happened in the world after it was made is not in it, so no write starts in it yet.',
            `Compare with the other side, then let writes start: ${colours.command('holdfast unpause')}`,
          ],
        });
        return 0;
      }),
    );
}
