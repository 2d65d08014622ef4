/** A place for text: a terminal or a pipe. */
export interface TextSink {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

/** What a command knows of the process it runs in. */
export interface Terminal {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin?: { readonly isTTY?: boolean | undefined };
}

/** Whether a person can be asked at a prompt. */
export function isInteractive({ stdin, stdout }: Terminal): boolean {
  return stdin?.isTTY === true && stdout.isTTY === true;
}

/** Colours are for people who look at a terminal and did not ask to be spared them (`NO_COLOR`, `TERM=dumb`). */
export function wantsColours(sink: TextSink, env: Terminal['env']): boolean {
  return sink.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
