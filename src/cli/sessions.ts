import type { Command } from 'commander';
import type { CommandContext } from './commands.ts';
import { activate, checkpoint, diff, fork, list, PAGE, recover, remove, revert, show } from './session-commands.ts';
import { artifact, type PageOptions, records } from './session-records.ts';
import { trust } from './trust.ts';
import type { RunOptions } from './with-runtime.ts';

/** `holdfast sessions list|show|records|artifact|checkpoint|fork|diff|revert|activate|recover|trust|delete`. */
export function define(command: Command, context: CommandContext): void {
  const { run } = context;
  command
    .command('list')
    .description('Sessions, newest first')
    .option('--limit <n>', 'At most this many', PAGE)
    .option('--after <session>', 'The page that follows this one')
    .action((options: RunOptions & { limit: string; after?: string }) => run(() => list(context, options)));
  command
    .command('show <session>')
    .description('One session: its branches, its newest checkpoints, what it holds')
    .action((id: string, options: RunOptions) => run(() => show(context, id, options)));
  command
    .command('checkpoint <session>')
    .description('Capture the workspace and make a point that can be gone back to')
    .option('--workspace <folder>', 'The folder that the session works in, from now on')
    .option('--branch <branch>', 'Of this branch (else the active one)')
    .option('--reason <text>', 'What it is for', 'asked for')
    .action((id: string, options: RunOptions & { workspace?: string; branch?: string; reason: string }) =>
      run(() => checkpoint(context, id, options)),
    );
  command
    .command('fork <session> <checkpoint>')
    .description('Start another branch at a checkpoint')
    .option('--name <text>', 'Its name')
    .action((id: string, point: string, options: RunOptions & { name?: string }) =>
      run(() => fork(context, id, point, options)),
    );
  command
    .command('diff <session> <checkpoint> [other]')
    .description('What changes in the workspace from one checkpoint to another, or by going back to one')
    .action((id: string, point: string, other: string | undefined, options: RunOptions) =>
      run(() => diff(context, id, point, other, options)),
    );
  command
    .command('revert <session> <checkpoint>')
    .description('Go back to a checkpoint once it is approved; what was done elsewhere is named and not undone')
    .option('--yes', 'Approve it at once')
    .action((id: string, point: string, options: RunOptions & { yes?: boolean }) =>
      run(() => revert(context, id, point, options)),
    );
  command
    .command('activate <session> <branch>')
    .description('Go on with another branch and its workspace once it is approved')
    .option('--yes', 'Approve it at once')
    .action((id: string, branch: string, options: RunOptions & { yes?: boolean }) =>
      run(() => activate(context, id, branch, options)),
    );
  command
    .command('records <session> [kind]')
    .description('What is recorded beside the history: how much of each kind, or the records of one')
    .option('--limit <n>', 'At most this many', PAGE)
    .option('--after <place>', 'The page that follows this one')
    .action((id: string, kind: string | undefined, options: PageOptions) =>
      run(() => records(context, id, kind, options)),
    );
  command
    .command('artifact <version>')
    .description('Write the bytes of an artifact version to a file, proved by their digest')
    .option('--to <file>', 'The file to make; one that exists is not overwritten')
    .action((id: string, options: RunOptions & { to?: string }) => run(() => artifact(context, id, options)));
  command
    .command('recover <session>')
    .description('End a revert that was interrupted: carry it to its end, or back to what was before')
    .option('--roll-back', 'Back to what was before')
    .action((id: string, options: RunOptions & { rollBack?: boolean }) => run(() => recover(context, id, options)));
  command
    .command('trust <session>')
    .description('Unlock an imported session by a fresh restart; nothing that came with it is run')
    .option('--yes', 'Confirm it; without this it stays locked')
    .action((id: string, options: RunOptions & { yes?: boolean }) => run(() => trust(context, id, options)));
  command
    .command('delete <session>')
    .description('Remove a session whole; what stays elsewhere is named')
    .option('--yes', 'Do it; without this nothing is removed')
    .action((id: string, options: RunOptions & { yes?: boolean }) => run(() => remove(context, id, options)));
}
