import {
  canonicalJson,
  digestJson,
  isJsonObject,
  isSha256Hex,
  type JsonObject,
  type JsonValue,
  type LimitName,
  LIMITS,
} from '../../core/index.ts';
import { checkAudits, checkEventNames, checkRepairs, checkReviews } from './owners.ts';
import { replayRuns, type RunReplay } from './replay.ts';
import {
  type AutoModeRecords,
  type AutoModeScope,
  byName,
  checkReferences,
  checkScopes,
  payloadOf,
  textOf,
} from './scope.ts';
import {
  ASSESSMENT,
  cut,
  demand,
  EVENT,
  FINDING,
  LIVE,
  PAYLOAD,
  refused,
  REPAIR,
  requireBounded,
  REVIEW,
  RUN,
  SELECTION,
  type Shape,
} from './shapes.ts';

/** What is in force wherever a history arrives: nothing runs, nothing is reviewed, a person approves. */
export const NOTHING_IN_FORCE: JsonObject = {
  preset: 'off',
  result_review_mode: 'off',
  approvals_reviewer: 'user',
};

export type AutoModeTrust = 'local' | 'quarantined_import';

/** What a store without autonomous runs says of them: that there were none. */
export const NO_AUTO_MODE: JsonObject = {
  schema_version: 1,
  trust_state: 'local',
  historical_selection: null,
  effective_selection: NOTHING_IN_FORCE,
  runs: [],
  events: [],
  review_runs: [],
  findings: [],
  repair_runs: [],
  permission_assessments: [],
};

/**
 * The history of autonomous runs that may travel, from one that a store or a package gives: cut to a closed list of
 * public fields, checked whole, without authority. Every event is held against its digest, every run against its
 * events told again, every review, assessment and repair against its two events; references to what is outside `scope`
 * are refused. What claimed to be verified, or had not ended, is `unverified`, and says what it claimed. Reducing what
 * was reduced changes nothing. PACKAGE_AUTO_MODE.
 */
export function portableAutoMode(source: JsonValue, trust: AutoModeTrust, scope?: AutoModeScope): JsonObject {
  if (!isJsonObject(source)) throw refused('projection must be an object');
  demand((source['schema_version'] ?? 1) === 1, 'projection schema version is invalid');
  const history = readHistory(source);
  const runs = byName(history.runs, 'run_id', 'run');
  byName(history.events, 'event_id', 'event');
  checkScopes(history, runs, scope);
  if (scope) checkReferences(history, scope);
  const replays = replayRuns(runs, history.events);
  checkAudits(history, runs, replays);
  checkReviews(history, replays);
  checkRepairs(history, runs, scope);
  checkEventNames(history);
  const result: JsonObject = {
    schema_version: 1,
    trust_state: trust,
    historical_selection: selectionOf(source),
    effective_selection: { ...NOTHING_IN_FORCE },
    ...withoutProof(history, replays),
    review_runs: [...history.reviews],
    findings: [...history.findings],
    repair_runs: [...history.repairs],
    permission_assessments: [...history.assessments],
  };
  requirePublic(result);
  const fits = Buffer.byteLength(canonicalJson(result)) <= LIMITS.autoModeBytes;
  demand(fits, 'portable projection is too large');
  return result;
}

function selectionOf(source: JsonObject): JsonValue {
  const selection = source['historical_selection'];
  return isJsonObject(selection) ? cut(selection, SELECTION) : null;
}

