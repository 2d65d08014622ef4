import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext, ExitCode } from './commands.ts';
import { readSmallFile, writeNewFile } from './small-files.ts';

interface GuardCommandOptions {
  readonly policy: string;
  readonly wait?: string;
  readonly dataDir?: string;
}

interface InitOptions {
  readonly name: string;
  readonly out: string;
  readonly preset?: string;
  readonly root?: string;
}

const POLICY_FILE = 'holdfast.policy.json';

/** `holdfast mcp -- COMMAND ARGS` stands in front of a server; `holdfast mcp init -- COMMAND` writes its first policy. */
export function define(command: Command, context: CommandContext): void {
  command
    .command('guard', { isDefault: true })
    .description('Start a server and stand between it and the host on standard input and output')
    .argument('<command...>', 'The server’s command and its arguments, after --')
    .option('--policy <file>', 'What may pass, what waits, what is refused', POLICY_FILE)
    .option('--wait <seconds>', 'How long a held call keeps its host waiting', '45')
    .action((words: string[], options: GuardCommandOptions) => context.run(() => guard(context, words, options)));
  command
    .command('init')
    .description('Ask a server for its tools and write a policy to begin with')
    .argument('<command...>', 'The server’s command and its arguments, after --')
    .option('--name <name>', 'The server’s name in claims and messages', 'server')
    .option('--preset <name>', 'Known tools of a published server: filesystem, memory')
    .option('--root <folder>', 'With the preset filesystem: the folder that the server works in')
    .option('--out <file>', 'The new policy file', POLICY_FILE)
    .action((words: string[], options: InitOptions) => context.run(() => init(context, words, options)));
}

async function guard(
  context: CommandContext,
  words: readonly string[],
  options: GuardCommandOptions,
): Promise<ExitCode> {
  const { terminal } = context;
  const { readConfiguration, runGuard } = await import('../app/index.ts');
  const { fail } = await import('../core/index.ts');
  const seconds = Number(options.wait);
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > 3600)
    throw fail('INVALID_VALUE', '--wait must be a whole number of seconds up to 3600.');
  const policy = readSmallFile('the policy file', options.policy);
  const { dataDir } = readConfiguration({ env: terminal.env, dataDir: options.dataDir });
  const [name = '', ...args] = words;
  // A signal ends the process in the ordinary way, so that the server does not outlive it.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  const { stdin: input, stdout: output, stderr: errors } = process;
  const host = { input, output, errors };
  const code = await runGuard({ dataDir, policy, server: { command: name, args }, host, waitMs: seconds * 1000 });
  return code === 0 ? 0 : 1;
}

async function init(
  { output, terminal }: CommandContext,
  words: readonly string[],
  options: InitOptions,
): Promise<ExitCode> {
  const { connectMcp, POLICY_PRESETS, readPolicy, startingPolicy } = await import('../mcp/index.ts');
  const { fail } = await import('../core/index.ts');
  const { name, preset, root, out } = options;
  if (preset !== undefined && !Object.hasOwn(POLICY_PRESETS, preset))
    throw fail('INVALID_VALUE', `There are presets for ${Object.keys(POLICY_PRESETS).join(' and ')}.`);
  const [command = '', ...args] = words;
  const env = Object.fromEntries(
    Object.entries(terminal.env).filter((one): one is [string, string] => one[1] !== undefined),
  );
  const connection = await connectMcp({ name, server: { command, args, env } });
  try {
    const listed = (await connection.listTools()).map((tool) => ({
      name: tool.name,
      ...(tool.annotations?.readOnlyHint === true ? { readOnly: true } : {}),
    }));
    const policy = startingPolicy({
      server: name,
      listed,
      ...(preset === undefined ? {} : { preset }),
      ...(root === undefined ? {} : { rootPath: resolve(root) }),
    });
    const text = `${JSON.stringify(policy, null, 2)}\n`;
    readPolicy(text);
    writeNewFile('the new policy file', out, text);
    output.result({
      document: { policy: out, tools: listed.length },
      lines: () => [
        `Wrote ${out} for ${listed.length} tools. Read it: what it does not allow waits for a person.`,
        `Then let the host start: holdfast mcp --policy ${out} -- ${words.join(' ')}`,
      ],
    });
    return 0;
  } finally {
    await connection.close();
  }
}
