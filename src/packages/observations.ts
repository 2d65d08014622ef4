import { isPlainFileName, isSecretPath } from '../archive/index.ts';
import {
  codePointLength,
  containsSecret,
  digestJson,
  fail,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  LIMITS,
  readStrictJson,
} from '../core/index.ts';

/** The optional, frozen file that says which cell produced or saw again the bytes of a version. Not written yet. */
export const OBSERVATIONS_NAME = 'artifact_observations.json';

/** What a package holds, for references to be held against. */
export interface ObservationScope {
  readonly artifactIds: ReadonlySet<string>;
  /** For each version the artifact that owns it. */
  readonly artifactOfVersion: ReadonlyMap<string, string>;
  readonly cellIds: ReadonlySet<string>;
  /** The root frame and the branches. */
  readonly frameIds: ReadonlySet<string>;
  readonly environmentIds: ReadonlySet<string>;
}

const REQUIRED = [
  'observation_id',
  'artifact_id',
  'version_id',
  'producing_cell_id',
  'capture_kind',
  'filename',
  'created_at',
] as const;
const OPTIONAL = [
  'frame_id',
  'content_type',
  'size_bytes',
  'checksum',
  'env_snapshot_id',
  'source',
  'input_version_ids',
  'updated_at',
] as const;
const KNOWN: ReadonlySet<string> = new Set([...REQUIRED, ...OPTIONAL]);
const KINDS: ReadonlySet<JsonValue> = new Set(['version_created', 'same_cell_merge', 'head_checksum_reused']);

const invalid = (text: string): Error => fail('PACKAGE_DOCUMENT_INVALID', `${OBSERVATIONS_NAME}: ${text}`);
const unknown = (text: string): Error => fail('PACKAGE_IDENTITY', `${OBSERVATIONS_NAME}: ${text}`);

/**
 * What an importer of this file must check before its first write: sizes before anything is read, the seal before any
 * record, and of each record that it names only what is in the package. Gives the records in their order.
 * PACKAGE_LIMIT, PACKAGE_DOCUMENT_INVALID, PACKAGE_SECRET, PACKAGE_IDENTITY, PACKAGE_ARTIFACT.
 */
export function preflightObservations(payload: Uint8Array, scope: ObservationScope): readonly JsonObject[] {
  if (payload.length > LIMITS.observationBytes)
    throw fail('PACKAGE_LIMIT', `${OBSERVATIONS_NAME}: larger than the 16 MiB portable limit`);
  const document = readDocument(payload);
  const { schema_version: schema, observations, observations_sha256: seal } = document;
  if (schema !== 1) throw invalid('the schema version is not 1');
  if (!Array.isArray(observations)) throw invalid('the list observations is missing');
  if (observations.length > LIMITS.observations) throw fail('PACKAGE_LIMIT', 'too many artifact observations');
  if (digestJson({ observations, schema_version: 1 }) !== seal) throw invalid('observations digest mismatch');
  const seen = { ids: new Set<string>(), pairs: new Set<string>() };
  return observations.map((record, index) => checkRecord(record, index, scope, seen));
}

function readDocument(payload: Uint8Array): JsonObject {
  let document: JsonValue;
  try {
    document = readStrictJson(payload, JSON_PROFILES.packages);
  } catch (cause) {
    throw fail('PACKAGE_DOCUMENT_INVALID', `${OBSERVATIONS_NAME}: not strict JSON`, { cause });
  }
  if (!isJsonObject(document)) throw invalid('not one JSON object');
  if (containsSecret(new TextDecoder().decode(payload)))
    throw fail('PACKAGE_SECRET', `secret material in: ${OBSERVATIONS_NAME}`);
  return document;
}

interface Seen {
  readonly ids: Set<string>;
  readonly pairs: Set<string>;
}

function checkRecord(value: JsonValue, index: number, scope: ObservationScope, seen: Seen): JsonObject {
  const at = `observation ${index}`;
  if (!isJsonObject(value)) throw invalid(`${at} is not an object`);
  checkKeys(value, at);
  const [id, artifact, version, cell] = (
    ['observation_id', 'artifact_id', 'version_id', 'producing_cell_id'] as const
  ).map((key) => identity(value, key, at)) as [string, string, string, string];
  if (!scope.artifactIds.has(artifact)) throw unknown(`${at}: artifact references an unknown identity`);
  const owner = scope.artifactOfVersion.get(version);
  if (owner === undefined) throw unknown(`${at}: artifact version references an unknown identity`);
  if (!scope.cellIds.has(cell)) throw unknown(`${at}: cell references an unknown identity`);
  const pair = JSON.stringify([version, cell]);
  if (seen.ids.has(id) || seen.pairs.has(pair)) throw unknown(`${at} is a duplicate identity`);
  seen.ids.add(id);
  seen.pairs.add(pair);
  if (owner !== artifact) throw unknown(`${at}: version does not belong to the referenced artifact`);
  checkFacts(value, at, scope);
  return value;
}

function checkKeys(record: JsonObject, at: string): void {
  if (['path', 'snapshot_path'].some((key) => Object.hasOwn(record, key)))
    throw invalid(`${at} has filesystem path fields`);
  if (!Object.keys(record).every((key) => KNOWN.has(key))) throw invalid(`${at} has unknown fields`);
  if (!REQUIRED.every((key) => Object.hasOwn(record, key))) throw invalid(`${at} lacks required fields`);
}

function identity(record: JsonObject, key: string, at: string): string {
  const value = record[key];
  if (typeof value !== 'string' || value === '' || codePointLength(value) > LIMITS.packageIdCodePoints)
    throw unknown(`${at}: ${key} is no valid identity`);
  return value;
}

const isAbsent = (value: JsonValue | undefined): boolean => value === undefined || value === null || value === '';

function checkFacts(record: JsonObject, at: string, scope: ObservationScope): void {
  const { capture_kind: kind, filename, created_at: created, frame_id: frame, env_snapshot_id: environment } = record;
  if (!KINDS.has(kind ?? null)) throw invalid(`${at} has an unknown capture kind`);
  if (typeof filename !== 'string' || !isPlainFileName(filename) || isSecretPath(filename))
    throw fail('PACKAGE_ARTIFACT', 'secret or unsafe artifact filename');
  if (!Number.isSafeInteger(created)) throw invalid(`${at} has no integer created_at`);
  if (!isAbsent(frame) && !scope.frameIds.has(frame as string))
    throw unknown(`${at}: frame references an unknown identity`);
  if (!isAbsent(environment) && !scope.environmentIds.has(environment as string))
    throw unknown(`${at}: environment snapshot references an unknown identity`);
  const { checksum, size_bytes: size, input_version_ids: inputs } = record;
  if (!isAbsent(checksum) && (typeof checksum !== 'string' || checksum.length !== 64))
    throw invalid(`${at} has an invalid checksum`);
  if (size !== undefined && size !== null && !Number.isSafeInteger(size)) throw invalid(`${at} has an invalid size`);
  checkInputs(inputs ?? null, at, scope);
}

function checkInputs(inputs: JsonValue, at: string, scope: ObservationScope): void {
  if (inputs === null) return;
  if (!Array.isArray(inputs)) throw invalid(`${at} has no list of input versions`);
  if (!inputs.every((version) => typeof version === 'string' && scope.artifactOfVersion.has(version)))
    throw unknown(`${at}: input version references an unknown identity`);
}
