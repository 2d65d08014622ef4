import type { Command } from 'commander';
import { requestView } from '../app/index.ts';
import type { ShownRequest } from '../approvals/index.ts';
import { fail, isJsonObject, JSON_PROFILES, type JsonObject, momentText, readStrictJson } from '../core/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { moreLine, noneLine } from './pages.ts';
import { type RunOptions, withEveryTool, withoutAgents } from './with-runtime.ts';

interface DecideOptions extends RunOptions {
  readonly digest?: string;
  readonly message?: string;
}

/** `holdfast approvals list|show|approve|edit|reject`. */
export function define(command: Command, context: CommandContext): void {
  const { run } = context;
  command
    .command('list')
    .description('What waits for a decision, oldest first; with --all every request, newest first')
    .option('--all', 'Decided ones too')
    .option('--after <request>', 'The page that follows this one')
    .action((options: RunOptions & { all?: boolean; after?: string }) => run(() => list(context, options)));
  command
    .command('show <request>')
    .description('One request, with the digest of exactly what is shown')
    .action((id: string, options: RunOptions) => run(() => show(context, id, options)));
  decision(command, context, 'approve', 'Let exactly this run, once');
  decision(command, context, 'reject', 'Do not let it run; the message goes to the model');
  command
    .command('edit <request>')
    .description('Let it run with changed arguments; only editable fields may change')
    .requiredOption('--arguments <json>', 'The whole arguments as they should be')
    .option('--digest <digest>', 'The digest that was shown')
    .option('--message <text>', 'A word to keep with the decision')
    .action((id: string, options: DecideOptions & { arguments: string }) => run(() => edit(context, id, options)));
}

function decision(command: Command, context: CommandContext, verb: 'approve' | 'reject', about: string): void {
  command
    .command(`${verb} <request>`)
    .description(about)
    .option('--digest <digest>', 'The digest that was shown')
    .option('--message <text>', 'A word to keep with the decision')
    .action((id: string, options: DecideOptions) =>
      context.run(() => decide(context, id, options, { decision: verb })),
    );
}

async function list(context: CommandContext, options: RunOptions & { all?: boolean; after?: string }) {
  return withoutAgents(context, options, async ({ runtime }) => {
    const query = options.after === undefined ? {} : { after: options.after };
    const { approvals, principal } = runtime;
    const page = options.all ? await approvals.list(principal, query) : await approvals.pending(principal, query);
    context.output.result({
      document: {
        requests: page.items.map(requestView),
        damaged: page.damaged.map(({ requestId, code, why }) => ({ request_id: requestId, code, why })),
        next: page.next,
      },
      lines: (colours) => [
        ...(page.items.length + page.damaged.length === 0
          ? [noneLine(options.after, options.all ? 'There are no requests yet.' : 'Nothing waits for a decision.')]
          : []),
        ...page.items.map(
          (one) => `${one.requestId}  ${colours.yellow(standing(one))}  ${one.tool} ${one.argumentsText}`,
        ),
        ...page.damaged.map(
          ({ requestId, code }) =>
            `${requestId}  ${colours.red('damaged')}  ${code}; to see it: ${colours.command('holdfast audit')}`,
        ),
        ...(page.next === null
          ? []
          : [moreLine(colours, 'approvals list', { all: options.all }, `--after ${page.next}`)]),
      ],
    });
    return 0;
  });
}

const standing = ({ status, outdated }: ShownRequest): string => (outdated === null ? status : `${status}, outdated`);

function show(context: CommandContext, id: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ runtime }) => {
    tell(context, await runtime.approvals.show(runtime.principal, id));
    return 0;
  });
}

function tell({ output }: CommandContext, request: ShownRequest): void {
  output.result({
    document: requestView(request),
    lines: (colours) => [
      `${colours.bold(request.tool)}  ${colours.yellow(request.status)}`,
      `  arguments  ${request.argumentsText}`,
      ...(request.editable.length > 0 ? [`  editable   ${request.editable.join(', ')}`] : []),
      `  why        ${request.reason}`,
      `  asked by   ${request.requestedBy}`,
      `  may decide ${request.approvers.join(', ')}`,
      ...(request.expiresAt === null ? [] : [`  until      ${momentText(request.expiresAt)}`]),
      ...(request.outdated === null ? [] : [`  outdated   ${request.outdated}`]),
      ...(request.decidedBy === null ? [] : [`  decided by ${request.decidedBy}`]),
      ...(request.message === null ? [] : [`  said       ${request.message}`]),
      `  digest     ${request.digest}`,
    ],
  });
}

async function edit(context: CommandContext, id: string, options: DecideOptions & { arguments: string }) {
  const editedArguments = readStrictJson(options.arguments, JSON_PROFILES.operations);
  if (!isJsonObject(editedArguments)) throw fail('INVALID_VALUE', '--arguments must be a JSON object.');
  return decide(context, id, options, { decision: 'approve', editedArguments });
}

/** Sends a decision with the digest that was shown; without --digest, of what is shown now, on a terminal's word. */
async function decide(
  context: CommandContext,
  id: string,
  options: DecideOptions,
  said: { readonly decision: 'approve' | 'reject'; readonly editedArguments?: JsonObject },
): Promise<ExitCode> {
  // Changed arguments are held against the tool, which may be one of a server; whatever else is said needs none.
  const open = said.editedArguments === undefined ? withoutAgents : withEveryTool;
  return open(context, options, async ({ runtime }) => {
    const digest = options.digest ?? (await runtime.approvals.show(runtime.principal, id)).digest;
    const message = options.message === undefined ? {} : { message: options.message };
    const [decided] = await runtime.approvals.decide(runtime.principal, [
      { requestId: id, digest, ...said, ...message },
    ]);
    if (decided) tell(context, await runtime.approvals.show(runtime.principal, decided.action.requestId));
    return 0;
  });
}
