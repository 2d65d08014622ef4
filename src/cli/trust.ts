import type { CommandContext, ExitCode } from './commands.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** See `restartFresh`. */
export function trust(
  context: CommandContext,
  session: string,
  options: RunOptions & { readonly yes?: boolean },
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { restartFresh } = await import('../app/index.ts');
    const asked = { action: 'restart_fresh', confirmed: options.yes === true } as const;
    const trusted = await restartFresh(runtime, runtime.principal, session, asked);
    context.output.result({
      document: trusted,
      lines: () => [`Session ${session} is trusted from now on; the ledger says who did it.`],
    });
    return 0;
  });
}
