import type { RunView, Runtime } from '../app/index.ts';
import { viewOfRun } from '../app/index.ts';
import type { ShownRequest } from '../approvals/index.ts';
import { displayText, HoldfastError } from '../core/index.ts';
import { namingRun, type RunHandle, type RunListener } from '../runs/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { runEnded, watchForEarlyEnd } from './early-end.ts';
import { askAtPrompt } from './prompt.ts';
import { outcomeWords } from './run-lines.ts';
import { tell } from './tell-run.ts';
import { isInteractive } from './terminal.ts';

/**
 * Carries a run on while a person watches: calls are shown as they happen, on a terminal each request is asked about at
 * the prompt, and without one the command ends with exit code 3. Ctrl-C stops the run kindly; a second one ends the
 * process at once, and what had started is then unknown.
 */
export async function watchedRun(
  context: CommandContext,
  runtime: Runtime,
  begin: (listener: RunListener) => Promise<RunHandle>,
): Promise<ExitCode> {
  const exit = await carriedOn(context, runtime, begin);
  // This process ends: who is to decide would hear of it from the next one alone.
  if (exit === 3) await runtime.tellWaiting();
  return exit;
}

async function carriedOn(
  context: CommandContext,
  runtime: Runtime,
  begin: (listener: RunListener) => Promise<RunHandle>,
): Promise<ExitCode> {
  const listener = listenerFor(context);
  let handle = await begin(listener);
  const runId = (): string => handle.runId;
  const unhookExit = watchForEarlyEnd(context, runId);
  const interrupt = stopOnInterrupt(context, runtime, runId, unhookExit);
  const view = (): Promise<RunView> => viewOfRun(runtime, runtime.principal, runId());
  try {
    return await namingRun(runId(), async () => {
      for (;;) {
        await handle.ended;
        const asked = await view();
        const decided = await decideHere(context, runtime, asked, interrupt.signal);
        await interrupt.stopped();
        // While a person was asked the run may have been stopped, or decided by somebody else.
        if (!decided || interrupt.signal.aborted) return tell(context, await view());
        handle = await runtime.runs.resume(runtime.principal, runId(), listener);
      }
    });
  } finally {
    interrupt.unhook();
    unhookExit();
  }
}

/** Asks about everything that waits; false where nobody is there to ask, or nothing waits. The signal ends the asking. */
async function decideHere(
  context: CommandContext,
  runtime: Runtime,
  view: RunView,
  signal: AbortSignal,
): Promise<boolean> {
  const waits = view.status === 'waiting_confirmation' || view.pending.length > 0;
  if (!waits || signal.aborted || context.output.json || !isInteractive(context.terminal)) return false;
  for (const request of view.pending) if (!(await decideOne(context, runtime, request, signal))) return false;
  return true;
}

/** Whoever typed a wrong edit, or allowed what no longer fits, is asked again; a request that is over by now is told, and the run goes on with what it is. */
async function decideOne(
  context: CommandContext,
  runtime: Runtime,
  request: ShownRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { requestId, digest } = request;
  for (;;) {
    const said = await askAtPrompt(request, signal);
    if (!said) return false;
    try {
      await runtime.approvals.decide(runtime.principal, [{ requestId, digest, ...said }]);
      return true;
    } catch (error) {
      if (!(error instanceof HoldfastError) || !(TO_SAY_ANEW.has(error.code) || OVER.has(error.code))) throw error;
      context.terminal.stderr.write(`${error.code}: ${displayText(error.message)}\n`);
      if (OVER.has(error.code)) return true;
    }
  }
}

const TO_SAY_ANEW: ReadonlySet<string> = new Set([
  'APPROVAL_EDIT_FORBIDDEN',
  'APPROVAL_ARGUMENTS_INVALID',
  'APPROVAL_BINDING_MISMATCH',
]);
const OVER: ReadonlySet<string> = new Set(['APPROVAL_ALREADY_DECIDED', 'APPROVAL_EXPIRED']);

function listenerFor({ terminal, output }: Pick<CommandContext, 'terminal' | 'output'>): RunListener {
  if (output.json) return {};
  const say = (line: string): void => void terminal.stderr.write(`${line}\n`);
  return {
    onStarted: (_callId, toolName) => say(`… ${displayText(toolName)}`),
    onProgress: (_callId, update) =>
      say(`  ${update.done}${update.total === undefined ? '' : `/${update.total}`} ${displayText(update.text ?? '')}`),
    onCallRetry: (_callId, toolName, retry, pauseMs) =>
      say(`  ${displayText(toolName)} failed; tried again (${retry}) after ${pauseMs} ms.`),
    onRetry: (attempt, pauseMs) => say(`  The model failed; asked again (${attempt}) after ${pauseMs} ms.`),
    onChanged: (fields) => say(`  The agent is defined otherwise than when the run began: ${fields.join(', ')}.`),
    onChild: ({ agent }) => {
      say(`… the agent ${displayText(agent)}`);
      return listenerFor({ terminal, output });
    },
    onOutcome: (_callId, toolName, outcome) => say(`  ${displayText(toolName)}: ${outcomeWords(outcome, output)}`),
  };
}

interface Interrupt {
  /** Aborted at the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** Settles once the stop that was asked for is written down; at once where none was. */
  readonly stopped: () => Promise<void>;
  readonly unhook: () => void;
}

function stopOnInterrupt(
  { terminal, output }: CommandContext,
  runtime: Runtime,
  runId: () => string,
  unhookExit: () => void,
): Interrupt {
  const asked = new AbortController();
  let stopping: Promise<void> = Promise.resolve();
  const onInterrupt = (): void => {
    if (asked.signal.aborted) {
      unhookExit();
      const look = output.command('holdfast operations list --open');
      output.ending(
        runEnded(runId(), 'A second signal ended', '').toJSON(),
        `Ended at once. What had started is unknown until it is known: ${look}`,
      );
      process.exit(1);
    }
    // Before it is said: until a stop is written down, what is ready would go on beginning.
    runtime.runs.holdHere(runId());
    terminal.stderr.write('Stopping; nothing more is started. Ctrl-C again ends at once.\n');
    // What stopping meets is met by the run too, and told there.
    stopping = runtime.runs.stop(runtime.principal, runId()).then(
      () => undefined,
      () => undefined,
    );
    asked.abort();
  };
  process.on('SIGINT', onInterrupt);
  return { signal: asked.signal, stopped: () => stopping, unhook: () => void process.off('SIGINT', onInterrupt) };
}
