import type { Command } from 'commander';
import { standingRuleDocument, type StandingRule } from '../app/index.ts';
import { escapeForDisplay, type RuleDecision } from '../approvals/index.ts';
import { momentText } from '../core/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import { moreLine } from './pages.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

interface RuleOptions extends RunOptions {
  readonly session?: string;
  readonly project?: string;
}

interface ListOptions extends RunOptions {
  readonly limit: string;
  readonly after?: string;
}

const PAGE = '100';
const DROPPED = 'Dropped: calls are judged without it from now on, in every process.';

/** `holdfast rules list|allow|ask|deny|drop`: what is allowed, asked about or denied from now on. */
export function define(command: Command, context: CommandContext): void {
  const { run } = context;
  command
    .command('list')
    .description('Standing rules, oldest first: what each does, who made it and when')
    .option('--limit <n>', 'At most this many', PAGE)
    .option('--after <rule>', 'The page that follows this one')
    .action((options: ListOptions) => run(() => list(context, options)));
  making(command, context, 'allow', 'Let calls go on without a person; exactly one tool’s name lowers its own ask');
  making(command, context, 'ask', 'Let calls wait for a person, whatever allows them');
  making(command, context, 'deny', 'Refuse calls, whatever allows them');
  command
    .command('drop <rule>')
    .description('Remove a standing rule')
    .action((id: string, options: RunOptions) => run(() => drop(context, id, options)));
}

function making(command: Command, context: CommandContext, decision: RuleDecision, about: string): void {
  command
    .command(decision)
    .description(about)
    .argument('<tool>', 'The name of a tool, or one with * in it')
    .argument('[pattern]', 'What the call is aimed at: * is anything but /, ** anything', '**')
    .option('--session <session>', 'In this session only')
    .option('--project <project>', 'In this project only (else everywhere)')
    .action((tool: string, pattern: string, options: RuleOptions) =>
      context.run(() => make(context, { decision, tool, pattern }, options)),
    );
}

function make(
  context: CommandContext,
  said: { readonly decision: RuleDecision; readonly tool: string; readonly pattern: string },
  { session, project, ...options }: RuleOptions,
): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ rules }) => {
    const made = await rules.put({
      ...said,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(project === undefined ? {} : { projectId: project }),
    });
    context.output.result({
      document: standingRuleDocument(made),
      lines: (colours) => [
        ruleLine(made),
        `  ${made.effect}`,
        '  It holds for calls from now on, in every process.',
        `  Undo it with: ${colours.command(`holdfast rules drop ${made.ruleId}`)}`,
      ],
    });
    return 0;
  });
}

function list(context: CommandContext, { limit, after, ...options }: ListOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ rules }) => {
    const { items, next } = await rules.list({ limit: Number(limit), ...(after === undefined ? {} : { after }) });
    context.output.result({
      document: { rules: items.map(standingRuleDocument), next },
      lines: (colours) => [
        ...(items.length > 0 || after !== undefined
          ? items.map(ruleLine)
          : [`There are no standing rules. To make one: ${colours.command('holdfast rules allow|ask|deny TOOL')}`]),
        ...(next === null ? [] : [moreLine(colours, 'rules list', limit === PAGE ? {} : { limit }, `--after ${next}`)]),
      ],
    });
    return 0;
  });
}

function drop(context: CommandContext, id: string, options: RunOptions): Promise<ExitCode> {
  return withoutAgents(context, options, async ({ rules }) => {
    const dropped = await rules.drop(id);
    context.output.result({
      document: standingRuleDocument(dropped),
      lines: () => [ruleLine(dropped), `  ${DROPPED}`],
    });
    return 0;
  });
}

function ruleLine({ ruleId, decision, tool, pattern, projectId, sessionId, madeBy, updatedAt }: StandingRule): string {
  const inProject = projectId === null ? 'everywhere' : `project ${projectId}`;
  const where = sessionId === null ? inProject : `session ${sessionId}`;
  const by = madeBy.kind === 'person' ? `by ${madeBy.subject}` : 'by an import';
  const shown = [ruleId, decision.padEnd(5), tool, `on ${pattern}`, where, by].map(escapeForDisplay);
  return [...shown, momentText(updatedAt)].join('  ');
}
