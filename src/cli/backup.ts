import type { Command } from 'commander';
import { backUpDataFolder, readConfiguration } from '../app/index.ts';
import type { CommandContext } from './commands.ts';
import { checkTarget } from './target-file.ts';

/** `holdfast backup --to FILE`: one new file with a consistent, checked state, made while Holdfast works. */
export function define(command: Command, { output, terminal, run }: CommandContext): void {
  command
    .requiredOption('--to <file>', 'The backup to make; a file that exists is not overwritten')
    .action((options: { dataDir?: string; to: string }) =>
      run(async () => {
        checkTarget({
          what: 'the backup',
          path: options.to,
          name: 'holdfast-backup.db',
          command: (path) => `holdfast backup --to ${path}`,
        });
        const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
        const { bytes } = await backUpDataFolder({ dataDir, target: options.to });
        output.result({
          document: { state: 'done', bytes },
          lines: () => [`The backup is made and checked: ${bytes} bytes. Keep it on another disk.`],
        });
        return 0;
      }),
    );
}
