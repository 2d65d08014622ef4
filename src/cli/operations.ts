import type { Command } from 'commander';
import { auditFindings, movedOperationDocument, operationDocument, type Runtime } from '../app/index.ts';
import { type CallOutcome, settlingCommand } from '../calls/index.ts';
import { displayText, fail } from '../core/index.ts';
import type { OperationView } from '../operations/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { DEFAULT_LIST_LIMIT, operationLines, operationRow } from './operation-lines.ts';
import { moreLine, noneLine } from './pages.ts';
import { outcomeWords } from './run-lines.ts';
import { type RunOptions, withConfigured, withEveryTool, withoutAgents } from './with-runtime.ts';

interface ListOptions extends RunOptions {
  readonly open?: boolean;
  readonly limit: string;
  readonly before?: string;
}

interface DispatchOptions extends RunOptions {
  readonly request: string;
}

interface SettleOptions extends RunOptions {
  readonly done?: boolean;
  readonly notDone?: boolean;
  readonly reason: string;
}

/** `holdfast operations list|show|dispatch|status|process|settle|audit`. */
export function define(command: Command, context: CommandContext): void {
  const { run } = context;
  command
    .command('list')
    .description('Operations, newest first; with --open only those whose outcome is not known')
    .option('--open', 'Only what is not finished and not settled')
    .option('--limit <n>', 'At most this many, up to 200', DEFAULT_LIST_LIMIT)
    .option('--before <mark>', 'The page that follows this one')
    .action((options: ListOptions) => run(() => list(context, options)));
  command
    .command('show <ref>')
    .description('One operation: what is known of it, its receipts and verdict')
    .action((ref: string, options: RunOptions) => run(() => show(context, ref, options)));
  command
    .command('dispatch')
    .description('Carry out one call that waited and was approved, and nothing else of its run')
    .requiredOption('--request <file>', 'JSON: {"request_id", "tool", "arguments"}, exactly what was approved')
    .action((options: DispatchOptions) => run(() => dispatch(context, options)));
  command
    .command('status <ref>')
    .description('Ask the other side what became of it, through its tool; what it answers is written down')
    .action((ref: string, options: RunOptions) => run(() => status(context, ref, options)));
  command
    .command('process <ref>')
    .description('Deliver it again, where its tool allows that: under the same key, after the lease')
    .action((ref: string, options: RunOptions) => run(() => deliver(context, ref, options)));
  command
    .command('settle <ref>')
    .description('Say what you found out about an operation whose outcome is unknown. Final')
    .option('--done', 'It did happen')
    .option('--not-done', 'It did not happen')
    .requiredOption('--reason <text>', 'How you know')
    .action((ref: string, options: SettleOptions) => run(() => settle(context, ref, options)));
  command
    .command('audit')
    .description('Check everything stored about operations, in one snapshot')
    .action((options: RunOptions) => run(() => audit(context, options)));
}

const seconds = (runtime: Runtime): number => Math.floor(runtime.calls.clock.nowMs() / 1000);

const unlessDefault = ({ limit }: ListOptions) => (limit === DEFAULT_LIST_LIMIT ? {} : { limit });

function list(context: CommandContext, options: ListOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    const page = await runtime.operations.list(runtime.principal, {
      open: options.open ?? false,
      limit: Number(options.limit),
      now: seconds(runtime),
      ...(options.before === undefined ? {} : { before: Number(options.before) }),
    });
    context.output.result({
      document: { operations: page.operations.map(operationDocument), next: page.next },
      lines: (colours) => [
        ...(page.operations.length === 0 ? [noneLine(options.before, 'There are none.')] : []),
        ...page.operations.map((view) => operationRow(view, colours)),
        ...(page.next === null
          ? []
          : [
              moreLine(
                colours,
                'operations list',
                { open: options.open, ...unlessDefault(options) },
                `--before ${page.next}`,
              ),
            ]),
      ],
    });
    return 0;
  });
}

function show(context: CommandContext, ref: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => tell(context, runtime, ref));
}

