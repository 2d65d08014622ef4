import type { Command } from 'commander';
import { keyFingerprint, newSigningKey } from '../archive/index.ts';
import type { CommandContext } from './commands.ts';
import { writeNewFile } from './small-files.ts';
import { checkTarget } from './target-file.ts';

/** `holdfast keys new --out FILE`: a new key for signing packages. */
export function define(command: Command, { output, run }: CommandContext): void {
  command
    .command('new')
    .description('Make an Ed25519 key: the private part into a new file, the public part is shown')
    .requiredOption('--out <file>', 'Where the private key goes; a file that exists is not overwritten')
    .action((options: { out: string }) =>
      run(async () => {
        const { privatePem, publicText } = newSigningKey();
        checkTarget({
          what: 'the new key file',
          path: options.out,
          name: 'holdfast.key',
          command: (path) => `holdfast keys new --out ${path}`,
        });
        writeNewFile('the new key file', options.out, privatePem);
        const fingerprint = keyFingerprint(publicText);
        output.result({
          document: { public_key: publicText, fingerprint },
          lines: () => [
            publicText,
            `  fingerprint ${fingerprint}`,
            '  Others put the first line and your name into their list of trusted keys. Keep the file to yourself.',
          ],
        });
        return 0;
      }),
    );
}
