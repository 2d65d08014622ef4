import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type CommandOptions, type CommandResult, holdfast } from './command.ts';
import { installedPackage, newData } from '../../scripts/installed.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SOURCES = join(import.meta.dirname, '..', '..', 'src', 'index.ts');

/** The package that the command itself is of: with another copy there would be two of every class. */
function door({ node }: CommandOptions): string {
  return pathToFileURL(node === undefined ? join(installedPackage(), 'dist', 'index.js') : SOURCES).href;
}

export interface ConfiguredFolder {
  readonly folder: string;
  /** Runs the real command in the folder. */
  readonly holdfast: (...args: string[]) => Promise<CommandResult>;
  /** The same with `--json`: the exit code and the document. */
  readonly json: (...args: string[]) => Promise<{ readonly exit: number | null; readonly document: JsonDocument }>;
}

export type JsonDocument = Record<string, unknown> & { readonly error?: { readonly code: string } };

/**
 * A folder of the test's own with a configuration and a data folder. `agent` is the program of one agent: statements
 * that define `model` and `tools`; `tool`, `NotDone`, `recordedModelFromFile` and the file functions of Node.js are there.
 */
export async function configuredFolder(
  t: TestContext,
  agent: string,
  options: CommandOptions = {},
): Promise<ConfiguredFolder> {
  const folder = await temporaryFolder(t);
  const text = `
    import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { defineConfig, NotDone, recordedModelFromFile, tool } from ${JSON.stringify(door(options))};
    ${agent}
    export default defineConfig({ agents: [{ name: 'agent', model, tools }] });
  `;
  writeFileSync(join(folder, 'holdfast.config.ts'), text);
  const run = (...args: string[]) => holdfast(args, { cwd: folder, ...options });
  cpSync(newData(), join(folder, '.holdfast'), { recursive: true });
  return {
    folder,
    holdfast: run,
    json: async (...args) => {
      // What stands behind `--` is the command of a server.
      const own = args.includes('--') ? args.indexOf('--') : args.length;
      const { exit, stdout } = await run(...args.slice(0, own), '--json', ...args.slice(own));
      return { exit, document: JSON.parse(stdout) as JsonDocument };
    },
  };
}

/** An agent that posts one letter, which a person has to allow, and then says what it was told. Letters: `letters.txt`. */
export const LETTER_AGENT = `
  const tools = [tool({
    name: 'post',
    description: 'Posts a letter.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    effect: 'once',
    needsApproval: true,
    editable: ['to'],
    execute: ({ to }) => { appendFileSync('letters.txt', to + '\\n'); return { posted: to }; },
  })];
  const model = ({ messages }) => messages.at(-1).role === 'user'
    ? { calls: [{ callId: 'post-1', toolName: 'post', arguments: { to: 'Ada' } }] }
    : 'told: ' + messages.at(-1).text;
`;
