import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Report } from '../app/index.ts';
import { fail } from '../core/index.ts';
import type { CommandContext } from './commands.ts';
import type { Result } from './output.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

interface Options extends RunOptions {
  readonly since: string;
  readonly html?: string;
}

/** `holdfast report`: what ran, what is verified, only reported or unknown, and what waits for a decision. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--since <time>', 'A time (2026-03-01T22:00:00Z) or a span before now (90m, 12h, 7d)', DAY)
    .option('--html <file>', 'Also write it as one page that needs nothing else; a new file')
    .action((options: Options) =>
      context.run(async () => {
        if (options.html !== undefined) await checkPage(options.html, options.since);
        return withoutAgents(context, options, async ({ runtime }) => {
          const { makeReport, reportDocument, reportHtml } = await import('../app/index.ts');
          const now = runtime.calls.clock.nowMs();
          const report = await makeReport(runtime, runtime.principal, { since: sinceOf(options.since, now), now });
          if (options.html !== undefined) {
            const { writeNewFile } = await import('./small-files.ts');
            writeNewFile(
              'the report',
              resolve(options.html),
              reportHtml(report, (text) => context.output.command(text)),
            );
          }
          context.output.result({ document: reportDocument(report), lines: await linesOf(report) });
          return 0;
        });
      }),
    );
}

async function checkPage(path: string, since: string): Promise<void> {
  const { checkTarget } = await import('./target-file.ts');
  const { spelled } = await import('./shell-word.ts');
  const span = since === DAY ? '' : ` --since ${spelled(since)}`;
  checkTarget({
    what: 'the report',
    path,
    name: 'report.html',
    command: (better) => `holdfast report --html ${better}${span}`,
  });
}

/** What a report looks back on unless told. */
const DAY = '24h';
const SPAN = /^(\d{1,6})(m|h|d)$/;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A time, or a span before now, in epoch milliseconds. INVALID_VALUE. */
export function sinceOf(text: string, now: number): number {
  const span = SPAN.exec(text);
  const unit = span?.[2] as keyof typeof UNIT_MS | undefined;
  if (span && unit) return Math.max(0, now - Number(span[1]) * UNIT_MS[unit]);
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time) || time < 0)
    throw fail('INVALID_VALUE', '--since takes a time such as 2026-03-01T22:00:00Z, or a span such as 90m, 12h or 7d.');
  return time;
}

async function linesOf(report: Report): Promise<Result['lines']> {
  const { reportSections, reportSummary } = await import('../app/index.ts');
  const paint = { good: 'green', plain: 'bold', attention: 'yellow' } as const;
  return (colours) => [
    ...reportSummary(report),
    ...reportSections(report).flatMap(({ title, kind, items, more }) => {
      if (items.length === 0) return [];
      return [
        '',
        colours[paint[kind]](`${title} (${items.length + more})`),
        ...items.flatMap((item) => [
          `  ${item.title}`,
          ...item.notes.map((note) => `      ${note}`),
          ...(item.command === null ? [] : [`      → ${colours.command(item.command)}`]),
        ]),
        ...(more > 0 ? [`  and ${more} more: ${colours.command('holdfast report --json')}`] : []),
      ];
    }),
  ];
}
