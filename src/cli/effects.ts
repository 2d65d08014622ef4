import type { Command } from 'commander';
import type { EffectEntry, EffectVerification, RunVerification } from '../effects/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { entriesOf, moreLine, noneLine } from './pages.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

interface ListOptions extends RunOptions {
  readonly run?: string;
  readonly limit: string;
  readonly before?: string;
}

const PAGE = '50';

const unlessDefault = ({ limit }: ListOptions) => (limit === PAGE ? {} : { limit });

/** `holdfast effects list|show|verify`: what was claimed, what was reported, and what was read back. */
export function define(command: Command, context: CommandContext): void {
  command
    .command('list')
    .description('Claims and what was reported of them, newest run first')
    .option('--run <run>', 'Of one run only')
    .option('--limit <n>', 'At most this many', PAGE)
    .option('--before <place>', 'The page that follows this one, as it was told')
    .action((options: ListOptions) => context.run(() => list(context, options)));
  command
    .command('show <run> <effect>')
    .description('One effect, judged as it was at completion and as it is now')
    .action((run: string, effect: string, options: RunOptions) =>
      context.run(() => show(context, run, effect, options)),
    );
  command
    .command('verify <run>')
    .description('Every effect of a run, judged; exit code 1 where something is unresolved or contradicted')
    .action((run: string, options: RunOptions) => context.run(() => verify(context, run, options)));
}

const principalOf = ({ tenant, subject }: { readonly tenant: string; readonly subject: string }) => ({
  tenantId: tenant,
  subjectId: subject,
});

async function list(context: CommandContext, options: ListOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { listEffects } = await import('../effects/index.ts');
    const { fail } = await import('../core/index.ts');
    const limit = entriesOf(options.limit);
    const [runId, effectId, ...more] = options.before?.split('/') ?? [];
    if (options.before !== undefined && (!runId || !effectId || more.length > 0))
      throw fail('INVALID_VALUE', '--before takes RUN/EFFECT, as the page before told it.');
    const page = await runtime.store.read('cli.effects', (tx) =>
      listEffects(tx, principalOf(runtime.principal), {
        limit,
        ...(options.run === undefined ? {} : { runId: options.run }),
        ...(runId && effectId ? { before: { runId, effectId } } : {}),
      }),
    );
    const next = page.next ? `${page.next.runId}/${page.next.effectId}` : null;
    context.output.result({
      document: { effects: page.effects.map(entryDocument), next },
      lines: (colours) => [
        ...(page.effects.length === 0 ? [noneLine(options.before, 'There are no effects yet.')] : []),
        ...page.effects.map(entryLine),
        ...(next === null
          ? []
          : [moreLine(colours, 'effects list', { run: options.run, ...unlessDefault(options) }, `--before ${next}`)]),
      ],
    });
    return 0;
  });
}

function entryDocument(entry: EffectEntry) {
  return {
    run_id: entry.runId,
    effect_id: entry.effectId,
    action_id: entry.actionId,
    tool: entry.tool,
    operation: entry.operationId,
    execution: entry.execution,
    impact: entry.impact,
  };
}

const entryLine = (entry: EffectEntry): string =>
  `${entry.runId}/${entry.effectId}  ${entry.execution.padEnd(16)}  ${entry.tool}`;

async function show(context: CommandContext, runId: string, effectId: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { showEffect, verificationDocument } = await import('../effects/index.ts');
    const found = await runtime.store.read('cli.effect', (tx) =>
      showEffect(tx, principalOf(runtime.principal), { runId, effectId }),
    );
    context.output.result({ document: verificationDocument(found), lines: () => verificationLines(found) });
    return isSettled(found) ? 0 : 1;
  });
}

async function verify(context: CommandContext, runId: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const { verificationDocument, verifyRun } = await import('../effects/index.ts');
    const pages: RunVerification[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const of = { runId, after };
      const page: RunVerification = await runtime.store.read('cli.verify', (tx) =>
        verifyRun(tx, principalOf(runtime.principal), of),
      );
      pages.push(page);
      after = page.next;
    }
    const effects = pages.flatMap((page) => page.effects);
    // A run without effects is fine; one that is not there is not.
    if (effects.length === 0) await runtime.runs.get(runtime.principal, runId);
    const summary = pages[0]?.summary;
    context.output.result({
      document: {
        run_id: runId,
        effects: effects.map(verificationDocument),
        reported_success: summary?.reportedSuccess ?? 0,
        verified: summary?.verified ?? 0,
        unresolved: summary?.unresolved ?? 0,
        by_verdict: summary?.byVerdict ?? {},
      },
      lines: () => [
        ...effects.flatMap(verificationLines),
        `${effects.length} effects: ${summary?.reportedSuccess ?? 0} reported as done, ${summary?.verified ?? 0} verified, ${summary?.unresolved ?? 0} unresolved`,
      ],
    });
    return effects.every(isSettled) ? 0 : 1;
  });
}

const isSettled = (one: EffectVerification): boolean => !one.unresolvedImpact && one.now.verdict !== 'contradicted';

function verificationLines(one: EffectVerification): string[] {
  const { claim, atCompletion, now } = one;
  const then = atCompletion.verdict === now.verdict ? '' : ` (${atCompletion.verdict} at completion)`;
  const open = one.unresolvedImpact ? '; something may have changed' : '';
  return [`${claim.effectId}  ${claim.operation.tool}: ${now.verdict}${then}${open}`, `  ${now.reason}`];
}
