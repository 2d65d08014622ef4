import { canonicalJson, type JsonObject } from '../../core/index.ts';
import { isRepairBinding, type RunReplay } from './replay.ts';
import { type AutoModeRecords, type AutoModeScope, byName, payloadOf, textOf, textsOf, valueOf } from './scope.ts';
import { AUDIT_ENDS, demand, refused, REPAIR_ENDS } from './shapes.ts';

type Runs = ReadonlyMap<string, RunReplay>;
type RunRecords = ReadonlyMap<string, JsonObject>;

const agree = (a: JsonObject, b: JsonObject, fields: readonly string[]): boolean =>
  fields.every((field) => canonicalJson(valueOf(a, field)) === canonicalJson(valueOf(b, field)));
const lists = (of: JsonObject, field: string): string => canonicalJson([...textsOf(of, field)]);
const cursorOf = (event: JsonObject): number => Number(event['event_cursor']);

/** The two events that an audit or a repair has. */
class Steps {
  readonly starts = new Map<string, JsonObject>();
  readonly ends = new Map<string, JsonObject>();

  add(event: JsonObject, name: string, isStart: boolean, noun: string): void {
    const events = isStart ? this.starts : this.ends;
    demand(!events.has(name), `has a duplicate ${noun} event`);
    const start = this.starts.get(name);
    demand(
      isStart || (start !== undefined && cursorOf(start) < cursorOf(event)),
      `${noun} completion does not follow its start`,
    );
    events.set(name, event);
  }
}

interface AuditKind {
  readonly subject: string;
  readonly entity: string;
  /** The field of the owner that names what was looked at. */
  readonly entityField: string;
  /** What every event repeats of its owner, what the start does, and what the end does. */
  readonly always: readonly string[];
  readonly start: readonly string[];
  readonly end: readonly string[];
  readonly answer: readonly string[];
}

const REVIEW_KIND: AuditKind = {
  subject: 'result_review',
  entity: 'candidate_evidence_snapshot',
  entityField: 'candidate_id',
  always: ['audit_request_digest', 'review_run_id', 'candidate_id'],
  start: [
    'candidate_snapshot_sha256',
    'evidence_snapshot_sha256',
    'round',
    'attempt',
    'model_profile_id',
    'model_profile_revision',
    'model_fingerprint',
  ],
  end: ['assessment_digest', 'public_summary', 'attempt', 'verdict'],
  answer: ['assessment_digest', 'verdict'],
};
const ASSESSMENT_KIND: AuditKind = {
  subject: 'permission_review',
  entity: 'approval_action',
  entityField: 'decision_id',
  always: ['audit_request_digest', 'assessment_id', 'decision_id', 'action_digest'],
  start: ['policy_version'],
  end: ['assessment_digest', 'public_summary', 'outcome', 'risk'],
  answer: ['assessment_digest', 'outcome', 'risk'],
};

/** Every review and assessment has its start event, at most one end, and both say what its record says. */
export function checkAudits(history: AutoModeRecords, records: RunRecords, runs: Runs): void {
  const { reviews, assessments, findings, events } = history;
  const owners = byName([...reviews, ...assessments], 'audit_id', 'audit');
  const kinds = new Map([
    ...reviews.map((one) => [one, REVIEW_KIND] as const),
    ...assessments.map((one) => [one, ASSESSMENT_KIND] as const),
  ]);
  const steps = new Steps();
  for (const event of events) {
    const isStart = event['type'] === 'auto_audit_started';
    if (!isStart && event['type'] !== 'auto_audit_completed') continue;
    const payload = payloadOf(event);
    const kind = [REVIEW_KIND, ASSESSMENT_KIND].find(({ subject }) => subject === payload['subject_kind']);
    if (kind === undefined || kind.entity !== payload['subject_entity_kind'])
      throw refused('audit subject pair is invalid');
    const name = textOf(payload, 'audit_id');
    const owner = owners.get(name);
    if (owner === undefined || kinds.get(owner) !== kind) throw refused('audit event references an unknown identity');
    demand(owner['run_id'] === event['run_id'], 'audit event belongs to another run');
    const bound = payload['subject_entity_id'] === owner[kind.entityField] && agree(payload, owner, kind.always);
    demand(bound, 'audit event disagrees with its owner');
    steps.add(event, name, isStart, 'audit');
  }
  const counts = new Map<string, number>();
  for (const finding of findings) {
    const review = textOf(finding, 'review_run_id');
    counts.set(review, (counts.get(review) ?? 0) + 1);
  }
  for (const [owner, kind] of kinds) {
    const run = records.get(textOf(owner, 'run_id')) ?? {};
    checkAuditStart(owner, kind, steps.starts.get(textOf(owner, 'audit_id')));
    const end = steps.ends.get(textOf(owner, 'audit_id'));
    if (end === undefined) {
      demand(runs.get(textOf(run, 'run_id'))?.terminal === null, 'terminal run strands an active audit');
      requireOpen(owner, run, ['assessment_digest', 'verdict', 'outcome', 'risk'], 'audit');
    } else {
      checkAuditEnd(owner, kind, end, run);
      const found = counts.get(textOf(owner, 'review_run_id')) ?? 0;
      const counted = kind !== REVIEW_KIND || payloadOf(end)['finding_count'] === found;
      demand(counted, 'review finding count disagrees with its event');
    }
  }
}