async function tell(context: CommandContext, runtime: Runtime, ref: string, outcome?: CallOutcome): Promise<ExitCode> {
  const view: OperationView = await runtime.operations.show(runtime.principal, ref, seconds(runtime));
  const first = settlingCommand(view.statusRef, runtime.tools.current(view.tool) ?? null);
  context.output.result({
    document: outcome === undefined ? operationDocument(view) : movedOperationDocument(view, outcome),
    lines: (colours) => operationLines(view, colours, first),
  });
  return view.known === 'done' || view.known === 'not_done' ? 0 : 1;
}

async function dispatch(context: CommandContext, options: DispatchOptions): Promise<ExitCode> {
  const { readDispatchFile } = await import('./dispatch-file.ts');
  const asked = readDispatchFile(options.request);
  return withConfigured(context, options, async ({ holdfast: { runtime } }) => {
    const { dispatchApproved, outcomeDocument } = await import('../calls/index.ts');
    const { document } = await runtime.approvals.show(runtime.principal, asked.requestId);
    const runId = document['run_id'];
    if (typeof runId !== 'string') throw fail('CALL_INVALID', 'This request belongs to no run.');
    const { principal } = await runtime.runs.get(runtime.principal, runId);
    const world = { filesystem: runtime.filesystem, signal: new AbortController().signal };
    const { statusRef, outcome } = await dispatchApproved(runtime.calls, principal, asked, world);
    if (statusRef !== null) return tell(context, runtime, statusRef);
    context.output.result({ document: outcomeDocument(outcome), lines: (colours) => [outcomeWords(outcome, colours)] });
    return 1;
  });
}

function status(context: CommandContext, ref: string, options: RunOptions): Promise<ExitCode> {
  return withConfigured(context, options, async ({ holdfast: { runtime } }) => {
    const { settleByStatus } = await import('../calls/index.ts');
    const outcome = await settleByStatus(runtime.calls, runtime.principal, ref, runtime.filesystem);
    tellWhy(context, outcome);
    return tell(context, runtime, ref, outcome);
  });
}

function deliver(context: CommandContext, ref: string, options: RunOptions): Promise<ExitCode> {
  return withConfigured(context, options, async ({ holdfast: { runtime } }) => {
    const { deliverAgain } = await import('../app/index.ts');
    const outcome = await deliverAgain(runtime, runtime.principal, ref);
    tellWhy(context, outcome);
    return tell(context, runtime, ref, outcome);
  });
}

/** What was asked or sent, and left it as unknown as it was, is said beside what is stored. */
function tellWhy({ terminal }: CommandContext, outcome: CallOutcome): void {
  if (outcome.state === 'unknown') terminal.stderr.write(`holdfast: ${displayText(outcome.reason)}\n`);
}

function settle(context: CommandContext, ref: string, options: SettleOptions): Promise<ExitCode> {
  if (options.done === options.notDone) throw fail('USAGE', 'Say either --done or --not-done.');
  // A verdict needs no tool: it can be given where a server is gone for good.
  return withoutAgents(context, options, async ({ runtime }) => {
    const { settleByPerson } = await import('../calls/index.ts');
    const verdict = options.done ? 'done' : 'not_done';
    await settleByPerson(runtime.calls, runtime.principal, ref, { verdict, reason: options.reason });
    return tell(context, runtime, ref);
  });
}

function audit(context: CommandContext, options: RunOptions): Promise<ExitCode> {
  return withEveryTool(context, options, async ({ runtime }) => {
    const found = await runtime.operations.audit();
    context.output.result({
      document: found,
      lines: (colours) => [
        found.passed ? colours.green('The audit passed.') : colours.red('The audit did not pass.'),
        ...auditFindings(found).map((error) => `  ${displayText(error)}`),
        ...Object.entries(found.counts).map(([name, count]) => `  ${name.padEnd(20)} ${count}`),
      ],
    });
    return found.passed ? 0 : 1;
  });
}
