import type { Command } from 'commander';
import { readConfiguration, restoreDataFolder } from '../app/index.ts';
import type { CommandContext } from './commands.ts';

/** `holdfast restore --from FILE`: a backup into a data folder that has no database. */
export function define(command: Command, { output, terminal, run }: CommandContext): void {
  command
    .requiredOption('--from <file>', 'A file that `holdfast backup` made')
    .action((options: { dataDir?: string; from: string }) =>
      run(async () => {
        const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
        const { bytes } = await restoreDataFolder({ dataDir, backup: options.from });
        output.result({
          document: { state: 'done', bytes, paused: true },
          lines: () => [
            `The backup is restored and checked: ${bytes} bytes.`,
            'What happened in the world after it was made is not in it, so no write starts in it yet.',
            'Compare with the other side, then let writes start: holdfast unpause',
          ],
        });
        return 0;
      }),
    );
}
