import type { Command } from 'commander';
import { type Difference, diffPackages, fileSource, type PackageDiff } from '../archive/index.ts';
import type { CommandContext } from './commands.ts';

/** `holdfast diff A B`: two packages, in meaning. Exit 0 when they mean the same, 1 when they do not. */
export function define(command: Command, { output, run }: CommandContext): void {
  command
    .argument('<a>', 'The one package')
    .argument('<b>', 'The other')
    .action((a: string, b: string) =>
      run(async () => {
        const difference = await compareFiles(a, b);
        output.result({ document: difference, lines: () => linesOf(difference) });
        return difference.same ? 0 : 1;
      }),
    );
}

async function compareFiles(a: string, b: string): Promise<PackageDiff> {
  const first = await fileSource(a);
  try {
    const second = await fileSource(b);
    try {
      return await diffPackages(first, second);
    } finally {
      await second.close();
    }
  } finally {
    await first.close();
  }
}

function linesOf({ same, problems, differences }: PackageDiff): string[] {
  return [
    ...problems.a.map((problem) => `problem of the first package: ${problem}`),
    ...problems.b.map((problem) => `problem of the second package: ${problem}`),
    ...differences.flatMap(differenceLines),
    same ? 'The two packages mean the same.' : 'The two packages differ.',
  ];
}

function differenceLines({ what, added, removed, changed }: Difference): string[] {
  return [
    what,
    ...removed.map((id) => `  - ${id}`),
    ...added.map((id) => `  + ${id}`),
    ...changed.map(({ id, fields }) => `  ~ ${id}: ${fields.join(', ')}`),
  ];
}
