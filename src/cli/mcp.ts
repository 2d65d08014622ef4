import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { GuardBasics } from '../app/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { watchServing } from './early-end.ts';
import { readPolicyFile, writeNewFile } from './small-files.ts';
import { spelled } from './shell-word.ts';
import { checkTarget } from './target-file.ts';

interface GuardCommandOptions {
  readonly policy?: string;
  readonly config?: string;
  readonly wait?: string;
  readonly url?: string;
  readonly listen?: string;
  readonly dataDir?: string;
}

interface InitOptions {
  readonly url?: string;
  readonly name: string;
  readonly out: string;
  readonly preset?: string;
  readonly root?: string;
}

const POLICY_FILE = 'holdfast.policy.json';
/** What a server is called unless told. */
const NAME = 'server';

/**
 * `holdfast mcp -- COMMAND ARGS` stands in front of a server; `holdfast mcp init -- COMMAND` writes its first policy. At a
 * signal, as when its host goes, a guard starts nothing more and gives what is under way a little time to be answered; a
 * second signal ends it at once.
 */
export function define(command: Command, context: CommandContext): void {
  command
    .command('guard', { isDefault: true })
    .description('Stand in front of a server: one that is started here, or one behind an address')
    .argument('[command...]', 'The server’s command and its arguments, after --')
    .option('--url <url>', 'Instead of a command: where a server speaks streamable HTTP')
    .option('--listen <port>', 'With --url: the port of this machine on which hosts find the guard')
    .option('--policy <file>', `What may pass, what waits, what is refused (else ${POLICY_FILE})`)
    .option('--config <file>', 'The same: the guard is configured by its policy alone')
    .option('--wait <seconds>', 'How long a held call keeps its host waiting', '45')
    .action((words: string[], options: GuardCommandOptions) => context.run(() => guard(context, words, options)));
  command
    .command('init')
    .description('Ask a server for its tools and write a policy to begin with')
    .argument('[command...]', 'The server’s command and its arguments, after --')
    .option('--url <url>', 'Instead of a command: where a server speaks streamable HTTP')
    .option('--name <name>', 'The server’s name in claims and messages', NAME)
    .option('--preset <name>', 'Known tools of a published server: filesystem, git, memory')
    .option('--root <folder>', 'With the presets filesystem and git: the folder that the server works in')
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
  const server = await serverOf(words, options.url);
  let runs: () => readonly string[] = () => [];
  watchServing(context, {
    what: 'guard',
    runs: () => runs(),
    again: 'Then start it again, or let its host do so; what waited in it is asked anew.',
    speaksProtocol: !('url' in server),
  });
  const settings = {
    command: (text: string): string => context.output.command(text),
    onOpen: (held: () => readonly string[]): void => {
      runs = held;
    },
    dataDir: readConfiguration({ env: terminal.env, dataDir: options.dataDir }).dataDir,
    waitMs: (await wholeNumber('--wait', options.wait, 3600)) * 1000,
    policy: readPolicyFile(await policyFileOf(options)),
  };
  if ('url' in server) return listen(settings, server.url, await wholeNumber('--listen', options.listen, 65_535));
  const { stdin: input, stdout: output, stderr: errors } = process;
  onSignals(() => {
    // Once its host has gone it ends already; ended in the ordinary way, the server does not outlive the process.
    if (input.readableEnded || input.destroyed) process.exit(1);
    input.destroy();
  });
  const code = await runGuard({ ...settings, server, host: { input, output, errors } });
  return code === 0 ? 0 : 1;
}

async function policyFileOf({ policy, config }: GuardCommandOptions): Promise<string> {
  const { fail } = await import('../core/index.ts');
  if (policy !== undefined && config !== undefined && policy !== config)
    throw fail('INVALID_VALUE', 'Give the policy file once, with --policy.');
  return policy ?? config ?? POLICY_FILE;
}

function onSignals(heard: () => void): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, heard);
}

