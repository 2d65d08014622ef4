import type { Command } from 'commander';
import {
  type ByteSource,
  deepVerify,
  type DeepReport,
  fileSource,
  judgeSignature,
  printable,
  readSignature,
  readTrustedKeys,
  type SignatureVerdict,
  type VerifyReport,
  verifyAlone,
} from '../archive/index.ts';
import type { CommandContext } from './commands.ts';
import { readSmallFile } from './small-files.ts';

interface VerifyOptions {
  readonly deep?: boolean;
  readonly signature?: string;
  readonly trusted?: string;
}

/** `holdfast verify FILE`: exit 0 when everything holds, 1 when something does not, 2 when it is not a package. */
export function define(command: Command, { output, run }: CommandContext): void {
  command
    .argument('<file>', 'The package')
    .option('--deep', 'Also ask whether the package could be imported')
    .option('--trusted <file>', 'A list of keys you trust: also ask who signed the package')
    .option('--signature <file>', 'The signature (else the package’s name and .sig)')
    .action((file: string, options: VerifyOptions) =>
      run(async () => {
        const { report, manifestSha256 } = await reading(file, verifyAlone);
        const deep = options.deep && report.ok ? await reading(file, deeply) : undefined;
        const signature = askedForSignature(options) ? judge(file, options, manifestSha256) : undefined;
        output.result({
          document: { ...report, ...(deep && { deep }), ...(signature && { signature }) },
          lines: (colours) => [
            ...reportLines(report, report.ok ? colours.green('holds') : colours.red('does not hold')),
            ...(deep === undefined ? [] : deepLines(deep)),
            ...(signature === undefined ? [] : signatureLines(signature)),
          ],
        });
        return report.ok && deep?.importable !== false && (signature === undefined || signature.state === 'trusted')
          ? 0
          : 1;
      }),
    );
}

/** What an import knows of autonomous runs is loaded for a package that tells of some: any other is checked without. */
const deeply = (source: ByteSource): Promise<DeepReport> =>
  deepVerify(source, {
    replayAutoMode: async (pkg, documents) => {
      const { replayAutoMode } = await import('../packages/index.ts');
      replayAutoMode(pkg, documents);
    },
  });

async function reading<T>(file: string, look: (source: ByteSource) => Promise<T>): Promise<T> {
  const source = await fileSource(file);
  try {
    return await look(source);
  } finally {
    await source.close();
  }
}

const askedForSignature = ({ signature, trusted }: VerifyOptions): boolean =>
  signature !== undefined || trusted !== undefined;

function judge(file: string, options: VerifyOptions, manifestSha256: string | null): SignatureVerdict {
  const signature = readSignature(readSmallFile('the signature', options.signature ?? `${file}.sig`));
  const trusted = readTrustedKeys(options.trusted ? readSmallFile('the list of trusted keys', options.trusted) : '');
  return judgeSignature(signature, manifestSha256 ?? '', trusted);
}

function reportLines(report: VerifyReport, verdict: string): string[] {
  return [
    `The package ${verdict}: ${report.files_verified.length} files verified, ${report.problems.length} problems.`,
    `  format          ${printable(report.format ?? 'none')}, schema version ${report.schema_version ?? 'none'}`,
    `  archive SHA-256 ${report.archive_sha256}`,
    ...report.problems.map((problem) => `  problem         ${problem}`),
    `What this verifies: ${report.verifies}`,
  ];
}

function deepLines(deep: DeepReport): string[] {
  return [
    `It could ${deep.importable ? '' : 'not '}be imported, as far as its documents alone can tell.`,
    ...deep.problems.map((problem) => `  problem         ${problem}`),
    ...deep.not_checked.map((left) => `  not checked     ${left}`),
  ];
}

function signatureLines({ state, signer, fingerprint, means }: SignatureVerdict): string[] {
  const who = signer === null ? 'a key that is not listed' : printable(signer);
  return [`Signature: ${state}, ${who} (key ${fingerprint})`, `  ${means}`];
}
