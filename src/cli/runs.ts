import type { Command } from 'commander';
import type { RunView } from '../app/index.ts';
import type { DamagedRun } from '../runs/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { damagedRow, runRow } from './run-lines.ts';
import { tell } from './tell-run.ts';
import { entriesOf, moreLine, noneLine } from './pages.ts';
import { type RunOptions, withAgents, withoutAgents } from './with-runtime.ts';

/** Of one run, at a time: a guard may make a hundred thousand. */
const MOST_CALLS = 200;
/** How many runs a page has unless told. */
const PAGE = '20';

type ShowOptions = RunOptions & { readonly limit: string; readonly before?: string };

/** `holdfast runs list|show|stop|resume`. */
export function define(command: Command, context: CommandContext): void {
  command
    .command('list')
    .description('Runs, newest first')
    .option('--limit <n>', 'At most this many', PAGE)
    .option('--before <run>', 'The page that follows this one')
    .action((options: RunOptions & { limit: string; before?: string }) => context.run(() => list(context, options)));
  command
    .command('show <run>')
    .description('One run: how it stands, its newest calls and their outcomes, what waits')
    .option('--limit <n>', 'At most so many calls, up to 200', String(MOST_CALLS))
    .option('--before <place>', 'The page of calls before this one')
    .action((runId: string, options: ShowOptions) => context.run(() => show(context, runId, options)));
  command
    .command('stop <run>')
    .description('Start nothing more of it; what has started is unknown until it is known')
    .action((runId: string, options: RunOptions) => context.run(() => stop(context, runId, options)));
  command
    .command('resume <run>')
    .description('Carry on a run that waits, was interrupted, or failed; what is unknown is asked about first')
    .option('--adopt', 'Go on as the agent is defined now, not as the run began')
    .action((runId: string, options: RunOptions & { adopt?: true }) =>
      context.run(() => resume(context, runId, options)),
    );
}

async function list(context: CommandContext, options: RunOptions & { limit: string; before?: string }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { viewOfRun, runDocument } = await import('../app/index.ts');
    const { limit: limitText, before } = options;
    const limit = Math.min(entriesOf(limitText), 200);
    const page = await runtime.runs.list(runtime.principal, before === undefined ? { limit } : { before, limit });
    const views: RunView[] = [];
    const damaged: Pick<DamagedRun, 'runId' | 'code' | 'why'>[] = [...page.damaged];
    for (const { runId } of page.items) {
      const shown = await orDamage(runId, viewOfRun(runtime, runtime.principal, runId, { limit: MOST_CALLS }));
      if ('why' in shown) damaged.push(shown);
      else views.push(shown);
    }
    context.output.result({
      document: {
        runs: views.map(runDocument),
        damaged: damaged.map(({ runId, code, why }) => ({ run_id: runId, code, why })),
        next: page.next,
      },
      lines: (colours) => [
        ...(views.length + damaged.length === 0 ? [noneLine(before, 'There are no runs yet.')] : []),
        ...views.map((view) => runRow(view, colours)),
        ...damaged.map((run) => damagedRow(run, colours)),
        ...(page.next === null
          ? []
          : [moreLine(colours, 'runs list', limitText === PAGE ? {} : { limit: limitText }, `--before ${page.next}`)]),
      ],
    });
    return 0;
  });
}

/** One run that cannot be shown keeps no other from its place in the list. */
async function orDamage(runId: string, view: Promise<RunView>) {
  try {
    return await view;
  } catch (error) {
    const { damageOf } = await import('../runs/index.ts');
    const damage = damageOf(error);
    if (damage === null) throw error;
    return { runId, ...damage };
  }
}

async function show(context: CommandContext, runId: string, options: ShowOptions): Promise<ExitCode> {
  const { limit: limitText, before } = options;
  const limit = Math.min(entriesOf(limitText), MOST_CALLS);
  return withoutAgents(context, options, async ({ runtime }) => {
    const { viewOfRun } = await import('../app/index.ts');
    const page = before === undefined ? { limit } : { limit, after: before };
    return tell(context, await viewOfRun(runtime, runtime.principal, runId, page));
  });
}

async function stop(context: CommandContext, runId: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { viewOfRun } = await import('../app/index.ts');
    await runtime.runs.stop(runtime.principal, runId);
    await tell(context, await viewOfRun(runtime, runtime.principal, runId, { limit: MOST_CALLS }));
    return 0;
  });
}

async function resume(
  context: CommandContext,
  runId: string,
  options: RunOptions & { readonly adopt?: true },
): Promise<ExitCode> {
  return withAgents(context, options, async ({ runtime }) => {
    const { watchedRun } = await import('./watched-run.ts');
    const how = { adopt: options.adopt ?? false };
    return watchedRun(context, runtime, (listener) => runtime.runs.resume(runtime.principal, runId, listener, how));
  });
}
