import { canonicalJson, fail, type JsonObject, type JsonValue, LIMITS } from '../core/index.ts';
import { type Principal, requireBranch } from '../sessions/index.ts';
import type { ReadTx, Row } from '../store/index.ts';
import { readAction } from './assessment-proof.ts';
import { eventsOfAudit } from './audit-events.ts';
import type { AutonomyContext } from './context.ts';
import { scopeOf } from './documents.ts';
import { isOfRecords, requireProof } from './errors.ts';
import { EventLog } from './event-log.ts';
import { eventOf } from './events.ts';
import { countField, wordField } from './fields.ts';
import { type AutoEvent, SUBJECT_KINDS, type SubjectKind } from './model.ts';
import * as sql from './queries.ts';
import { proveReview } from './review-proof.ts';
import { isImported } from './usable.ts';
import { type VisibleLog, visibleLog } from './visible.ts';

export interface AuditQuery {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly subjectKind?: SubjectKind;
  /** Only what stands before this: an ordinal as decimal digits, or the id of an audit. */
  readonly before?: string;
  /** Default 100, at least 1; cut at 501. */
  readonly limit?: number;
}

/**
 * The reviews and assessments that a branch shows, newest first; one that has ended stands where it ended. Each row of
 * the page, and only of the page, is proved; one whose proof fails is shown as failed, without its verdict or outcome.
 * Two reads of the log whatever its length. BRANCH_NOT_FOUND, INVALID_VALUE (no such audit for `before`, another kind),
 * AUTO_PROOF_FAILED only when an event of the page is not even what its own digest says.
 */
export async function listAudits(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  query: AuditQuery,
): Promise<JsonObject[]> {
  const kind = query.subjectKind === undefined ? null : wordField('subject_kind', query.subjectKind, SUBJECT_KINDS);
  const limit = Math.min(countField('limit', query.limit ?? 100, 1), LIMITS.autoAuditPage);
  const branch = await requireBranch(tx, principal, query.rootFrameId, query.branchId);
  const log = await visibleLog(tx, branch);
  const before = await ordinalBefore(tx, log, query);
  const segments = canonicalJson(
    log.segments.map(({ branchId, after, upTo }) => ({ branch: branchId, after, upto: Math.min(upTo, before - 1) })),
  );
  const visible = canonicalJson(
    log.segments.map(({ branchId, after, upTo }) => ({ branch: branchId, after, upto: upTo })),
  );
  const rows =
    kind === null
      ? await tx.all(sql.AUDIT_PAGE, [segments, visible, limit, limit, query.rootFrameId])
      : await tx.all(sql.AUDIT_PAGE_OF_KIND, [segments, kind, visible, limit, limit, query.rootFrameId]);
  const audits: JsonObject[] = [];
  for (const { events, ordinal } of grouped(rows))
    audits.push(await auditRow(tx, context, principal, log, events, ordinal));
  return audits;
}

async function ordinalBefore(tx: ReadTx, log: VisibleLog, { before, rootFrameId }: AuditQuery): Promise<number> {
  if (before === undefined) return Number.MAX_SAFE_INTEGER;
  if (/^[0-9]+$/.test(before)) return Math.min(Number(before), Number.MAX_SAFE_INTEGER);
  const events = (await eventsOfAudit(tx, rootFrameId, before)).filter((event) => log.shows(event));
  const head = headOf(events);
  if (!head) throw fail('INVALID_VALUE', 'before names no audit that this branch shows.');
  return head.event_cursor;
}

/** The event at which an audit stands: its completion, or else its start. */
const headOf = (events: readonly AutoEvent[]): AutoEvent | undefined =>
  events.findLast((event) => event.type === 'auto_audit_completed') ?? events.at(-1);

interface PageEntry {
  readonly ordinal: number;
  readonly events: AutoEvent[];
}

function grouped(rows: readonly Row[]): PageEntry[] {
  const entries = new Map<number, PageEntry>();
  for (const row of rows) {
    const ordinal = Number(row['head_cursor']);
    const entry = entries.get(ordinal) ?? { ordinal, events: [] };
    entry.events.push(eventOf(row));
    entries.set(ordinal, entry);
  }
  return [...entries.values()];
}

async function auditRow(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  log: VisibleLog,
  events: readonly AutoEvent[],
  ordinal: number,
): Promise<JsonObject> {
  const shown = events.filter((event) => log.shows(event));
  const row = rowOf(shown, ordinal);
  const run = await tx.get(sql.RUN_BY_ID, [shown[0]?.run_id ?? '']);
  try {
    requireProof(run !== undefined, 'run', 'it is missing');
    if (await isImported(tx, principal, sql.RUNS.read(run ?? {}))) return imported(row);
    await proveAudit(tx, context, principal, events);
    return row;
  } catch (error) {
    if (!isOfRecords(error)) throw error;
    return unproven(row);
  }
}

/** Proves one audit by all of its events, those included that the branch does not show. */
async function proveAudit(
  tx: ReadTx,
  context: AutonomyContext,
  principal: Principal,
  events: readonly AutoEvent[],
): Promise<void> {
  const log = new EventLog(events);
  const { audit_id, subject_kind } = events[0]?.payload ?? {};
  const id = typeof audit_id === 'string' ? audit_id : '';
  if (subject_kind === 'permission_review') {
    const stored = await tx.get(sql.ASSESSMENT_BY_AUDIT, [id]);
    requireProof(stored !== undefined, 'permission assessment', 'it is missing');
    const of = sql.ASSESSMENTS.read(stored ?? {});
    context.proofs.assessment(log, of, await readAction(tx, principal, of.decision_id));
  } else {
    const stored = await tx.get(sql.REVIEW_BY_AUDIT, [id]);
    requireProof(stored !== undefined, 'result review', 'it is missing');
    const review = sql.REVIEWS.read(stored ?? {});
    proveReview(log, review, (await tx.all(sql.FINDINGS_OF_REVIEW, [review.review_run_id])).map(sql.FINDINGS.read));
  }
  log.requireAllKnown('run');
}

function rowOf(shown: readonly AutoEvent[], ordinal: number): JsonObject {
  const start = shown.find((event) => event.type === 'auto_audit_started');
  const completion = shown.findLast((event) => event.type === 'auto_audit_completed');
  const said = (completion ?? start)?.payload ?? {};
  const names = ['audit_id', 'subject_kind', 'subject_entity_kind', 'subject_entity_id', 'status'];
  const facts = ['audit_request_digest', 'assessment_digest', 'action_digest', 'candidate_id'];
  const advice = ['verdict', 'outcome', 'risk', 'public_summary'];
  return withoutNulls({
    ...scopeOf((start ?? completion) as AutoEvent),
    ...Object.fromEntries([...names, ...facts, ...advice].map((name) => [name, said[name] ?? null])),
    created_at: start?.created_at ?? null,
    completed_at: completion?.created_at ?? null,
    event_ordinal: ordinal,
  });
}

const withoutNulls = (row: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(row).filter((entry): entry is [string, JsonValue] => entry[1] !== null));

function without(row: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
}

const CLAIMS = ['assessment_digest', 'verdict', 'outcome'] as const;

const unproven = (row: JsonObject): JsonObject => ({
  ...without(row, CLAIMS),
  status: 'failed',
  risk: 'unknown',
  error_kind: 'integrity_failure',
  public_summary: 'Audit integrity validation failed.',
});

const imported = (row: JsonObject): JsonObject => ({
  ...without(row, [...CLAIMS, 'risk']),
  status: 'unverified_import',
  error_kind: 'quarantined_import',
});
