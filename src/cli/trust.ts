import type { CommandContext, ExitCode } from './commands.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** A confirmed fresh restart: this process is the new runtime, and it has run nothing of the package. */
export function trust(
  context: CommandContext,
  session: string,
  options: RunOptions & { readonly yes?: boolean },
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime: { packages, principal } }) => {
    const asked = { action: 'restart_fresh', confirmed: options.yes === true } as const;
    const trusted = await packages.recover(principal, session, asked, async () => ({ ok: true, status: 'active' }));
    context.output.result({
      document: trusted,
      lines: () => [`Session ${session} is trusted from now on; the ledger says who did it.`],
    });
    return 0;
  });
}
