import { Command, CommanderError, Option } from 'commander';
import type { CommandContext, CommandEntry } from './commands.ts';
import type { Given } from './given-options.ts';
import { version } from './version.ts';

/** Parses the command line and runs the command it names. A line that makes no sense throws commander's own error. */
export async function parse(
  argv: readonly string[],
  entries: readonly CommandEntry[],
  context: CommandContext,
): Promise<void> {
  const program = new Command('holdfast')
    .description('A durable, fail-closed runtime for AI agents that act.')
    .version(version(), '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show this help');
  quiet(program, context);
  const asked = askedFor(argv);
  for (const entry of entries) {
    const command = program.command(entry.name).description(entry.summary);
    quiet(command, context);
    if (entry.name === asked) await load(command, entry, context);
  }
  try {
    await program.parseAsync(helpAsOption(argv), { from: 'user' });
  } catch (error) {
    // Help that was asked for is no error.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
}

/** Help of a command in a group is the same as its `--help`: commander's own `help` knows the first word alone. */
function helpAsOption(argv: readonly string[]): string[] {
  const [first, group, leaf] = argv;
  return first === 'help' && group !== undefined && leaf !== undefined ? [group, leaf, '--help'] : [...argv];
}

/** The command that is asked for: the first word, or after `help` the second. */
function askedFor(argv: readonly string[]): string | undefined {
  const words = argv.filter((word) => !word.startsWith('-'));
  return words[0] === 'help' ? words[1] : words[0];
}

async function load(command: Command, entry: CommandEntry, context: CommandContext): Promise<void> {
  const [{ define }, { readsConfiguration, withGiven }] = await Promise.all([
    entry.load(),
    import('./given-options.ts'),
  ]);
  define(command, context);
  // A group of commands takes none of them itself, or it would take them from the command that it leads to.
  const leaves = command.commands.length > 0 ? command.commands : [command];
  for (const leaf of leaves) {
    leaf.addOption(new Option('--json', 'Answer with one JSON document'));
    if (readsConfiguration(entry.name))
      leaf.addOption(new Option('--config <file>', 'The configuration (else holdfast.config.ts, where there is one)'));
    leaf.addOption(new Option('--data-dir <folder>', 'The data folder (else HOLDFAST_DATA_DIR, else .holdfast)'));
    quiet(leaf, context);
    leaf.hook('preAction', () => {
      const { dataDir, config } = leaf.opts<Given>();
      // What a guard calls its configuration is its policy.
      context.output.given(withGiven(entry.name === 'mcp' ? { dataDir } : { dataDir, config }));
    });
  }
}

/** Commander neither ends the process nor prints errors: both are ours to do. */
function quiet(command: Command, { terminal }: CommandContext): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => terminal.stdout.write(text),
    writeErr: () => undefined,
    outputError: () => undefined,
  });
}
