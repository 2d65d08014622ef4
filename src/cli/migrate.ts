import type { Command } from 'commander';
import { HOLDFAST_SCHEMAS, openHoldfastStore, readConfiguration } from '../app/index.ts';
import type { CommandContext } from './commands.ts';

/** `holdfast migrate`: makes the data folder where there is none, and brings the database's tables up to date. */
export function define(command: Command, { output, terminal, run }: CommandContext): void {
  command.action((options: { dataDir?: string }) =>
    run(async () => {
      const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
      const { store } = await openHoldfastStore({ dataDir, create: true });
      await store.close();
      const contexts = HOLDFAST_SCHEMAS.map(({ context, migrations }) => ({ context, version: migrations.length }));
      output.result({
        document: { state: 'up_to_date', contexts },
        lines: () => [
          'The database is up to date.',
          ...contexts.map(({ context, version }) => `  ${context.padEnd(14)}version ${version}`),
        ],
      });
      return 0;
    }),
  );
}
