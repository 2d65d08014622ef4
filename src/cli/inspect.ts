import { type Command, InvalidArgumentError } from 'commander';
import { fileSource, type Inspection, inspectPackage } from '../archive/index.ts';
import type { CommandContext } from './commands.ts';

/** `holdfast inspect FILE`: what is inside, for people. Exit 0 when the package verifies, 1 when it does not. */
export function define(command: Command, { output, run }: CommandContext): void {
  command
    .argument('<file>', 'The package')
    .option('--messages <count>', 'How many of the last messages to show (20 unless told)', countOf)
    .action((file: string, options: { messages?: number }) =>
      run(async () => {
        const source = await fileSource(file);
        try {
          const inspection = await inspectPackage(source, options);
          output.result({ document: inspection, lines: () => linesOf(inspection) });
          return inspection.verified ? 0 : 1;
        } finally {
          await source.close();
        }
      }),
    );
}

function countOf(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number up to 99999.');
  return Number(text);
}

function linesOf(found: Inspection): string[] {
  const { session, sizes, conversation, calls, history, workspace } = found;
  return [
    `${session.name || 'A session without a name'}: a package that ${found.verified ? 'verifies' : 'DOES NOT VERIFY'}`,
    row('project', session.project),
    row('task', session.task),
    row('model', session.model),
    row('made', session.created_at ?? 'at an unknown time'),
    row('size', `${bytes(sizes.archive_bytes)}, ${sizes.files} files, ${bytes(sizes.unpacked_bytes)} unpacked`),
    row('calls', `${calls.proposed} proposed in ${calls.groups} groups; ${found.cells} cells`),
    ...calls.tools.map(({ name, times }) => `    ${String(times).padStart(5)}  ${name}`),
    row('artifacts', String(found.artifacts.length)),
    ...found.artifacts.map((artifact) => `    ${artifact.name} (${artifact.type}), ${artifactSize(artifact)}`),
    row('history', `${history.checkpoints} checkpoints, ${history.reverts} reverts`),
    ...history.branches.map(
      ({ name, checkpoints, active }) => `    ${active ? '*' : ' '} ${name}, ${checkpoints} checkpoints`,
    ),
    row('workspace', `${workspace.files} files, ${bytes(workspace.bytes)}`),
    ...workspace.largest.map((file) => `    ${bytes(file.bytes).padStart(10)}  ${file.path}`),
    row('messages', `${conversation.messages}, the last ${conversation.last.length} of them:`),
    ...conversation.last.map(({ role, text }) => `    ${role}: ${text}`),
    ...found.warnings.map((warning) => row('warning', warning)),
    'All of this is what the package says of itself: verified or not, it is a stranger’s word.',
  ];
}

const row = (name: string, value: string): string => `  ${name.padEnd(10)} ${value}`;

function artifactSize({ versions, bytes: size }: Inspection['artifacts'][number]): string {
  return `${versions} versions, latest ${size === null ? 'of unknown size' : bytes(size)}`;
}

function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1024 * 1024 ? `${(count / 1024).toFixed(1)} KiB` : `${(count / 1024 / 1024).toFixed(1)} MiB`;
}
