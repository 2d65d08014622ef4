import type { JsonObject } from '../core/index.ts';
import { DOCUMENT_BYTES, DOCUMENTS, type Documents, parseDocument } from './documents.ts';
import { findingOf } from './finding.ts';
import { type ReadManifest, readManifest } from './manifest.ts';
import { verifyFiles } from './package-files.ts';
import { type Archive, type ArchiveOptions, openArchive } from './reader.ts';
import type { ByteSource } from './source.ts';

/** What could be read of a package, right or wrong: for showing, never for believing. */
export interface Contents {
  readonly archive: Archive;
  readonly manifest: ReadManifest;
  readonly documents: Documents;
  /** Everything that does not hold, as sentences with escaped names. */
  readonly problems: readonly string[];
}

/** Opens a package for looking at it: what does not hold is told beside what could be read. */
export async function readContents(source: ByteSource, options: ArchiveOptions): Promise<Contents> {
  const archive = await openArchive(source, options);
  const manifest = await readManifest(archive);
  const { findings } = await verifyFiles(archive, manifest);
  const documents = new Map<string, JsonObject>();
  const unreadable: string[] = [];
  for (const name of DOCUMENTS) {
    const document = archive.has(name) ? await readable(archive, name) : undefined;
    if (document) documents.set(name, document);
    else unreadable.push(`${name} is missing or not one strict JSON object`);
  }
  await archive.checkUnchanged();
  const problems = [...[...manifest.findings, ...findings].map(({ text }) => text), ...unreadable];
  return { archive, manifest, documents, problems };
}

async function readable(archive: Archive, name: string): Promise<JsonObject | undefined> {
  try {
    return parseDocument(await archive.bytes(name, DOCUMENT_BYTES));
  } catch (error) {
    // Content that does not hold is among the problems already; anything else is not about the package.
    findingOf(error);
    return undefined;
  }
}

/** The files of the active workspace, by path. */
export async function workspaceFiles({ archive, documents }: Contents): Promise<ReadonlyMap<string, JsonObject>> {
  const workspace = documents.get('snapshots.json')?.['workspace'] as JsonObject | undefined;
  const map = workspace?.['tree_map'] as JsonObject | undefined;
  const active = workspace?.['active_source_tree_id'];
  const id = typeof active === 'string' && map && Object.hasOwn(map, active) ? map[active] : undefined;
  const path = typeof id === 'string' ? `workspace/trees/${id}.json` : '';
  const tree = archive.has(path) ? await readable(archive, path) : undefined;
  const entries = Array.isArray(tree?.['entries']) ? (tree['entries'] as JsonObject[]) : [];
  return new Map(entries.flatMap((entry) => (typeof entry?.['path'] === 'string' ? [[entry['path'], entry]] : [])));
}