function checkAuditStart(owner: JsonObject, kind: AuditKind, start: JsonObject | undefined): void {
  if (start === undefined) throw refused('audit record has no started event');
  const payload = payloadOf(start);
  demand(owner['created_at'] === start['created_at'], 'audit start timestamp disagrees with its owner');
  demand(payload['status'] === 'started', 'audit start status is invalid');
  demand(agree(owner, payload, kind.start), 'audit owner disagrees with its start event');
}

/** What has not ended claims no end. */
function requireOpen(owner: JsonObject, run: JsonObject, claims: readonly string[], noun: string): void {
  const open = owner['status'] === 'started' || (isImported(run) && owner['status'] === 'unverified_import');
  const unclaimed = [...claims, 'finished_at'].every((field) => owner[field] === undefined);
  demand(open && unclaimed, `started ${noun} owner claims a completion`);
}

const isImported = (run: JsonObject): boolean => run['trust_state'] === 'quarantined_import';
const ALLOWING: readonly unknown[] = ['allow', 'allow_once', 'allowed', 'shadow_allow'];

function checkAuditEnd(owner: JsonObject, kind: AuditKind, end: JsonObject, run: JsonObject): void {
  const payload = payloadOf(end);
  demand(owner['finished_at'] === end['created_at'], 'audit completion timestamp disagrees with its owner');
  demand(agree(owner, payload, kind.end), 'audit completion disagrees with its owner');
  requireEnd(owner, payload, run, AUDIT_ENDS, 'audit');
  demand(
    kind.answer.every((field) => owner[field] !== undefined),
    `completed ${kind.subject} proof is incomplete`,
  );
  const allowed = ALLOWING.includes(payload['outcome']) && payload['status'] !== 'completed';
  demand(!allowed, 'failed permission assessment cannot allow');
}

/** An imported owner shows that it is one; any other has the status of its event. */
function requireEnd(owner: JsonObject, told: JsonObject, run: JsonObject, ends: readonly string[], noun: string): void {
  demand(ends.includes(textOf(told, 'status')), `${noun} completion status is invalid`);
  if (isImported(run)) demand(owner['status'] === 'unverified_import', `imported ${noun} owner is not inert`);
  else demand(owner['status'] === told['status'], `${noun} status disagrees with its durable event`);
}

/** Every review is of a result as it was named; every finding belongs to its review; attempts count from 1. */
export function checkReviews({ reviews, findings }: AutoModeRecords, runs: Runs): void {
  const named = byName(reviews, 'review_run_id', 'review');
  for (const review of reviews) {
    demand(
      Number(review['attempt']) > 0 && Number(review['model_profile_revision']) > 0,
      'review attempt or reviewer is missing or invalid',
    );
    const bound = runs.get(textOf(review, 'run_id'))?.candidates.get(textOf(review, 'candidate_id'));
    const fits =
      bound !== undefined &&
      agree(review, bound as JsonObject, ['candidate_snapshot_sha256', 'evidence_snapshot_sha256']);
    demand(fits, 'review does not bind an immutable candidate snapshot');
  }
  for (const finding of findings) {
    const review = named.get(textOf(finding, 'review_run_id'));
    if (review === undefined) throw refused('finding references an unknown identity: its review');
    demand(agree(finding, review, ['run_id', 'candidate_id']), 'finding does not match its owning review');
    demand(Number(finding['updated_at']) >= Number(finding['created_at']), 'finding update precedes its creation');
  }
}

