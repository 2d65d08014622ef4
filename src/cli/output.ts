import pc from 'picocolors';
import type { ErrorBody } from '../core/index.ts';
import { type Terminal, wantsColours } from './terminal.ts';

type Paint = ReturnType<typeof pc.createColors>;

/** How a line is painted, and how a command in it is said: with what this one was given, so that it can be pasted. */
export interface Colours extends Paint {
  readonly command: (text: string) => string;
}

/** A result in its two forms: one JSON document for programs, lines for people. */
export interface Result {
  readonly document: unknown;
  readonly lines: (colours: Colours) => readonly string[];
}

/** Where a command's answer goes. With `--json`, standard output carries exactly one JSON document, errors included. */
export interface Output {
  readonly json: boolean;
  result(result: Result): void;
  /**
   * Prints the error and gives the exit code that its row in the error table names. With `--json` it is one document too: on
   * standard error, where the answer was given already.
   */
  error(error: unknown): Promise<number>;
  /** The same at once, for a process that is ending: people are told the line. */
  ending(error: ErrorBody, line: string): void;
  /** A text of ours, its commands as they work when they are pasted: with what this one was given. */
  command(text: string): string;
  /** What this command was given is known. */
  given(command: (text: string) => string): void;
}

export function outputTo(terminal: Terminal, json: boolean): Output {
  let isAnswered = false;
  let command = (text: string): string => text;
  const withCommands = (error: ErrorBody): ErrorBody => ({ ...error, resolve: command(error.resolve) });
  const document = (body: ErrorBody): void => {
    const stream = isAnswered ? terminal.stderr : terminal.stdout;
    isAnswered = true;
    stream.write(`${JSON.stringify({ error: body })}\n`);
  };
  return {
    json,
    command: (text) => command(text),
    given: (withGiven) => {
      command = withGiven;
    },
    result: ({ document: answer, lines }) => {
      // What comes after an error that ends the process has nobody to hear it.
      if (json && isAnswered) return;
      isAnswered = true;
      const colours = { ...pc.createColors(wantsColours(terminal.stdout, terminal.env)), command };
      terminal.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${lines(colours).join('\n')}\n`);
    },
    error: async (error) => {
      // The error table is loaded when there is an error to look up: help and version start without it.
      const [{ asKnown }, { displayLines }] = await Promise.all([
        import('./known-error.ts'),
        import('../core/index.ts'),
      ]);
      const known = asKnown(error);
      const colours = pc.createColors(wantsColours(terminal.stderr, terminal.env));
      const body = withCommands(known.toJSON());
      if (json) document(body);
      else terminal.stderr.write(errorText(body, displayLines, colours));
      return known.exitCode;
    },
    ending: (error, line) => {
      if (json) document(withCommands(error));
      else terminal.stderr.write(`${line}\n`);
    },
  };
}

/** What an error says may hold what somebody wrote: names, arguments, words of another program. */
function errorText({ code, message, resolve }: ErrorBody, shown: (text: string) => string, colours: Paint): string {
  return `${colours.red(code)}: ${shown(message)}\n  ${colours.dim('what resolves it:')} ${shown(resolve)}\n`;
}
