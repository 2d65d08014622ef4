import {
  canonicalJson,
  fail,
  isJsonObject,
  isSha256Hex,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  LIMITS,
  readStrictJson,
  sha256Hex,
} from '../core/index.ts';
import { aboutFile, type Finding } from './finding.ts';
import { ARCHIVE_LIMITS } from './limits.ts';
import { nameFault } from './member-names.ts';
import type { Archive } from './reader.ts';

export const MANIFEST_NAME = 'manifest.json';
export const PACKAGE_FORMAT = 'openai4s.session';
export const PACKAGE_SCHEMA = 1;

/** One file of a package, as the manifest seals it. */
export interface ManifestRow {
  readonly path: string;
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** What a manifest says, and what is wrong with it. Rows that are not rows are left out and are findings. */
export interface ReadManifest {
  readonly format: string | null;
  readonly schemaVersion: number | null;
  readonly digest: string | null;
  readonly rows: ReadonlyMap<string, ManifestRow>;
  readonly findings: readonly Finding[];
}

const MANIFEST_JSON = {
  ...JSON_PROFILES.packages,
  name: 'manifest',
  bytes: LIMITS.manifestBytes,
  depth: 8,
  values: 8 * LIMITS.archiveMembers,
};

/**
 * The manifest of a package, in canonical form: rows in code point order of their paths, sealed with the SHA-256 of
 * the canonical JSON of everything but the seal. Its digest is the package's identity.
 */
export function sealManifest(rows: readonly ManifestRow[]): { readonly text: string; readonly digest: string } {
  const files = [...rows]
    .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
    .map(({ path, size, sha256 }): JsonObject => ({ path, size, sha256 }));
  const body: JsonObject = { files, format: PACKAGE_FORMAT, schema_version: PACKAGE_SCHEMA };
  const digest = sha256Hex(canonicalJson(body));
  return { text: canonicalJson({ ...body, manifest_sha256: digest }), digest };
}

/** Reads an archive's manifest. Without one (PACKAGE_MANIFEST_MISSING, _INVALID) there is nothing to verify. */
export async function readManifest(archive: Archive): Promise<ReadManifest> {
  if (!archive.has(MANIFEST_NAME))
    throw fail('PACKAGE_MANIFEST_MISSING', `The archive is not a session package: it has no ${MANIFEST_NAME}.`);
  const bytes = await archive.bytes(MANIFEST_NAME, LIMITS.manifestBytes);
  let document: JsonValue;
  try {
    document = readStrictJson(bytes, MANIFEST_JSON);
  } catch (cause) {
    throw fail('PACKAGE_MANIFEST_INVALID', `${MANIFEST_NAME} is not strict JSON within its bounds.`, { cause });
  }
  if (!isJsonObject(document)) throw fail('PACKAGE_MANIFEST_INVALID', `${MANIFEST_NAME} is not a JSON object.`);
  return judgeManifest(document);
}

function judgeManifest(document: JsonObject): ReadManifest {
  const { format, schema_version: schema, manifest_sha256: digest } = document;
  const { rows, findings } = readRows(document['files']);
  return {
    format: typeof format === 'string' ? format : null,
    schemaVersion: typeof schema === 'number' ? schema : null,
    digest: typeof digest === 'string' ? digest : null,
    rows,
    findings: [...headFindings(document), ...findings],
  };
}

const KNOWN_KEYS: ReadonlySet<string> = new Set(['files', 'format', 'manifest_sha256', 'schema_version']);

function headFindings(document: JsonObject): Finding[] {
  const findings: Finding[] = [];
  const add = (code: Finding['code'], text: string) => findings.push({ code, text: `${MANIFEST_NAME}: ${text}` });
  if (document['format'] !== PACKAGE_FORMAT) add('PACKAGE_FORMAT', `the format is not ${PACKAGE_FORMAT}`);
  if (document['schema_version'] !== PACKAGE_SCHEMA)
    add('PACKAGE_FORMAT', `the schema version is not ${PACKAGE_SCHEMA}`);
  const { manifest_sha256: digest, ...body } = document;
  if (digest === undefined) add('PACKAGE_MANIFEST_DIGEST', 'the manifest digest is missing');
  else if (digest !== sha256Hex(canonicalJson(body))) add('PACKAGE_MANIFEST_DIGEST', 'manifest digest mismatch');
  if (!Object.keys(document).every((key) => KNOWN_KEYS.has(key)))
    add('PACKAGE_MANIFEST_DIGEST', 'it has members that other readers do not seal');
  return findings;
}

function readRows(files: JsonValue | undefined): Pick<ReadManifest, 'rows' | 'findings'> {
  const rows = new Map<string, ManifestRow>();
  if (!Array.isArray(files)) return { rows, findings: [badRow('the list of files is missing')] };
  const findings: Finding[] = [];
  for (const [index, file] of files.entries()) {
    const row = readRow(file, index);
    if ('code' in row) findings.push(row);
    else if (rows.has(row.path)) findings.push(aboutFile('PACKAGE_MANIFEST_ROW', 'listed twice', row.path));
    else rows.set(row.path, row);
  }
  return { rows, findings };
}

const badRow = (says: string): Finding => ({ code: 'PACKAGE_MANIFEST_ROW', text: `${MANIFEST_NAME}: ${says}` });

function readRow(file: JsonValue, index: number): ManifestRow | Finding {
  if (!isJsonObject(file)) return badRow(`row ${index} is not an object`);
  const { path, size, sha256, ...others } = file;
  if (typeof path !== 'string') return badRow(`row ${index} has no path`);
  const unsafe = nameFault(path, ARCHIVE_LIMITS);
  if (unsafe) return { code: 'PACKAGE_MANIFEST_ROW', text: unsafe.message };
  if (path === MANIFEST_NAME) return badRow('it lists itself');
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    return aboutFile('PACKAGE_MANIFEST_ROW', 'the listed size is not a size', path);
  if (typeof sha256 !== 'string' || !isSha256Hex(sha256))
    return aboutFile('PACKAGE_MANIFEST_ROW', 'the listed hash is not a SHA-256', path);
  if (Object.keys(others).length > 0)
    return aboutFile('PACKAGE_MANIFEST_ROW', 'the row has members of unknown meaning', path);
  return { path, size, sha256 };
}
