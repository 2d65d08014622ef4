import type { Command } from 'commander';
import { backUpDataFolder } from '../app/index.ts';
import type { CommandContext } from './commands.ts';
import { checkTarget } from './target-file.ts';
import { dataFolderOf, type RunOptions } from './with-runtime.ts';

/** `holdfast backup --to FILE`: one new file with a consistent, checked state, made while Holdfast works. */
export function define(command: Command, context: CommandContext): void {
  const { output, run } = context;
  command
    .requiredOption('--to <file>', 'The backup to make; a file that exists is not overwritten')
    .action((options: RunOptions & { to: string }) =>
      run(async () => {
        checkTarget({
          what: 'the backup',
          path: options.to,
          name: 'holdfast-backup.db',
          command: (path) => `holdfast backup --to ${path}`,
          existsCode: 'STORE_TARGET_EXISTS',
        });
        const dataDir = await dataFolderOf(context, options);
        const { bytes } = await backUpDataFolder({ dataDir, target: options.to });
        output.result({
          document: { state: 'done', bytes },
          lines: () => [`The backup is made and checked: ${bytes} bytes. Keep it on another disk.`],
        });
        return 0;
      }),
    );
}
