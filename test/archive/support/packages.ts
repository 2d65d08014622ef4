import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  readStrictJson,
  JSON_PROFILES,
} from '../../../src/core/index.ts';
import { readAll } from './read-all.ts';
import { type Frame, type Piece, zip } from './zip-builder.ts';

export const ORACLE_FOLDER = join(import.meta.dirname, '..', '..', 'fixtures', 'oracle-packages');

/** The real packages of another program, by file name without its ending. */
export const oracleNames = (): string[] =>
  readdirSync(ORACLE_FOLDER).flatMap((file) => (file.endsWith('.zip') ? [file.slice(0, -4)] : []));

export const oracle = (name: string): Buffer => readFileSync(join(ORACLE_FOLDER, `${name}.zip`));

export type Files = Map<string, Buffer>;

/** All members of a package, the manifest included. */
export async function filesOf(name: string): Promise<Files> {
  return readAll(oracle(name));
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A manifest that fits the files, as a text; `change` edits its rows before it is sealed. */
export function manifestFor(files: Files, change: (manifest: JsonObject) => void = () => {}): Buffer {
  const rows = [...files]
    .filter(([path]) => path !== 'manifest.json')
    .map(([path, bytes]): JsonObject => ({ path, sha256: sha256(bytes), size: bytes.length }))
    .sort((a, b) => ((a['path'] as string) < (b['path'] as string) ? -1 : 1));
  const manifest: JsonObject = { files: rows, format: 'openai4s.session', schema_version: 1 };
  change(manifest);
  manifest['manifest_sha256'] = sha256(Buffer.from(canonicalJson(manifest)));
  return Buffer.from(canonicalJson(manifest));
}

/** The files as an archive, in the order of the map, by a writer that is not the product's. */
export function pack(files: Files, frame: Frame = {}): Buffer {
  const pieces = [...files].map(([name, content]): Piece => {
    const flags = /^[\x20-\x7e]*$/.test(name) ? 0 : 0x800;
    return { name, content, flags, method: content.length > 400_000 ? 0 : 8 };
  });
  return zip(pieces, frame);
}

/** A package with a document edited and the manifest made to fit again. */
export async function edited(name: string, document: string, edit: (content: JsonObject) => void): Promise<Buffer> {
  const files = await filesOf(name);
  editDocument(files, document, edit);
  return resealed(files);
}

export function editDocument(files: Files, document: string, edit: (content: JsonObject) => void): void {
  const content = readStrictJson(files.get(document) as Buffer, JSON_PROFILES.packages) as JsonObject;
  edit(content);
  files.set(document, Buffer.from(canonicalJson(content)));
}

export function resealed(files: Files): Buffer {
  files.set('manifest.json', manifestFor(files));
  return pack(files);
}

/** The object at a place in a document: `at(document, 'checkpoint_states', 0, 'state')`. */
export function at(value: JsonValue | undefined, ...path: readonly (string | number)[]): JsonObject {
  let current: JsonValue | undefined = value;
  for (const step of path) current = (current as Record<string | number, JsonValue>)[step];
  return current as JsonObject;
}