/** Every repair has its start, at most one end, the groups that its events tied to it, and only findings of its run. */
export function checkRepairs(history: AutoModeRecords, records: RunRecords, scope?: AutoModeScope): void {
  const { repairs, findings, events } = history;
  const owners = byName(repairs, 'repair_run_id', 'repair');
  const known = byName(findings, 'finding_id', 'finding');
  const steps = new Steps();
  const bound = new Map<string, string[]>();
  for (const event of events) {
    const isStart = event['type'] === 'repair_started';
    if (!isStart && event['type'] !== 'repair_completed') continue;
    const payload = payloadOf(event);
    const name = textOf(payload, 'repair_run_id');
    const owner = owners.get(name);
    if (owner === undefined) throw refused('repair event references an unknown identity');
    demand(owner['run_id'] === event['run_id'], 'repair event belongs to another run');
    if (isRepairBinding(event)) {
      const groups = bound.get(name) ?? [];
      groups.push(textOf(payload, 'action_group_id'));
      bound.set(name, groups);
    } else steps.add(event, name, isStart, 'repair');
  }
  for (const repair of repairs) {
    const name = textOf(repair, 'repair_run_id');
    for (const id of textsOf(repair, 'finding_ids'))
      demand(known.get(id)?.['run_id'] === repair['run_id'], 'repair finding references an unknown identity');
    demand(textsOf(repair, 'finding_ids').length > 0, 'repair must bind at least one finding');
    demand(
      repair['verification_review_run_id'] === undefined,
      'repair cannot carry a self-asserted verification review',
    );
    checkGroups(repair, bound.get(name) ?? [], scope);
    checkRepairStart(repair, steps.starts.get(name));
    checkRepairEnd(repair, steps.ends.get(name), records.get(textOf(repair, 'run_id')) ?? {});
  }
}

function checkGroups(repair: JsonObject, bound: readonly string[], scope: AutoModeScope | undefined): void {
  demand(new Set(bound).size === bound.length, 'has a duplicate repair execution binding');
  demand(
    lists(repair, 'execution_group_ids') === canonicalJson([...bound]),
    'repair execution bindings disagree with their owner',
  );
  if (scope === undefined) return;
  for (const id of bound) {
    const group = scope.groups.get(id);
    demand(group !== undefined, 'repair execution group references an unknown identity');
    const inScope = group?.branchId === repair['branch_id'] && group?.turnId === repair['turn_id'];
    demand(inScope, 'repair execution group belongs to another scope');
  }
}

function checkRepairStart(repair: JsonObject, start: JsonObject | undefined): void {
  if (start === undefined) throw refused('repair record has no started event');
  const payload = payloadOf(start);
  const same = ['finding_ids', 'before_version_ids'].every((field) => lists(repair, field) === lists(payload, field));
  demand(same && repair['created_at'] === start['created_at'], 'repair owner disagrees with its start event');
}

function checkRepairEnd(repair: JsonObject, end: JsonObject | undefined, run: JsonObject): void {
  if (end === undefined) {
    requireOpen(repair, run, [], 'repair');
    demand(textsOf(repair, 'after_version_ids').length === 0, 'started repair owner claims a completion');
    return;
  }
  const payload = payloadOf(end);
  demand(repair['finished_at'] === end['created_at'], 'repair completion timestamp disagrees with its owner');
  requireEnd(repair, payload, run, REPAIR_ENDS, 'repair');
  const same = ['after_version_ids', 'execution_group_ids'].every(
    (field) => lists(repair, field) === lists(payload, field),
  );
  demand(
    same && payload['verification_review_run_id'] === undefined,
    'repair outcome disagrees with its durable event',
  );
  const acted = payload['status'] !== 'completed' || textsOf(repair, 'execution_group_ids').length > 0;
  demand(acted, 'completed repair has no execution ledger');
}

const NAMED = [
  ['review_run_id', 'reviews'],
  ['repair_run_id', 'repairs'],
  ['assessment_id', 'assessments'],
  ['decision_id', 'assessments'],
  ['finding_id', 'findings'],
] as const;

/** What an event names is in the history, whatever else the event is about. */
export function checkEventNames(history: AutoModeRecords): void {
  byName(history.assessments, 'assessment_id', 'permission assessment');
  const names = new Map(NAMED.map(([field, list]) => [field, byName(history[list], field, field)] as const));
  for (const event of history.events) {
    const payload = payloadOf(event);
    for (const [field, known] of names)
      demand(
        payload[field] === undefined || known.has(textOf(payload, field)),
        `event ${field} references an unknown identity`,
      );
    for (const id of textsOf(payload, 'finding_ids'))
      demand(names.get('finding_id')?.has(id) ?? false, 'event finding_ids references an unknown identity');
  }
}
