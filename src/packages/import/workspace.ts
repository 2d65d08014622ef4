import { foldName, isInsideWorkspace } from '../../archive/index.ts';
import { fail, isJsonObject, JSON_PROFILES, LIMITS, readStrictJson } from '../../core/index.ts';
import { type TreeEntry, treeIdOf, type WorkspaceTree } from '../../sessions/index.ts';
import { fieldsOf, Fields } from './fields.ts';
import type { PlannedFile, PlannedTree } from './plan-model.ts';
import type { PackageReader } from './reader.ts';

/** Every tree of the package, as the workspace store keeps trees. */
export async function planTrees(reader: PackageReader): Promise<PlannedTree[]> {
  const trees: PlannedTree[] = [];
  for (const treeId of reader.treeIds) {
    const bytes = await reader.pkg.bytes(`workspace/trees/${treeId}.json`, LIMITS.packagesJsonBytes);
    const document = readStrictJson(bytes, JSON_PROFILES.packages);
    if (!isJsonObject(document)) throw fail('PACKAGE_WORKSPACE', 'a workspace tree is not what it seals');
    const row = new Fields(document, 'a workspace tree');
    const tree: WorkspaceTree = {
      entries: fieldsOf(row.objects('entries'), 'a workspace file').map(entryOf),
      skipped: fieldsOf(row.objects('skipped'), 'a skipped name').map((one) => ({
        path: one.needText('path'),
        reason: one.needText('reason'),
      })),
    };
    requirePlaces(tree);
    if (treeIdOf(tree) !== treeId) throw fail('PACKAGE_WORKSPACE', 'a workspace tree is not what it seals');
    trees.push({ treeId, tree });
  }
  return trees;
}

function entryOf(row: Fields): TreeEntry {
  const path = row.needText('path');
  if (!isInsideWorkspace(path)) throw fail('PACKAGE_WORKSPACE', 'secret or unsafe workspace path');
  return { path, blob: row.needText('blob'), size: row.needCount('size'), mode: row.needCount('mode') };
}

/** Folders that act by themselves, version control's and those of runtimes: what a stranger puts there could run. */
const NEVER: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.holdfast', '.openai4s']);

/** No file stands where another needs a folder, no name is longer than file systems take, none is in a folder that acts. */
function requirePlaces({ entries }: WorkspaceTree): void {
  const places: string[] = [];
  for (const { path } of entries) {
    const parts = path.split('/');
    const tooLong = parts.some((part) => Buffer.byteLength(part) > LIMITS.archiveNamePartBytes);
    if (tooLong || Buffer.byteLength(path) > LIMITS.archiveNameBytes)
      throw fail('PACKAGE_WORKSPACE', 'a workspace name is longer than file systems take');
    const folded = parts.map(foldName);
    if (folded.some((part) => NEVER.has(part)))
      throw fail('PACKAGE_WORKSPACE', 'a workspace file lies in a folder of version control or of a runtime');
    // No path holds a NUL, the lowest of all: what lies in a folder follows right after its name.
    places.push(folded.join('\0'));
  }
  places.sort();
  for (const [index, place] of places.entries())
    if (places[index + 1]?.startsWith(`${place}\0`))
      throw fail('PACKAGE_WORKSPACE', 'a workspace name is used both as a file and as a folder');
}

/** The newest bytes of an artifact stand in the workspace under its name: no folder may stand there. */
export function requireFilePlaces(files: readonly PlannedFile[], active: WorkspaceTree | undefined): void {
  const folders = new Set(
    (active?.entries ?? []).flatMap(({ path }) => (path.includes('/') ? [foldName(path.split('/')[0] ?? '')] : [])),
  );
  if (files.some(({ name }) => folders.has(foldName(name))))
    throw fail('PACKAGE_ARTIFACT', 'an artifact has the name of a folder of the workspace');
}
