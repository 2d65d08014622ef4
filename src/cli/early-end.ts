import { fail, HoldfastError } from '../core/index.ts';
import type { Terminal } from './terminal.ts';

/** The run that an error cut short, kept when the error came: until the process has ended, it may go on. */
let cutShort: string | null = null;

/**
 * Tools run in this process, and may end it: by its exit, or by an error that nobody waits for. That is never exit code 0:
 * the run did not come to its stand. What ends the process from outside leaves no word. Answers how to end the watch.
 */
export function watchForEarlyEnd(terminal: Terminal, runId: () => string): () => void {
  const onExit = (code: number): void => {
    if (code === 0) process.exitCode = 1;
    terminal.stderr.write(
      `The process ended before its run. What had started is unknown until it is known: holdfast runs show ${runId()}\n`,
    );
  };
  const onError = (): void => {
    cutShort ??= runId();
    process.off('exit', onExit);
  };
  process.on('exit', onExit);
  process.on('uncaughtExceptionMonitor', onError);
  return () => {
    process.off('exit', onExit);
    process.off('uncaughtExceptionMonitor', onError);
  };
}

/**
 * What to tell of an error that nothing caught: RUN_PROCESS_ENDED with the run that it cut short, or the error itself.
 * Its words may hold paths or secrets, so only its kind is told.
 */
export function asEarlyEnd(error: unknown): unknown {
  if (cutShort === null) return error;
  const name = error instanceof Error ? error.name : typeof error;
  const kind = error instanceof HoldfastError ? error.code : name;
  const message = `An error outside any call (${kind}) ended the process of run ${cutShort}. What had started is unknown until it is known.`;
  return fail('RUN_PROCESS_ENDED', message, {
    cause: error,
    details: { run_id: cutShort },
    resolve:
      `See what is known of it: holdfast runs show ${cutShort}. Look for what a tool or the model throws in a timer or ` +
      'an event, where nobody waits for it, and let it reject its promise instead; if nothing does, report what you did.',
  });
}