function readHistory(source: JsonObject): AutoModeRecords {
  const list = (key: string, noun: string, limit: LimitName): JsonObject[] => {
    const records = source[key] ?? [];
    if (!Array.isArray(records)) throw refused(`${key} must be a list`);
    demand(records.length <= LIMITS[limit], `history has too many ${key}`);
    return records.map((record) => {
      if (!isJsonObject(record)) throw refused(`${noun} is invalid`);
      return record;
    });
  };
  const shaped = (key: string, shape: Shape, limit: LimitName): JsonObject[] =>
    list(key, shape.noun, limit).map((record) => cut(record, shape));
  const trust = source['trust_state'] ?? 'local';
  return {
    runs: shaped('runs', RUN, 'autoModeRuns').map((run) => cut({ trust_state: trust, ...run }, RUN)),
    events: readEvents(list('events', EVENT.noun, 'autoModeEvents')),
    reviews: shaped('review_runs', REVIEW, 'autoModeReviews'),
    findings: list('findings', FINDING.noun, 'autoModeFindings').map((record) => cut(plural(record), FINDING)),
    repairs: shaped('repair_runs', REPAIR, 'autoModeRepairs'),
    assessments: shaped('permission_assessments', ASSESSMENT, 'autoModeAssessments'),
  };
}

const SINGULARS = [
  ['artifact_ids', 'artifact_id'],
  ['version_ids', 'version_id'],
  ['cell_ids', 'producing_cell_id'],
] as const;

/** An early form of a finding names one of each; here it names lists. */
function plural(finding: JsonObject): JsonObject {
  const lists = SINGULARS.map(([many, one]) => [many, finding[many] ?? (finding[one] == null ? [] : [finding[one]])]);
  return { ...finding, ...(Object.fromEntries(lists) as JsonObject) };
}

function readEvents(records: readonly JsonObject[]): JsonObject[] {
  let before = 0;
  return records.map((record) => {
    const event = cut(record, EVENT);
    const cursor = record['event_cursor'] ?? record['event_ordinal'];
    const follows = typeof cursor === 'number' && Number.isSafeInteger(cursor) && cursor > before;
    demand(follows, 'event cursors are not ordered');
    before = cursor as number;
    const told = record['payload'] ?? {};
    if (!isJsonObject(told)) throw refused('event payload is invalid');
    requireBounded(told);
    const sealed = isSha256Hex(record['payload_sha256']) && record['payload_sha256'] === digestJson(told);
    demand(sealed, 'event payload digest mismatch');
    const payload = cut(told, PAYLOAD);
    return { ...event, event_cursor: cursor as number, payload, payload_sha256: digestJson(payload) };
  });
}

/**
 * What travels proves nothing: digests of what stayed behind can be made up. A run that claims to be verified, or that
 * had not ended, is unverified from here on, and its terminal event says so too.
 */
function withoutProof({ runs, events }: AutoModeRecords, replays: ReadonlyMap<string, RunReplay>) {
  const ends = new Map<JsonObject, JsonObject>();
  const reduced = runs.map((run) => {
    const status = textOf(run, 'status');
    if (status !== 'verified' && !(LIVE as readonly string[]).includes(status)) return run;
    const reason = status === 'verified' ? 'portable_proof_incomplete' : 'portable_execution_inert';
    const terminal = replays.get(textOf(run, 'run_id'))?.terminal ?? null;
    if (terminal !== null) ends.set(terminal, { status: 'unverified', terminal_reason: reason });
    const told = run['terminal_reason'];
    return {
      source_claimed_status: status,
      ...(told === undefined ? {} : { source_terminal_reason: told }),
      ...run,
      status: 'unverified',
      terminal_reason: reason,
    };
  });
  const retold = events.map((event) => {
    const end = ends.get(event);
    if (end === undefined) return event;
    const payload = { ...payloadOf(event), ...end };
    return { ...event, payload, payload_sha256: digestJson(payload) };
  });
  return { runs: reduced, events: retold };
}

const PRIVATE: ReadonlySet<string> = new Set([
  'authorization',
  'authorizations',
  'credential',
  'credentials',
  'hidden_rationale',
  'permission_payload',
  'prompt',
  'raw_payload',
  'rationale',
  'secret',
  'secrets',
  'system_prompt',
]);

/** The last look: no key of what leaves is one of a private thing. */
function requirePublic(value: JsonValue): void {
  if (Array.isArray(value)) value.forEach(requirePublic);
  if (!isJsonObject(value)) return;
  for (const [key, member] of Object.entries(value)) {
    demand(!PRIVATE.has(key.toLowerCase()), `material under ${key} is private and not portable`);
    requirePublic(member);
  }
}
