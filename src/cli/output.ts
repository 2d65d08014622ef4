import pc from 'picocolors';
import type { ErrorBody } from '../core/index.ts';
import { type Terminal, wantsColours } from './terminal.ts';

type Colours = ReturnType<typeof pc.createColors>;

/** A result in its two forms: one JSON document for programs, lines for people. */
export interface Result {
  readonly document: unknown;
  readonly lines: (colours: Colours) => readonly string[];
}

/** Where a command's answer goes. With `--json`, standard output carries exactly one JSON document, errors included. */
export interface Output {
  readonly json: boolean;
  result(result: Result): void;
  /** Prints the error (on standard error, where the answer was given already) and gives the exit code that its row in the error table names. */
  error(error: unknown): Promise<number>;
}

export function outputTo(terminal: Terminal, json: boolean): Output {
  let isAnswered = false;
  return {
    json,
    result: ({ document, lines }) => {
      isAnswered = true;
      const colours = pc.createColors(wantsColours(terminal.stdout, terminal.env));
      terminal.stdout.write(json ? `${JSON.stringify(document)}\n` : `${lines(colours).join('\n')}\n`);
    },
    error: async (error) => {
      // The error table is loaded when there is an error to look up: help and version start without it.
      const [{ asKnown }, { displayLines }] = await Promise.all([
        import('./known-error.ts'),
        import('../core/index.ts'),
      ]);
      const known = asKnown(error);
      const colours = pc.createColors(wantsColours(terminal.stderr, terminal.env));
      if (json && !isAnswered) terminal.stdout.write(`${JSON.stringify({ error: known.toJSON() })}\n`);
      else terminal.stderr.write(errorText(known.toJSON(), displayLines, colours));
      return known.exitCode;
    },
  };
}

/** What an error says may hold what somebody wrote: names, arguments, words of another program. */
function errorText({ code, message, resolve }: ErrorBody, shown: (text: string) => string, colours: Colours): string {
  return `${colours.red(code)}: ${shown(message)}\n  ${colours.dim('what resolves it:')} ${shown(resolve)}\n`;
}
