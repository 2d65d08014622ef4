import type { Command } from 'commander';
import { examine, type HealthCheck } from '../app/index.ts';
import type { CommandContext } from './commands.ts';
import type { Result } from './output.ts';
import { dataFolderOf, type RunOptions } from './with-runtime.ts';

const MARKS = { ok: 'ok  ', warn: 'warn', fail: 'FAIL' } as const;

/** `holdfast doctor`: exit 0 when nothing failed (warnings included), 2 when something did. */
export function define(command: Command, context: CommandContext): void {
  const { output, run } = context;
  command.action((options: RunOptions) =>
    run(async () => {
      const dataDir = await dataFolderOf(context, options);
      const report = await examine({ dataDir, nodeVersion: process.versions.node });
      output.result({ document: report, lines: (colours) => report.checks.flatMap((c) => linesOf(c, colours)) });
      return report.state === 'fail' ? 2 : 0;
    }),
  );
}

function linesOf(check: HealthCheck, colours: Parameters<Result['lines']>[0]): string[] {
  const paint = { ok: colours.green, warn: colours.yellow, fail: colours.red }[check.state];
  const line = `${paint(MARKS[check.state])}  ${check.name.padEnd(16)}${check.found}`;
  return check.state === 'ok'
    ? [line]
    : [line, `      ${colours.dim('what resolves it:')} ${colours.command(check.resolve)}`];
}
