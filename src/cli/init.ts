import { existsSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { CONFIG_FILES, newConfigFile, openHoldfastStore, readConfiguration } from '../app/index.ts';
import { fail, wrapFileError } from '../core/index.ts';
import type { CommandContext } from './commands.ts';

const CONFIG = `import { defineConfig, tool } from 'holdfast';

const note = tool({
  name: 'add_note',
  description: 'Add a line to the notes.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false },
  effect: 'once', // read | idempotent | reconcilable | once: what may be done again after a crash
  needsApproval: true,
  async execute(input) {
    return { added: input.text };
  },
});

export default defineConfig({
  agents: [
    {
      name: 'agent',
      // Any AI SDK language model, or a function of the conversation such as this one.
      model: (request) =>
        request.messages.at(-1)?.role === 'user'
          ? { calls: [{ toolName: 'add_note', arguments: { text: request.messages.at(-1)?.text ?? '' } }] }
          : 'Done.',
      tools: [note],
    },
  ],
});
`;

function writeNewText(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw wrapFileError(error, 'the configuration file');
  }
}

/** `holdfast init`: writes a configuration to begin with, and makes the data folder. CONFIG_EXISTS where there is one. */
export function define(command: Command, { output, terminal, run }: CommandContext): void {
  command.action((options: { dataDir?: string }) =>
    run(async () => {
      if (CONFIG_FILES.some((name) => existsSync(name)))
        throw fail('CONFIG_EXISTS', 'This folder has a configuration already.');
      const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
      const { store } = await openHoldfastStore({ dataDir, create: true });
      await store.close();
      const config = newConfigFile();
      writeNewText(config, CONFIG);
      output.result({
        document: { config, data_dir: dataDir },
        lines: (colours) => [
          `Wrote ${config} and made the data folder.`,
          `Try it: ${colours.command('holdfast run "Remember the milk"')}`,
        ],
      });
      return 0;
    }),
  );
}
