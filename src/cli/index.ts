import type { ExitCode } from './commands.ts';
import type { Output } from './output.ts';
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
  outputs.set(terminal, output);
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

/** What was said already where a command runs: an error that nothing caught is told after it. */
const outputs = new WeakMap<Terminal, Output>();

/** What stands after `--` is for the command of a server. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return (end === -1 ? argv : argv.slice(0, end)).includes('--json');
}

/** What Node.js ends with where something is awaited that can never come. */
const UNSETTLED = 13;

/**
 * For a process that ended before its command was done, such as by a configuration that calls `process.exit`: says so,
 * where nobody said more, and gives the exit code: never 0.
 */
export function endedEarly(code: number, terminal: Terminal): number {
  if (code !== 0 && code !== UNSETTLED) return code;
  const message = 'The process ended before its command was done.';
  const resolve =
    'Look for what ends the process, or waits for what never comes, in the configuration or a tool, and let it throw instead.';
  const line = `UNEXPECTED: ${message}\n  what resolves it: ${resolve}`;
  outputs.get(terminal)?.ending({ code: 'UNEXPECTED', message, retryable: false, resolve }, line);
  return 2;
}

/** For an error that nothing caught: tells its kind, and what it cut short, and gives the exit code. */
export async function fatal(error: unknown, argv: readonly string[], terminal: Terminal): Promise<number> {
  const [{ asEarlyEnd }, { outputTo }] = await Promise.all([import('./early-end.ts'), import('./output.ts')]);
  const { error: told, speaksProtocol } = asEarlyEnd(error);
  const before = outputs.get(terminal);
  if (before && !speaksProtocol) return before.error(told);
  const output = outputTo(terminal, wantsJson(argv) && !speaksProtocol);
  if (before) output.given((text) => before.command(text));
  return output.error(told);
}
