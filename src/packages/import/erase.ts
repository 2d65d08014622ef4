import { join } from 'node:path';
import { dropRule, listRules } from '../../approvals/index.ts';
import { fail } from '../../core/index.ts';
import {
  deleteSession,
  hasSessionOfProject,
  type KeptRecords,
  type Principal,
  requireSession,
} from '../../sessions/index.ts';
import { removeProject } from '../../store/index.ts';
import type { PackageContext } from '../model.ts';
import { removeFolder } from './files.ts';

/** What an import has put where. */
export interface ImportedPlace {
  readonly root: string;
  readonly projectId: string;
}

/**
 * Removes an imported session with everything that was written for it: rows, its project where nothing else hangs from
 * it, its files and its workspace. Answers what stays for the audit. SESSION_NOT_FOUND; NOT_IMPORTED for a session that
 * was not imported.
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
  eraseFiles(context, rootFrameId);
  return kept;
}

export async function eraseRows(
  { store, sessions }: PackageContext,
  principal: Principal,
  { root, projectId }: ImportedPlace,
): Promise<readonly KeptRecords[]> {
  const owner = { tenantId: principal.tenant, subjectId: principal.subject };
  return store.write('packages.erase', async (tx) => {
    const kept = await deleteSession(tx, sessions, principal, root);
    // Other sessions were begun in it since: it is theirs too, and so are its rules.
    if (await hasSessionOfProject(tx, projectId)) return kept;
    for (const { ruleId } of await listRules(tx, principal, 'project', projectId))
      await dropRule(tx, principal, ruleId);
    await removeProject(tx, owner, projectId);
    return kept;
  });
}

/** Only folders that imports make: a session may have been bound to a folder of its user's since. */
export function eraseFiles({ files, importsFolder, importedWorkspaceOf }: PackageContext, root: string): void {
  removeFolder(files, join(importsFolder, root));
  removeFolder(files, importedWorkspaceOf(root));
}
