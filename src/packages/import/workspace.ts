import { isInsideWorkspace } from '../../archive/index.ts';
import { fail, isJsonObject, JSON_PROFILES, LIMITS, readStrictJson } from '../../core/index.ts';
import { type TreeEntry, treeIdOf, type WorkspaceTree } from '../../sessions/index.ts';
import { fieldsOf, Fields } from './fields.ts';
import type { PlannedTree } from './plan-model.ts';
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
