import { erasuresLeft } from '../../packages/index.ts';
import type { Store } from '../../store/index.ts';
import { DATA_FILES } from '../data-folder.ts';
import { type HealthCheck, ok, warn } from './check.ts';

/** So many are named; how many there are is always said. */
const NAMED = 5;

/** Whether files of imported sessions that were removed are still there, since the system refused to remove them. */
export async function checkRemovedFiles(store: Store): Promise<HealthCheck> {
  const left = await store.read('doctor.erasures', erasuresLeft);
  if (left.length === 0) return ok('removed_files', 'no files of removed sessions are left');
  const named = left.slice(0, NAMED).map((root) => `${DATA_FILES.imports}/${root}`);
  const more = left.length > NAMED ? `, and ${left.length - NAMED} more` : '';
  return warn(
    'removed_files',
    `files of ${left.length} removed sessions are still in the data folder: ${named.join(', ')}${more}`,
    "Make everything in them this user's own, and end what uses it: the next start removes them.",
  );
}
