import { fail, HoldfastError } from '../core/index.ts';
import type { Terminal } from './terminal.ts';

/** What an error cut short, kept when the error came: until the process has ended, it may go on. */
interface CutShort {
  readonly asError: (kind: string, cause: unknown) => HoldfastError;
  readonly speaksProtocol: boolean;
}

let cutShort: CutShort | null = null;

/**
 * Tools run in this process, and may end it: by its exit, or by an error that nobody waits for. That is never exit code 0:
 * the run did not come to its stand. What ends the process from outside leaves no word. Answers how to end the watch.
 */
export function watchForEarlyEnd(terminal: Terminal, runId: () => string): () => void {
  return watch(
    () => runCutShort(runId()),
    (code) => {
      if (code === 0) process.exitCode = 1;
      terminal.stderr.write(
        `The process ended before its run. What had started is unknown until it is known: holdfast runs show ${runId()}\n`,
      );
    },
  );
}

/** A process that carries out the calls of others until it is told to end. */
export interface Serving {
  readonly what: 'gateway' | 'guard';
  /** The runs that it holds now. */
  readonly runs: () => readonly string[];
  /** How it is started again, and what that does. */
  readonly again: string;
  /** Whether standard output carries a protocol, so that nothing may be told there. */
  readonly speaksProtocol?: boolean;
}

/** The same for such a process: it ends with what may be unknown, and where to look. Only a gateway runs tools. */
export function watchServing({ stderr }: Terminal, serving: Serving): () => void {
  const cut = (): CutShort => servingCutShort(serving);
  if (serving.what === 'guard') return watch(cut, () => undefined);
  return watch(cut, (code) => {
    if (code === 0) process.exitCode = 1;
    stderr.write(`The gateway ended before its time. What had started is unknown until it is known: ${LOOK}\n`);
  });
}

function watch(cut: () => CutShort, onExit: (code: number) => void): () => void {
  const onError = (): void => {
    cutShort ??= cut();
    process.off('exit', onExit);
  };
  process.on('exit', onExit);
  process.on('uncaughtExceptionMonitor', onError);
  return () => {
    process.off('exit', onExit);
    process.off('uncaughtExceptionMonitor', onError);
  };
}

const LOOK = 'holdfast operations list --open';
const MEND =
  'Look for what a tool or the model throws in a timer or an event, where nobody waits for it, and let it reject its ' +
  'promise instead; if nothing does, report what you did.';
/** So many runs are named; the others are counted. */
const NAMED = 20;

function runCutShort(runId: string): CutShort {
  return {
    speaksProtocol: false,
    asError: (kind, cause) =>
      fail(
        'RUN_PROCESS_ENDED',
        `An error outside any call (${kind}) ended the process of run ${runId}. What had started is unknown until it is known.`,
        { cause, details: { run_id: runId }, resolve: `See what is known of it: holdfast runs show ${runId}. ${MEND}` },
      ),
  };
}

function servingCutShort({ what, runs, again, speaksProtocol = false }: Serving): CutShort {
  const all = runs();
  const named = all.slice(0, NAMED);
  const more = all.length > named.length ? ` and ${all.length - named.length} more` : '';
  const held = all.length === 0 ? 'It carried out no run.' : `It carried out: ${named.join(', ')}${more}.`;
  return {
    speaksProtocol,
    asError: (kind, cause) =>
      fail(
        'SERVING_ENDED',
        `An error outside any call (${kind}) ended the ${what}. ${held} What had started is unknown until it is known.`,
        {
          cause,
          details: { run_ids: named.join(', ') },
          resolve: `See which calls may be unknown: ${LOOK}. ${again} ${MEND}`,
        },
      ),
  };
}

/** What is to be told of an error that nothing caught, and whether standard output is free for it. */
export interface EarlyEnd {
  readonly error: unknown;
  readonly speaksProtocol: boolean;
}

/**
 * RUN_PROCESS_ENDED or SERVING_ENDED with what the error cut short, or the error itself. Its words may hold paths or
 * secrets, so only its kind is told.
 */
export function asEarlyEnd(error: unknown): EarlyEnd {
  if (cutShort === null) return { error, speaksProtocol: false };
  const name = error instanceof Error ? error.name : typeof error;
  const kind = error instanceof HoldfastError ? error.code : name;
  return { error: cutShort.asError(kind, error), speaksProtocol: cutShort.speaksProtocol };
}
