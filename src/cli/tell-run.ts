import type { RunView } from '../app/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { runLines } from './run-lines.ts';

/** Prints a run and gives the exit code of how it stands. */
export async function tell({ output }: CommandContext, view: RunView): Promise<ExitCode> {
  const { runDocument } = await import('../app/index.ts');
  output.result({ document: runDocument(view), lines: (colours) => runLines(view, colours) });
  return exitOf(view);
}

/** 0 done, and verified where it is supervised; 3 waiting for a decision; 1 for whatever else a run can be. */
export function exitOf(view: RunView): ExitCode {
  if (view.supervision && view.status === 'completed') return ofSupervised(view);
  if (view.status === 'completed') return view.outcome === 'unknown' ? 1 : 0;
  return view.status === 'waiting_confirmation' ? 3 : 1;
}

/** What the author came to is not enough: it counts as done once it is verified. */
function ofSupervised({ outcome, supervision, pending }: RunView): ExitCode {
  if (pending.length > 0) return 3;
  return outcome === null && supervision?.status === 'verified' ? 0 : 1;
}
