import type { RunView } from '../app/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { runLines } from './run-lines.ts';

/** Prints a run and gives the exit code of how it stands. */
export async function tell({ output }: CommandContext, view: RunView): Promise<ExitCode> {
  const { runDocument } = await import('../app/index.ts');
  output.result({ document: runDocument(view), lines: (colours) => runLines(view, colours) });
  return exitOf(view);
}

/** 0 done, 3 waiting for a decision, 1 for whatever else a run can be. */
export function exitOf(view: RunView): ExitCode {
  if (view.status === 'completed') return view.outcome === 'unknown' ? 1 : 0;
  return view.status === 'waiting_confirmation' ? 3 : 1;
}
