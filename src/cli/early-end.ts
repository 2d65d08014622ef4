import { fail, HoldfastError } from '../core/index.ts';
import type { CommandContext } from './commands.ts';

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
export function watchForEarlyEnd({ output }: CommandContext, runId: () => string): () => void {
  return watch(
    () => runCutShort(runId()),
    (code) => {
      if (code === 0) process.exitCode = 1;
      const show = output.command(`holdfast runs show ${runId()}`);
      output.ending(
        runEnded(runId(), 'Something ended', NO_EXIT).toJSON(),
        `The process ended before its run. What had started is unknown until it is known: ${show}`,
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
export function watchServing({ output }: CommandContext, serving: Serving): () => void {
  const cut = (): CutShort => servingCutShort(serving);
  if (serving.what === 'guard') return watch(cut, () => undefined);
  return watch(cut, (code) => {
    if (code === 0) process.exitCode = 1;
    output.ending(
      servingEnded(serving, 'Something ended', NO_EXIT).toJSON(),
      `The gateway ended before its time. What had started is unknown until it is known: ${output.command(LOOK)}`,
    );
  });
}

function watch(cut: () => CutShort, onExit: (code: number) => void): () => void {
  const onError = (): void => {
    cutShort ??= cut();
    process.off('exit', onExit);
  };
  // Before whoever knows less of what was cut short.
  process.prependListener('exit', onExit);
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
const NO_EXIT = 'Look for a tool or a model that ends the process, and let it throw instead.';
/** So many runs are named; the others are counted. */
const NAMED = 20;

/** RUN_PROCESS_ENDED: `what` ended it, and how that is mended. */
export function runEnded(runId: string, what: string, mend: string, cause?: unknown): HoldfastError {
  const resolve = [`See what is known of it: holdfast runs show ${runId}.`, mend].join(' ').trim();
  const message = `${what} the process of run ${runId}. What had started is unknown until it is known.`;
  return fail('RUN_PROCESS_ENDED', message, { cause, details: { run_id: runId }, resolve });
}

function runCutShort(runId: string): CutShort {
  return {
    speaksProtocol: false,
    asError: (kind, cause) => runEnded(runId, `An error outside any call (${kind}) ended`, MEND, cause),
  };
}

function servingEnded({ what, runs, again }: Serving, ended: string, mend: string, cause?: unknown): HoldfastError {
  const all = runs();
  const named = all.slice(0, NAMED);
  const more = all.length > named.length ? ` and ${all.length - named.length} more` : '';
  const held = all.length === 0 ? 'It carried out no run.' : `It carried out: ${named.join(', ')}${more}.`;
  return fail('SERVING_ENDED', `${ended} the ${what}. ${held} What had started is unknown until it is known.`, {
    cause,
    details: { run_ids: named.join(', ') },
    resolve: `See which calls may be unknown: ${LOOK}. ${again} ${mend}`,
  });
}

function servingCutShort(serving: Serving): CutShort {
  return {
    speaksProtocol: serving.speaksProtocol ?? false,
    asError: (kind, cause) => servingEnded(serving, `An error outside any call (${kind}) ended`, MEND, cause),
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
