import type { Ids, JsonObject, JsonValue } from '../core/index.ts';

/** New names for what an imported history refers to outside itself, by the old ones. */
export interface ImportedNames {
  readonly branchIdMap: ReadonlyMap<string, string>;
  readonly turnIdMap: ReadonlyMap<string, string>;
  readonly versionIdMap: ReadonlyMap<string, string>;
  readonly artifactIdMap: ReadonlyMap<string, string>;
  readonly cellIdMap: ReadonlyMap<string, string>;
  readonly actionGroupIdMap: ReadonlyMap<string, string>;
}

/** For each field that names something, the kind of what it names. */
const KINDS = {
  branch_id: 'branch',
  turn_id: 'turn',
  execution_id: 'execution',
  run_id: 'run',
  event_id: 'event',
  audit_id: 'audit',
  review_run_id: 'review',
  repair_run_id: 'repair',
  assessment_id: 'assessment',
  decision_id: 'decision',
  finding_id: 'finding',
  finding_ids: 'finding',
  candidate_id: 'candidate',
  artifact_ids: 'artifact',
  candidate_artifact_ids: 'artifact',
  version_ids: 'version',
  candidate_version_ids: 'version',
  before_version_ids: 'version',
  after_version_ids: 'version',
  cell_ids: 'cell',
  action_group_id: 'group',
  execution_group_ids: 'group',
} as const satisfies Readonly<Record<string, string>>;

type Kind = (typeof KINDS)[keyof typeof KINDS];

/** What a reviewer pointed to may be anything of the session, or words. */
const POINTED_TO: readonly Kind[] = ['cell', 'artifact', 'version', 'group', 'turn'];

/** Gives everything in a history a name of its own here; the same one wherever it is named. */
export class HistoryNames {
  readonly #ids: Ids;
  readonly #rootFrameId: string;
  readonly #maps = new Map<Kind, Map<string, string>>();

  constructor(ids: Ids, rootFrameId: string, names: ImportedNames) {
    this.#ids = ids;
    this.#rootFrameId = rootFrameId;
    this.#maps.set('branch', new Map(names.branchIdMap));
    this.#maps.set('turn', new Map(names.turnIdMap));
    this.#maps.set('version', new Map(names.versionIdMap));
    this.#maps.set('artifact', new Map(names.artifactIdMap));
    this.#maps.set('cell', new Map(names.cellIdMap));
    this.#maps.set('group', new Map(names.actionGroupIdMap));
  }

  #of(kind: Kind): Map<string, string> {
    const known = this.#maps.get(kind) ?? new Map<string, string>();
    this.#maps.set(kind, known);
    return known;
  }

  #take(kind: Kind, old: JsonValue): JsonValue {
    if (Array.isArray(old)) return old.map((one) => this.#take(kind, one));
    if (typeof old !== 'string') return old;
    const map = this.#of(kind);
    const fresh = map.get(old) ?? this.#ids.next();
    map.set(old, fresh);
    return fresh;
  }

  /** A record, or the payload of an event, under new names. */
  rename(record: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, this.#member(record, key, value)]));
  }

  #member(record: JsonObject, key: string, value: JsonValue): JsonValue {
    if (key === 'root_frame_id') return this.#rootFrameId;
    if (key === 'subject_entity_id')
      return this.#take(record['subject_kind'] === 'permission_review' ? 'decision' : 'candidate', value);
    if (key === 'evidence_refs' && Array.isArray(value)) return value.map((one) => this.#pointedTo(one));
    const kind = Object.hasOwn(KINDS, key) ? KINDS[key as keyof typeof KINDS] : undefined;
    return kind === undefined ? value : this.#take(kind, value);
  }

  #pointedTo(reference: JsonValue): JsonValue {
    if (typeof reference !== 'string') return reference;
    for (const kind of POINTED_TO) {
      const fresh = this.#of(kind).get(reference);
      if (fresh !== undefined) return fresh;
    }
    return reference;
  }
}
