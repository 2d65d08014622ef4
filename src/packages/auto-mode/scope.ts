import type { JsonObject, JsonValue } from '../../core/index.ts';
import { demand, refused, SCOPE } from './shapes.ts';

/** What of a package, or of a session, a history may refer to. */
export interface AutoModeScope {
  readonly rootFrameId: string;
  readonly branchIds: ReadonlySet<string>;
  readonly artifactIds: ReadonlySet<string>;
  readonly versionIds: ReadonlySet<string>;
  readonly cellIds: ReadonlySet<string>;
  readonly turnIds: ReadonlySet<string>;
  /** Where each action group belongs. */
  readonly groups: ReadonlyMap<string, { readonly branchId: string; readonly turnId: string }>;
}

/** The records of a history, each cut to its shape. */
export interface AutoModeRecords {
  readonly runs: readonly JsonObject[];
  readonly events: readonly JsonObject[];
  readonly reviews: readonly JsonObject[];
  readonly findings: readonly JsonObject[];
  readonly repairs: readonly JsonObject[];
  readonly assessments: readonly JsonObject[];
}

/** A field that holds text once its record was cut: empty where it is not there. */
export const textOf = (record: JsonObject | undefined, field: string): string => {
  const value = record?.[field];
  return typeof value === 'string' ? value : '';
};

export const textsOf = (record: JsonObject | undefined, field: string): readonly string[] => {
  const value = record?.[field];
  return Array.isArray(value) ? (value as string[]) : [];
};

export const valueOf = (record: JsonObject | undefined, field: string): JsonValue => record?.[field] ?? null;

/** The payload of an event that was cut. */
export const payloadOf = (event: JsonObject | undefined): JsonObject => (event?.['payload'] ?? {}) as JsonObject;

/** Records by their own names, each name once. */
export function byName(records: readonly JsonObject[], field: string, noun: string): Map<string, JsonObject> {
  const named = new Map<string, JsonObject>();
  for (const record of records) {
    const name = textOf(record, field);
    demand(name !== '' && !named.has(name), `has a duplicate or invalid ${noun} identity`);
    named.set(name, record);
  }
  return named;
}

/** Every record names its run, repeats that run's scope, and lies in the session, on a branch, in a turn of it. */
export function checkScopes(
  history: AutoModeRecords,
  runs: ReadonlyMap<string, JsonObject>,
  scope?: AutoModeScope,
): void {
  const { events, reviews, findings, repairs, assessments } = history;
  for (const record of [...history.runs, ...events, ...reviews, ...findings, ...repairs, ...assessments]) {
    const run = runs.get(textOf(record, 'run_id'));
    if (run === undefined) throw refused('record references an unknown identity: its run');
    for (const field of SCOPE) demand(record[field] === run[field], 'record scope does not match its run');
    if (scope === undefined) continue;
    demand(record['root_frame_id'] === scope.rootFrameId, 'record belongs to another session');
    demand(scope.branchIds.has(textOf(record, 'branch_id')), 'branch references an unknown identity');
    demand(scope.turnIds.has(textOf(record, 'turn_id')), 'turn references an unknown identity');
  }
}

const REFERENCES = {
  artifactIds: ['artifact_ids', 'candidate_artifact_ids'],
  versionIds: ['version_ids', 'candidate_version_ids', 'before_version_ids', 'after_version_ids'],
  cellIds: ['cell_ids'],
} as const;

/** Artifacts, versions and cells that a record, or the payload of an event, names are in the package. */
export function checkReferences(history: AutoModeRecords, scope: AutoModeScope): void {
  const { runs, reviews, findings, repairs, assessments, events } = history;
  for (const record of [...runs, ...reviews, ...findings, ...repairs, ...assessments, ...events.map(payloadOf)])
    for (const [known, fields] of Object.entries(REFERENCES))
      for (const field of fields)
        for (const name of textsOf(record, field))
          demand(scope[known as keyof typeof REFERENCES].has(name), `${field} references an unknown identity`);
}

/** Fields whose members may be left out of a history that leaves: what they name does not travel. */
export const LEFT_OUT_FIELDS = Object.entries(REFERENCES) as unknown as readonly (readonly [
  keyof typeof REFERENCES,
  readonly string[],
])[];
