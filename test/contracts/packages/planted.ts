import { canonicalJson, digestJson, JSON_PROFILES, type JsonObject, readStrictJson } from '../../../src/core/index.ts';
import { at, type Files } from '../../archive/support/packages.ts';

const documentOf = (files: Files, path: string): JsonObject =>
  readStrictJson(files.get(path) ?? '', JSON_PROFILES.packages) as JsonObject;

/** The active tree with further files of one content. */
export function plantFiles(files: Files, paths: readonly string[]): void {
  const snapshots = documentOf(files, 'snapshots.json');
  const workspace = at(snapshots, 'workspace');
  const old = at(workspace, 'tree_map')[workspace['active_source_tree_id'] as string] as string;
  const name = [...files.keys()].find((path) => path.startsWith('workspace/blobs/')) ?? '';
  const { tree_id: _id, ...tree } = documentOf(files, `workspace/trees/${old}.json`);
  const size = files.get(name)?.length ?? 0;
  const blob = name.slice('workspace/blobs/'.length);
  const entries = [...(tree['entries'] as JsonObject[]), ...paths.map((path) => ({ path, blob, size, mode: 0o600 }))];
  entries.sort((a, b) => Buffer.compare(Buffer.from(a['path'] as string), Buffer.from(b['path'] as string)));
  const changed: JsonObject = { ...tree, entries };
  const id = digestJson(changed);
  files.delete(`workspace/trees/${old}.json`);
  files.set(`workspace/trees/${id}.json`, Buffer.from(canonicalJson({ ...changed, tree_id: id })));
  files.set('snapshots.json', Buffer.from(canonicalJson(snapshots).replaceAll(old, id)));
}
