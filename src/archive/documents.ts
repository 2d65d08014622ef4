import {
  canonicalJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  type LimitName,
  LIMITS,
  readStrictJson,
} from '../core/index.ts';

/** The twelve documents that every package has, in the order in which they are read. */
export const DOCUMENTS = [
  'session.json',
  'ledger.json',
  'notebook.json',
  'snapshots.json',
  'artifacts.json',
  'environment.json',
  'lineage.json',
  'plans.json',
  'review.json',
  'memory.json',
  'permissions.json',
  'capabilities.json',
] as const;

export type DocumentName = (typeof DOCUMENTS)[number];

/** One list of records in a document. */
export interface RecordList {
  readonly document: DocumentName;
  readonly key: string;
  /** What its records are called, in the plural, and one of them. */
  readonly noun: string;
  readonly one: string;
  readonly limit: LimitName;
  /** False where a package may leave the list out. */
  readonly required: boolean;
  /** The field that names a record, where records of the kind have names of their own. */
  readonly id?: string;
}

type ListRow = readonly [
  document: DocumentName,
  key: string,
  one: string,
  limit: LimitName,
  id?: string | undefined,
  optional?: 'optional',
];

const LIST_ROWS: readonly ListRow[] = [
  ['session.json', 'messages', 'message', 'packageMessages', 'message_id'],
  ['ledger.json', 'groups', 'action group', 'packageGroups', 'group_id'],
  ['ledger.json', 'execution_attempts', 'execution attempt', 'packageAttempts', 'attempt_id'],
  ['notebook.json', 'cells', 'cell', 'packageCells', 'producing_cell_id'],
  ['snapshots.json', 'branches', 'branch', 'packageBranches', 'branch_id'],
  ['snapshots.json', 'checkpoints', 'checkpoint', 'packageCheckpoints', 'checkpoint_id'],
  ['snapshots.json', 'checkpoint_states', 'checkpoint state', 'packageCheckpointStates', undefined, 'optional'],
  ['snapshots.json', 'operations', 'operation', 'packageOperations'],
  ['snapshots.json', 'recovery_journal', 'recovery journal entry', 'packageRecoveryEntries'],
  ['artifacts.json', 'artifacts', 'artifact', 'packageArtifacts', 'artifact_id'],
  ['artifacts.json', 'completion_deliveries', 'completion delivery', 'packageDeliveries', 'delivery_id', 'optional'],
  ['environment.json', 'generations', 'generation', 'packageGenerations', 'generation_id'],
  [
    'environment.json',
    'artifact_environment_snapshots',
    'environment snapshot',
    'packageEnvironmentSnapshots',
    'snapshot_id',
  ],
  ['lineage.json', 'edges', 'lineage edge', 'packageLineageEdges'],
  ['plans.json', 'plans', 'plan', 'packagePlans'],
  ['review.json', 'annotations', 'annotation', 'packageAnnotations'],
  ['review.json', 'activity_steps', 'review step', 'packageReviewSteps', undefined, 'optional'],
  ['memory.json', 'memories', 'memory', 'packageMemories'],
  ['permissions.json', 'project', 'project permission rule', 'packagePermissionRules'],
  ['permissions.json', 'conversation', 'conversation permission rule', 'packagePermissionRules'],
  ['capabilities.json', 'states', 'capability state', 'packageCapabilities'],
];

const plural = (one: string): string =>
  one.endsWith('y') ? `${one.slice(0, -1)}ies` : /(?:ch|s)$/.test(one) ? `${one}es` : `${one}s`;

export const RECORD_LISTS: readonly RecordList[] = LIST_ROWS.map(([document, key, one, limit, id, optional]) => ({
  document,
  key,
  one,
  noun: plural(one),
  limit,
  required: optional === undefined,
  ...(id === undefined ? {} : { id }),
}));

/** The parsed documents of one package. A document that could not be parsed is not among them. */
export type Documents = ReadonlyMap<string, JsonObject>;

/** Reads one document: strict JSON within the package bounds, an object; undefined for anything else. */
export function parseDocument(bytes: Buffer): JsonObject | undefined {
  try {
    const value = readStrictJson(bytes, JSON_PROFILES.packages);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The largest document that is read. */
export const DOCUMENT_BYTES = LIMITS.packagesJsonBytes;

/** The records of a list; an empty list where it is not a list, and nothing but objects. */
export function recordsOf(documents: Documents, document: DocumentName, key: string): readonly JsonObject[] {
  return objectsOf(documents.get(document)?.[key]);
}

/** The objects of a value that should be a list of objects. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** A field that should hold text: the text, or undefined for anything else. */
export function textOf(record: JsonObject | undefined, field: string): string | undefined {
  const value = record?.[field];
  return typeof value === 'string' ? value : undefined;
}

/** A field that should hold an object. */
export function objectOf(record: JsonObject | undefined, field: string): JsonObject | undefined {
  const value = record?.[field];
  return isJsonObject(value) ? value : undefined;
}

/** A value as part of a key in a map: equal values give equal texts, whatever they are. */
export function keyOf(value: JsonValue | undefined): string {
  return canonicalJson(value ?? null);
}

/** True for a field that is not there, null or an empty text: an optional reference that refers to nothing. */
export function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === '';
}

/** True for a non-negative integer; a boolean, a fraction or `1.0` is none. */
export function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
