import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext } from './commands.ts';
import { collectEarly } from './early-collection.ts';
import { withProgress } from './progress.ts';
import { checkTarget } from './target-file.ts';
import { writeWholeFile } from './whole-file.ts';
import { type RunOptions, withoutAgents } from './with-runtime.ts';

/** What is written at a time. */
const CHUNK_BYTES = 256 * 1024;

/** `holdfast export SESSION`: the whole session as one sealed file; secrets stay here. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<session>', 'The session')
    .option(
      '--to <file>',
      'The file to make (else the session’s own name in this folder); one that exists is not overwritten',
    )
    .action((session: string, options: RunOptions & { to?: string }) =>
      context.run(() => {
        const checkFile = (path: string): void =>
          checkTarget({
            what: 'the package’s file',
            path,
            name: `${session}.zip`,
            command: (better) => `holdfast export ${session} --to ${better}`,
          });
        if (options.to !== undefined) checkFile(options.to);
        collectEarly();
        return withoutAgents(context, options, async ({ runtime }) => {
          const { exportSession } = await import('../app/index.ts');
          const work = () => exportSession(runtime, runtime.principal, session);
          const made = await withProgress(context.terminal, 'Exporting', work);
          try {
            if (options.to === undefined) checkFile(made.filename);
            const file = resolve(options.to ?? made.filename);
            await writeWholeFile('the package’s file', file, made.chunks(Buffer.allocUnsafe(CHUNK_BYTES)));
            const { sizeBytes: size_bytes, sha256, manifestSha256: manifest_sha256 } = made;
            context.output.result({
              document: { file, size_bytes, sha256, manifest_sha256 },
              lines: () => [`${file}: ${size_bytes} bytes`, `  SHA-256   ${sha256}`, `  manifest  ${manifest_sha256}`],
            });
            return 0;
          } finally {
            made.close();
          }
        });
      }),
    );
}
