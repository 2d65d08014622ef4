import type { Command } from 'commander';
import type { WholeAudit } from '../app/index.ts';
import { displayText, fail, JSON_PROFILES, nodeFileSystem, readFileWithin, wrapFileError } from '../core/index.ts';
import type { CommandContext, ExitCode } from './commands.ts';
import type { Result } from './output.ts';
import { readKeyFile, readSmallFile, writeNewFile } from './small-files.ts';
import { spelled } from './shell-word.ts';
import { checkTarget } from './target-file.ts';
import { type RunOptions, withEveryTool } from './with-runtime.ts';

interface Options extends RunOptions {
  readonly head?: string;
  readonly makeHead?: string;
  readonly key?: string;
}

/** `holdfast audit`: proves everything that is stored again; with a head, that nothing was changed or taken away since. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--head <file>', 'Hold everything against this head, made before and stored elsewhere')
    .option('--make-head <file>', 'Make the head of everything as it is now: a new file, to be stored elsewhere')
    .option('--key <file>', 'The key of the head, made by `holdfast keys new`; to check, its public line is enough')
    .action((options: Options) =>
      context.run(async () => {
        if (options.head !== undefined && options.makeHead !== undefined)
          throw fail('USAGE', 'A head is either made or held against what is stored.');
        return options.makeHead === undefined ? audit(context, options) : make(context, options.makeHead, options);
      }),
    );
}

async function make(context: CommandContext, file: string, options: Options): Promise<ExitCode> {
  checkTarget({
    what: 'the head',
    path: file,
    name: 'holdfast.head',
    command: (path) =>
      `holdfast audit --make-head ${path}${options.key === undefined ? '' : ` --key ${spelled(options.key)}`}`,
  });
  const key = options.key === undefined ? null : readKeyFile(options.key);
  return withEveryTool(context, options, async ({ runtime }) => {
    const { auditEverything, makeHead } = await import('../app/index.ts');
    const { passed } = await auditEverything(runtime, runtime.principal, null);
    if (!passed) throw fail('AUDIT_HEAD_INVALID', 'What is stored does not pass the audit: no head is made of it.');
    writeNewFile('the head', file, await makeHead(runtime, runtime.principal, key));
    const words = key === null ? 'not signed: it helps only where nobody else can write it' : 'signed';
    context.output.result({
      document: { file, signed: key !== null },
      lines: () => [`${file}: the head of everything as it is now, ${words}.`, '  Store it where the database is not.'],
    });
    return 0;
  });
}

async function audit(context: CommandContext, options: Options): Promise<ExitCode> {
  const key = options.key === undefined ? null : keyText(options.key);
  const given = options.head === undefined ? null : { text: readHeadFile(options.head), key };
  return withEveryTool(context, options, async ({ runtime }) => {
    const { auditEverything } = await import('../app/index.ts');
    const found = await auditEverything(runtime, runtime.principal, given);
    context.output.result({ document: documentOf(found), lines: (colours) => linesOf(found, colours) });
    return found.passed ? 0 : 1;
  });
}

/** A public line may be read by anybody; a private key's file only by its owner. */
function keyText(path: string): string {
  const text = readSmallFile('the key file', path);
  return text.startsWith('ed25519:') ? (text.split(/\r?\n/)[0] ?? '') : readKeyFile(path);
}

function readHeadFile(path: string): string {
  try {
    const bytes = readFileWithin(nodeFileSystem, path, JSON_PROFILES.packages.bytes);
    if (bytes) return Buffer.from(bytes).toString('utf8');
  } catch (error) {
    throw wrapFileError(error, 'the head');
  }
  throw fail('AUDIT_HEAD_INVALID', 'The head is larger than one may be.');
}

const documentOf = ({
  head,
  runProblems,
  sessionProblems,
  operationErrors,
  operationsWithoutTool,
  ...found
}: WholeAudit) => ({
  ...found,
  run_problems: runProblems.map(({ runId, why }) => ({ run_id: runId, why })),
  session_problems: sessionProblems.map(({ rootFrameId, ...problem }) => ({ session_id: rootFrameId, ...problem })),
  operation_errors: operationErrors,
  operations_without_tool: operationsWithoutTool,
  head: head && {
    made_at: head.madeAt,
    sessions: head.sessions,
    problems: head.problems.map(({ rootFrameId, ...problem }) => ({ session_id: rootFrameId, ...problem })),
  },
});

function linesOf(found: WholeAudit, colours: Parameters<Result['lines']>[0]): readonly string[] {
  const { passed, sessions, runs, head } = found;
  return [
    passed ? colours.green('The audit passed.') : colours.red('The audit did not pass.'),
    `  ${sessions} sessions, ${runs} supervised runs${head === null ? '' : `, held against a head of ${head.sessions} sessions`}`,
    ...(found.operationsWithoutTool === 0
      ? []
      : [
          `  ${found.operationsWithoutTool} operations proved from their own records alone: their tools are not registered as they were then`,
        ]),
    ...found.runProblems.map(({ runId, why }) => `  run ${displayText(runId)}: ${displayText(why)}`),
    ...found.sessionProblems.map(
      (one) => `  session ${displayText(one.rootFrameId)}: ${one.problem} ${displayText(one.reference)}`,
    ),
    ...found.damaged.map(
      ({ what, id, code, why }) => `  ${what.replaceAll('_', ' ')} ${displayText(id)}: ${code}: ${displayText(why)}`,
    ),
    ...found.operationErrors.map((error) => `  operations: ${displayText(error)}`),
    ...(head?.problems ?? []).map(
      ({ rootFrameId, what, problem, reference }) =>
        `  head: ${what.replaceAll('_', ' ')} ${displayText(reference ?? rootFrameId)} ${problem} since`,
    ),
  ];
}