/** Serves hosts over HTTP until a signal comes; a second ends it at once. */
async function listen(settings: GuardBasics, url: string, port: number): Promise<ExitCode> {
  const { runHttpGuard } = await import('../app/index.ts');
  const tell = (line: string): void => void process.stderr.write(`holdfast: ${line}\n`);
  let isSignalled = false;
  const signalled = new Promise<void>((resolve) => {
    onSignals(() => {
      if (isSignalled) process.exit(1);
      isSignalled = true;
      resolve();
    });
  });
  const running = await runHttpGuard({ ...settings, url, port, tell });
  tell(`listening on ${running.url}`);
  await signalled;
  await running.close();
  return 0;
}

async function serverOf(
  words: readonly string[],
  url: string | undefined,
): Promise<{ readonly command: string; readonly args: readonly string[] } | { readonly url: string }> {
  const { fail } = await import('../core/index.ts');
  const [command, ...args] = words;
  if (url !== undefined && command === undefined) return { url };
  if (command === undefined || url !== undefined)
    throw fail('INVALID_VALUE', 'Give the server’s command after --, or its address with --url.');
  return { command, args };
}

async function wholeNumber(option: string, text: string | undefined, most: number): Promise<number> {
  const { fail } = await import('../core/index.ts');
  const number = Number(text);
  if (text === undefined || !/^\d{1,6}$/.test(text) || number > most)
    throw fail('INVALID_VALUE', `${option} must be a whole number up to ${most}.`);
  return number;
}

/** The same with another file: whoever pastes it gets the policy that was asked for. */
function initAgain(words: readonly string[], { url, name, preset, root }: InitOptions, path: string): string {
  const told = { ...(name === NAME ? {} : { name }), preset, root, url };
  const options = Object.entries(told).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option} ${spelled(value)}`],
  );
  const server = words.length === 0 ? [] : ['--', ...words.map(spelled)];
  return ['holdfast mcp init', ...options, `--out ${path}`, ...server].join(' ');
}

async function init(
  { output, terminal }: CommandContext,
  words: readonly string[],
  options: InitOptions,
): Promise<ExitCode> {
  const { connectMcp, POLICY_PRESETS, readPolicy, startingPolicy } = await import('../mcp/index.ts');
  const { displayText, fail } = await import('../core/index.ts');
  const { name, preset, root, out } = options;
  if (preset !== undefined && !Object.hasOwn(POLICY_PRESETS, preset))
    throw fail('INVALID_VALUE', `There are presets for ${Object.keys(POLICY_PRESETS).join(', ')}.`);
  checkTarget({
    what: 'the new policy file',
    path: out,
    name: POLICY_FILE,
    command: (path) => initAgain(words, options, path),
  });
  const server = await serverOf(words, options.url);
  const env = Object.fromEntries(
    Object.entries(terminal.env).filter((one): one is [string, string] => one[1] !== undefined),
  );
  const connection = await connectMcp({ name, server: 'url' in server ? server : { ...server, env } });
  try {
    const { tools, unusable } = await connection.toolList();
    // The guard holds what its policy does not name, so a tool that is left out here is never let through unasked.
    for (const one of unusable)
      terminal.stderr.write(
        `holdfast: ${displayText(`the policy does not name the tool ${one.name}: ${one.reason} (MCP_TOOLS_INVALID)`)}\n`,
      );
    const listed = tools.map((tool) => ({
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
      lines: (colours) => [
        `Wrote ${out} for ${listed.length} tools. Read it: what it does not allow waits for a person.`,
        'url' in server
          ? `Then start: ${colours.command(`holdfast mcp --policy ${spelled(out)} --url ${spelled(server.url)} --listen PORT`)}`
          : `Then let the host start: ${colours.command(`holdfast mcp --policy ${spelled(out)} -- ${words.map(spelled).join(' ')}`)}`,
      ],
    });
    return 0;
  } finally {
    await connection.close();
  }
}
