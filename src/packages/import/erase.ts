import { dirname, join } from 'node:path';
import { dropRule, listRules } from '../../approvals/index.ts';
import { errnoOf, fail, type FileSystem, syncFolder } from '../../core/index.ts';
import {
  deleteSession,
  hasSessionOfProject,
  type KeptRecords,
  type Principal,
  requireSession,
} from '../../sessions/index.ts';
import { type ReadTx, removeProject } from '../../store/index.ts';
import type { PackageContext } from '../model.ts';
import { factsAt, removeFolder } from './files.ts';

/** What an import has put where. */
export interface ImportedPlace {
  readonly root: string;
  readonly projectId: string;
}

/**
 * Removes an imported session with everything that was written for it: rows, its project where nothing else hangs from
 * it, its files and its workspace. Answers what stays for the audit. SESSION_NOT_FOUND; NOT_IMPORTED for a session that
 * was not imported; IMPORT_FILES_LEFT where the rows are gone and files could not be removed: `endErasures` tries again.
 */
export async function eraseImport(
  context: PackageContext,
  principal: Principal,
  rootFrameId: string,
): Promise<readonly KeptRecords[]> {
  const { store } = context;
  const { projectId, origin } = await store.read('packages.erase', (tx) => requireSession(tx, principal, rootFrameId));
  if (origin !== 'import') throw fail('NOT_IMPORTED', 'The session was not imported.');
  const kept = await eraseRows(context, principal, { root: rootFrameId, projectId });
  await context.faults.reach('erase-rows-committed');
  await eraseFiles(context, rootFrameId);
  return kept;
}

const NOTE = 'INSERT INTO erased_imports (root_frame_id, erased_at) VALUES (?, ?)';
const DROP_NOTE = 'DELETE FROM erased_imports WHERE root_frame_id = ?';
const NOTES = 'SELECT root_frame_id FROM erased_imports ORDER BY erased_at, root_frame_id';

/** Sessions that are erased and whose files are not gone yet. */
export const erasuresLeft = async (tx: ReadTx): Promise<readonly string[]> =>
  (await tx.all(NOTES)).map((row) => String(row['root_frame_id']));

/** The rows go in one transaction, which leaves a note of the files that are to go. */
export async function eraseRows(
  { store, sessions, clock }: PackageContext,
  principal: Principal,
  { root, projectId }: ImportedPlace,
): Promise<readonly KeptRecords[]> {
  const owner = { tenantId: principal.tenant, subjectId: principal.subject };
  return store.write('packages.erase', async (tx) => {
    const kept = await deleteSession(tx, sessions, principal, root);
    await tx.run(NOTE, [root, clock.nowMs()]);
    // Other sessions were begun in it since: it is theirs too, and so are its rules.
    if (await hasSessionOfProject(tx, projectId)) return kept;
    for (const { ruleId } of await listRules(tx, principal, 'project', projectId))
      await dropRule(tx, principal, ruleId);
    await removeProject(tx, owner, projectId);
    return kept;
  });
}

/**
 * Only folders that imports make: a session may have been bound to a folder of its user's since. The note goes once they
 * are gone for good. IMPORT_FILES_LEFT.
 */
export async function eraseFiles(context: PackageContext, root: string): Promise<void> {
  const { files, importsFolder, importedWorkspaceOf, store, faults } = context;
  const folders = [join(importsFolder, root), importedWorkspaceOf(root)];
  try {
    for (const folder of folders) removeFolder(files, folder);
  } catch (error) {
    throw filesLeft(root, error);
  }
  await faults.reach('erase-files-removed');
  if (areDurable(files, folders)) await store.write('packages.erased', (tx) => tx.run(DROP_NOTE, [root]));
}

/** What is gone may be back after a power failure: then the note is needed. */
function areDurable(files: FileSystem, folders: readonly string[]): boolean {
  try {
    for (const folder of folders) if (factsAt(files, dirname(folder))) syncFolder(files, dirname(folder));
    return true;
  } catch {
    return false;
  }
}

function filesLeft(root: string, cause: unknown): unknown {
  const errno = errnoOf(cause);
  if (typeof errno !== 'string') return cause;
  const folder = `session-imports/${root}`;
  const message = `The session is removed, but not all of its files: the operating system refused it (${errno}).`;
  const resolve = `Make everything in \`${folder}\` of the data folder this user's own, and end what uses it: the next start removes it.`;
  return fail('IMPORT_FILES_LEFT', message, { cause, resolve, details: { errno, folder } });
}

/** Removes the files of erased sessions that are still there; what cannot be removed now is met again by the next start. */
export async function endErasures(context: PackageContext): Promise<void> {
  for (const root of await context.store.read('packages.erasures', erasuresLeft)) {
    try {
      await eraseFiles(context, root);
    } catch {
      // Nothing fails for what was left.
    }
  }
}
