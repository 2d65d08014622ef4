import { basename } from 'node:path';
import type { Command } from 'commander';
import { fileSource, keyFingerprint, openPackage, readPrivateKey, signPackage } from '../archive/index.ts';
import type { CommandContext } from './commands.ts';
import { readKeyFile, writeNewFile } from './small-files.ts';
import { spelled } from './shell-word.ts';
import { checkTarget } from './target-file.ts';

interface SignOptions {
  readonly key: string;
  readonly out?: string;
}

/** `holdfast sign FILE --key KEY`: only a package that verifies is signed; the signature is a file of its own. */
export function define(command: Command, { output, run }: CommandContext): void {
  command
    .argument('<file>', 'The package')
    .requiredOption('--key <file>', 'Your private key, made by `holdfast keys new`')
    .option('--out <file>', 'Where the signature goes (else the package’s name and .sig)')
    .action((file: string, options: SignOptions) =>
      run(async () => {
        const target = options.out ?? `${file}.sig`;
        checkTarget({
          what: 'the new signature file',
          path: target,
          name: `${basename(file)}.sig`,
          command: (path) => `holdfast sign ${spelled(file)} --key ${spelled(options.key)} --out ${path}`,
        });
        const pem = readKeyFile(options.key);
        const { publicText } = readPrivateKey(pem);
        const manifestSha256 = await identityOf(file);
        writeNewFile('the new signature file', target, signPackage(manifestSha256, pem));
        const fingerprint = keyFingerprint(publicText);
        output.result({
          document: { manifest_sha256: manifestSha256, public_key: publicText, fingerprint },
          lines: () => [`Signed package ${manifestSha256}`, `  with key ${fingerprint}`],
        });
        return 0;
      }),
    );
}

async function identityOf(file: string): Promise<string> {
  const source = await fileSource(file);
  try {
    return (await openPackage(source)).manifestSha256;
  } finally {
    await source.close();
  }
}
