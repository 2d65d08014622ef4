import type { Command } from 'commander';
import { migrateDataFolder } from '../app/index.ts';
import type { CommandContext } from './commands.ts';
import { dataFolderOf, type RunOptions } from './with-runtime.ts';

/**
 * `holdfast migrate`: makes the data folder where there is none, and brings the database's tables up to date.
 * With `--check` it only looks: exit 1 when migrations are missing.
 */
export function define(command: Command, context: CommandContext): void {
  const { output, run } = context;
  command
    .option('--check', 'Only look: exit code 1 when migrations are missing')
    .action((options: RunOptions & { check?: boolean }) =>
      run(async () => {
        const dataDir = await dataFolderOf(context, options);
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
