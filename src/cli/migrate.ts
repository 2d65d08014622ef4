import type { Command } from 'commander';
import { migrateDataFolder, readConfiguration } from '../app/index.ts';
import type { CommandContext } from './commands.ts';

/**
 * `holdfast migrate`: makes the data folder where there is none, and brings the database's tables up to date.
 * With `--check` it only looks: exit 1 when migrations are missing.
 */
export function define(command: Command, { output, terminal, run }: CommandContext): void {
  command
    .option('--check', 'Only look: exit code 1 when migrations are missing')
    .action((options: { dataDir?: string; check?: boolean }) =>
      run(async () => {
        const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
        const { pending, applied } = await migrateDataFolder({ dataDir, apply: options.check !== true });
        const isBehind = pending.length > 0 && !applied;
        output.result({
          document: { state: isBehind ? 'behind' : 'current', [applied ? 'applied' : 'missing']: pending },
          lines: () => [
            isBehind ? 'The database is behind. Missing:' : 'The database is up to date.',
            ...pending.map(({ context, number, name }) => `  ${context} ${number}: ${name}`),
          ],
        });
        return isBehind ? 1 : 0;
      }),
    );
}
