import type { FileSystem } from '../../core/index.ts';
import { DATABASE_COMPANIONS, type DataFolder, type Standing, standingOf } from '../data-folder.ts';
import { failed, type HealthCheck, ok, warn } from './check.ts';

const FIXES = 'Find out whether something was changed, then `chown` and `chmod 700` the folder, `chmod 600` its files.';

function judge(name: string, what: string, standing: Standing): HealthCheck {
  switch (standing) {
    case 'good':
      return ok(name, `${what}: its owner's alone`);
    case 'missing':
      return warn(name, `${what}: not there yet`, '`holdfast migrate` makes it.');
    case 'others_may_read':
      return warn(name, `${what}: others may read it`, 'It is narrowed at the next start; or `chmod` it now.');
    case 'wrong_kind':
      return failed(name, `${what}: not a plain folder or file`, 'Name the real folder with `--data-dir`.');
    case 'other_owner':
      return failed(name, `${what}: belongs to another user`, FIXES);
    case 'others_may_write':
      return failed(name, `${what}: others may write it`, FIXES);
  }
}

export function checkFolder(files: FileSystem, folder: DataFolder): HealthCheck {
  return judge('data_folder', 'the data folder', standingOf(files, folder.path, 'folder'));
}

/** The database and what SQLite puts beside it. Companions that are not there are as they should be. */
export function checkDatabaseFiles(files: FileSystem, folder: DataFolder): HealthCheck {
  const companions = DATABASE_COMPANIONS.map((suffix) => standingOf(files, `${folder.database}${suffix}`, 'file'));
  const all = [standingOf(files, folder.database, 'file'), ...companions.filter((standing) => standing !== 'missing')];
  const worst = all.map((standing) => judge('database_files', 'the database files', standing));
  const order = ['fail', 'warn', 'ok'] as const;
  return (
    worst.toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))[0] ??
    judge('database_files', 'the database files', 'missing')
  );
}
