import type { ExitCode } from './commands.ts';
import type { Terminal } from './terminal.ts';
import { version } from './version.ts';

export type { Terminal, TextSink } from './terminal.ts';

/**
 * Runs the command line `argv` (without the program's name) and gives the exit code: 0 done, 1 refused, blocked or
 * unknown, 2 bad input or storage, 3 waiting for a decision. Writes to the terminal's streams; throws nothing.
 */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    terminal.stdout.write(`${version()}\n`);
    return 0;
  }
  return work(argv, terminal);
}

/** What the version alone does not need is loaded here, so that the command starts lean. */
async function work(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [{ COMMANDS }, { outputTo }, { parse }] = await Promise.all([
    import('./commands.ts'),
    import('./output.ts'),
    import('./program.ts'),
  ]);
  const output = outputTo(terminal, wantsJson(argv));
  let exit: ExitCode = 0;
  const run = async (command: () => Promise<ExitCode>): Promise<void> => {
    exit = await command();
  };
  try {
    await parse(argv, COMMANDS, { terminal, output, run });
    return exit;
  } catch (error) {
    return await output.error(error);
  }
}

/** What stands after `--` is for the command of a server. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

/** For an error that nothing caught: tells its kind, and what it cut short, and gives the exit code. */
export async function fatal(error: unknown, argv: readonly string[], terminal: Terminal): Promise<number> {
  const [{ asEarlyEnd }, { outputTo }] = await Promise.all([import('./early-end.ts'), import('./output.ts')]);
  const { error: told, speaksProtocol } = asEarlyEnd(error);
  return outputTo(terminal, wantsJson(argv) && !speaksProtocol).error(told);
}
