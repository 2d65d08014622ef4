import { digestJson, type JsonObject, type JsonValue, isSha256Hex } from '../../core/index.ts';
import { DOCUMENT_BYTES, objectOf, objectsOf, parseDocument, textOf } from '../documents.ts';
import { foldName } from '../member-names.ts';
import { printable } from '../printable.ts';
import type { DeepContext } from './context.ts';
import { isInsideWorkspace, isSecretPath, placesFault } from './file-names.ts';

const TREE_FOLDER = 'workspace/trees/';
const BLOB_FOLDER = 'workspace/blobs/';
const TREE_KEYS = 'entries,skipped,tree_id,version';
const ENTRY_KEYS = 'blob,mode,path,size';
const SKIPPED_KEYS = 'path,reason';

/** Every tree that is mapped is there, has its digest, and lists files whose bytes are there. */
export async function checkWorkspace(context: DeepContext): Promise<void> {
  const workspace = objectOf(context.documents.get('snapshots.json'), 'workspace');
  const map = objectOf(workspace, 'tree_map');
  if (!workspace || !map) {
    context.add('PACKAGE_DOCUMENT_INVALID', 'snapshots.json: the workspace or its tree map is missing');
    return;
  }
  const known = (id: JsonValue | undefined): boolean => typeof id === 'string' && Object.hasOwn(map, id);
  if (!known(workspace['active_source_tree_id']))
    context.add('PACKAGE_WORKSPACE', 'the active workspace tree is not in the tree map');
  for (const checkpoint of context.records('snapshots.json', 'checkpoints'))
    if (!known(checkpoint['workspace_tree_id']))
      context.add('PACKAGE_WORKSPACE', 'the workspace tree of a checkpoint is not in the tree map');
  let entries = 0;
  const source = workspace['active_source_tree_id'];
  const active = typeof source === 'string' && known(source) ? map[source] : undefined;
  for (const id of new Set(Object.values(map))) entries += await checkTree(context, id, active);
  if (entries > context.limit('packageWorkspaceEntries')) context.add('PACKAGE_LIMIT', 'too many workspace entries');
  checkBlobNames(context);
}

async function checkTree(context: DeepContext, id: JsonValue, active: JsonValue | undefined): Promise<number> {
  const path = typeof id === 'string' ? `${TREE_FOLDER}${id}.json` : '';
  if (!isSha256Hex(id) || !context.pkg.files.has(path)) {
    context.add('PACKAGE_WORKSPACE', 'a workspace tree is missing');
    return 0;
  }
  const tree = parseDocument(await context.pkg.bytes(path, DOCUMENT_BYTES));
  if (!tree || !isSealedTree(tree, id))
    context.add('PACKAGE_WORKSPACE', `a workspace tree is not what it seals: ${id}`);
  const entries = objectsOf(tree?.['entries']);
  const folded = new Set<string>();
  for (const entry of entries) checkEntry(context, entry, folded);
  const paths = entries.map((entry) => textOf(entry, 'path') ?? '');
  const fault = placesFault(paths);
  if (fault !== undefined) context.add('PACKAGE_WORKSPACE', fault);
  if (id === active) checkArtifactPlaces(context, paths);
  return entries.length;
}

/** The newest bytes of an artifact stand in the workspace under its name: no folder may stand there. */
function checkArtifactPlaces(context: DeepContext, paths: readonly string[]): void {
  const folders = new Set(paths.flatMap((path) => (path.includes('/') ? [foldName(path.split('/')[0] ?? '')] : [])));
  for (const artifact of context.records('artifacts.json', 'artifacts'))
    if (folders.has(foldName(textOf(artifact, 'filename') ?? '')))
      context.add('PACKAGE_ARTIFACT', 'an artifact has the name of a folder of the workspace');
}

/** Exactly the known members, in their order, under the digest that names them: the importer builds it again. */
function isSealedTree(tree: JsonObject, id: string): boolean {
  const { entries, skipped, version } = tree;
  const keys = (record: JsonObject) => Object.keys(record).sort().join();
  return (
    keys(tree) === TREE_KEYS &&
    version === 1 &&
    tree['tree_id'] === id &&
    Array.isArray(entries) &&
    Array.isArray(skipped) &&
    objectsOf(entries).filter((entry) => keys(entry) === ENTRY_KEYS).length === entries.length &&
    objectsOf(skipped).filter((entry) => keys(entry) === SKIPPED_KEYS).length === skipped.length &&
    isSorted(objectsOf(entries).map((entry) => textOf(entry, 'path') ?? '')) &&
    digestJson({ entries, skipped, version }) === id
  );
}

function isSorted(paths: readonly string[]): boolean {
  return paths.every(
    (path, i) => i === 0 || Buffer.compare(Buffer.from(paths[i - 1] as string), Buffer.from(path)) < 0,
  );
}

function checkEntry(context: DeepContext, entry: JsonObject, folded: Set<string>): void {
  const { path, blob, size, mode } = entry;
  if (typeof path !== 'string' || !isInsideWorkspace(path) || isSecretPath(path))
    context.add('PACKAGE_WORKSPACE', 'secret or unsafe workspace path');
  else if (folded.has(foldName(path)))
    context.add('PACKAGE_WORKSPACE', `two workspace paths are one on some file systems: ${printable(path)}`);
  else folded.add(foldName(path));
  const row = typeof blob === 'string' ? context.pkg.files.get(`${BLOB_FOLDER}${blob}`) : undefined;
  if (!row || row.sha256 !== blob || row.size !== size)
    context.add('PACKAGE_WORKSPACE', 'the bytes of a workspace file are missing or of another size');
  if (typeof mode !== 'number' || !Number.isInteger(mode) || mode < 1 || mode > 0o777)
    context.add('PACKAGE_WORKSPACE', 'the mode of a workspace file is not a mode');
}

/** A blob is named by its digest, whoever refers to it. */
function checkBlobNames(context: DeepContext): void {
  for (const { path, sha256 } of context.pkg.files.values())
    if (path.startsWith(BLOB_FOLDER) && path !== `${BLOB_FOLDER}${sha256}`)
      context.add('PACKAGE_WORKSPACE', 'a workspace blob does not have the digest in its name');
}
