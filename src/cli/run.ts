import type { Command } from 'commander';
import { fail } from '../core/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { type RunOptions, withConfigured } from './with-runtime.ts';

interface Options extends RunOptions {
  readonly agent?: string;
  readonly session?: string;
}

/** `holdfast run TASK`: begins a run of a configured agent and carries it on until it waits or has ended. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<task>', 'What the agent is asked to do')
    .option('--agent <name>', 'Which of its agents (else the only one)')
    .option('--session <id>', 'Go on with this session (else a new one)')
    .action((task: string, options: Options) => context.run(() => run(context, task, options)));
}

function run(context: CommandContext, task: string, options: Options): Promise<ExitCode> {
  return withConfigured(context, options, async ({ holdfast, agents }) => {
    const name = options.agent ?? onlyAgent([...agents.keys()]);
    if (!agents.has(name))
      throw fail('AGENT_UNKNOWN', 'The configuration has no agent of that name.', {
        resolve: `Name one that it has with --agent: ${[...agents.keys()].join(', ')}`,
      });
    const { runtime } = holdfast;
    const { session } = options;
    if (session !== undefined) {
      const { requireSession } = await import('../sessions/index.ts');
      await runtime.store.read('cli.session', (tx) => requireSession(tx, runtime.principal, session));
    }
    const { watchedRun } = await import('./watched-run.ts');
    return watchedRun(context, runtime, (listener) =>
      runtime.runs.start(runtime.principal, name, {
        task,
        projectId: runtime.projectId,
        listener,
        ...(session === undefined ? {} : { rootFrameId: session }),
      }),
    );
  });
}

function onlyAgent(names: readonly string[]): string {
  const [name] = names;
  if (name === undefined || names.length > 1)
    throw fail('USAGE', 'The configuration has not exactly one agent; say which with --agent.');
  return name;
}
