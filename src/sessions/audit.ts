import { canonicalJson, HoldfastError, isJsonObject, type JsonValue, LIMITS } from '../core/index.ts';
import type { ReadTx, Row, SqlValue } from '../store/index.ts';
import type { Principal } from './model.ts';
import { AUDIT_DISORDER, AUDIT_EVENTS, AUDIT_GROUPS, AUDIT_ORPHANS, AUDIT_SESSIONS } from './audit-queries.ts';
import { LIST_CHECKPOINTS } from './checkpoint-queries.ts';
import { checkpointOf } from './checkpoint-rows.ts';
import { DELIVERY_METADATA } from './records/deliveries.ts';
import { type Rendering, renderEvent, renderGroup } from './rendering.ts';
import { visibleSegments } from './projection.ts';
import { LIST_BRANCHES, SELECT_SESSION } from './queries.ts';
import { branchOf, eventOf, exact, groupOf, jsonColumn, readExact, sessionOf } from './rows.ts';
import { sessionNotFound } from './service.ts';

/** One disagreement between the ledger and what people read, or a row that cannot be read. */
export interface SessionProblem {
  readonly problem: 'message_missing' | 'message_differs' | 'message_unfounded' | 'sequence_gap' | 'record_damaged';
  /** The session, group, event, message, branch or checkpoint it is about. */
  readonly reference: string;
}

export interface SessionAudit {
  readonly rootFrameId: string;
  readonly groups: number;
  readonly events: number;
  readonly problemCount: number;
  /** The first hundred. */
  readonly problems: readonly SessionProblem[];
}

const ROWS = 500;
const SHOWN = 100;

/** Walks a table in pages, of the ledger's position unless told, so that memory does not grow with the history. */
async function walk(
  tx: ReadTx,
  text: string,
  root: string,
  visit: (row: Row) => void | Promise<void>,
  { place, first }: { readonly place: string; readonly first: SqlValue } = { place: 'position', first: 0 },
): Promise<number> {
  let after: SqlValue = first;
  let count = 0;
  for (;;) {
    const rows: readonly Row[] = await tx.all(exact(text), [root, after, ROWS]);
    for (const row of rows) await visit(row);
    count += rows.length;
    if (rows.length < ROWS) return count;
    after = rows.at(-1)?.[place] ?? null;
  }
}

class Problems {
  readonly list: SessionProblem[] = [];
  count = 0;
  readonly #kinds = new Set<SessionProblem['problem']>();

  add(problem: SessionProblem['problem'], reference: string): void {
    this.count += 1;
    this.#kinds.add(problem);
    if (this.list.length < SHOWN) this.list.push({ problem, reference });
  }

  has(problem: SessionProblem['problem']): boolean {
    return this.#kinds.has(problem);
  }

  /** What is read of a row; one that cannot be read is told, and the others are looked at all the same. */
  read<T>(row: Row, reference: string, of: (row: Row) => T): T | null {
    try {
      return readExact(row, of);
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'SESSION_CORRUPT') throw error;
      this.add('record_damaged', reference);
      return null;
    }
  }

  /** Tells of what does not hold together, and goes on. */
  async hold(reference: string, look: () => Promise<unknown>): Promise<void> {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'SESSION_CORRUPT') throw error;
      this.add('record_damaged', reference);
    }
  }

  /** Compares what a row shows with the message that was written with it. */
  compare(row: Row, reference: string, shown: Rendering | undefined, imported: boolean): void {
    const there = row['message_id'] !== null;
    if (!shown && there) this.add('message_unfounded', String(row['message_id']));
    if (!shown || (imported && !there)) return;
    if (!there) this.add('message_missing', reference);
    else if (this.read(row, String(row['message_id']), (one) => sameMessage(one, shown)) === false)
      this.add('message_differs', String(row['message_id']));
  }
}

function sameMessage(row: Row, shown: Rendering): boolean {
  return (
    row['m_role'] === shown.role &&
    row['m_content'] === shown.content &&
    row['m_created_at'] === row['created_at'] &&
    canonicalJson(ownMetadata(row)) === canonicalJson(shown.metadata)
  );
}

/** A message's metadata without what a delivery wrote into it afterwards. */
function ownMetadata(row: Row): JsonValue {
  const metadata = jsonColumn(row['m_metadata']);
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, 'completion_delivery')) return metadata;
  const own = Object.entries(metadata).filter(([field]) => !DELIVERY_METADATA.has(field));
  return own.length === 0 ? null : Object.fromEntries(own);
}

/** The ids of the sessions of the principal's tenant, newest first, a page at a time. Reads nothing else of them. */
export async function auditedSessions(tx: ReadTx, principal: Principal, before = '\u{10ffff}'): Promise<string[]> {
  const rows = await tx.all(AUDIT_SESSIONS, [principal.tenant, before, LIMITS.sessionPageRows]);
  return rows.map((row) => String(row['root_frame_id']));
}

/** Branches whose row cannot be read, or whose checkpoints do not hold together, and checkpoints that cannot be read. */
async function auditBranches(tx: ReadTx, rootFrameId: string, problems: Problems): Promise<void> {
  const checkpoint = (row: Row): void => void problems.read(row, String(row['checkpoint_id']), checkpointOf);
  await walk(tx, LIST_CHECKPOINTS, rootFrameId, checkpoint, { place: 'number', first: 0 });
  const branch = async (row: Row): Promise<void> => {
    const branchId = String(row['branch_id']);
    const read = problems.read(row, branchId, branchOf);
    if (read) await problems.hold(branchId, () => visibleSegments(tx, read, 'message'));
  };
  await walk(tx, LIST_BRANCHES, rootFrameId, branch, { place: 'branch_id', first: '' });
}

/**
 * Compares every message with the line of the ledger it shows, and looks for lines without their message, messages
 * without their line or in another order than their lines, gaps in the ledger, and rows that cannot be read, those of
 * branches and checkpoints too. History that came as a package has no messages of its own here. Reads in pages;
 * SESSION_NOT_FOUND.
 */
export async function auditSession(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<SessionAudit> {
  const problems = new Problems();
  const session = await tx.get(exact(SELECT_SESSION), [rootFrameId, principal.tenant]);
  if (!session) throw sessionNotFound();
  problems.read(session, rootFrameId, sessionOf);
  const imported = session['origin'] === 'import';
  const expected = new Map<string, number>();
  let last = 0;
  const groups = await walk(tx, AUDIT_GROUPS, rootFrameId, (row) => {
    const groupId = String(row['group_id']);
    expected.set(groupId, 0);
    last = Math.max(last, Number(row['position']));
    const group = problems.read(row, groupId, groupOf);
    if (group) problems.compare(row, groupId, renderGroup(group), imported);
  });
  const events = await walk(tx, AUDIT_EVENTS, rootFrameId, (row) => {
    const [eventId, groupId, sequence] = [String(row['event_id']), String(row['group_id']), Number(row['sequence'])];
    if (sequence !== expected.get(groupId)) problems.add('sequence_gap', groupId);
    expected.set(groupId, sequence + 1);
    last = Math.max(last, Number(row['position']));
    const event = problems.read(row, eventId, eventOf);
    if (event) problems.compare(row, eventId, renderEvent(event), imported);
  });
  // Lines share one count: what is gone with its whole group leaves a gap in it, and nothing else.
  if (!imported && groups + events < last && !problems.has('sequence_gap')) problems.add('sequence_gap', rootFrameId);
  for (const row of await tx.all(AUDIT_ORPHANS, [rootFrameId, imported ? 1 : 0, SHOWN]))
    problems.add('message_unfounded', String(row['message_id']));
  for (const row of await tx.all(AUDIT_DISORDER, [rootFrameId, SHOWN]))
    problems.add('message_differs', String(row['message_id']));
  await auditBranches(tx, rootFrameId, problems);
  return { rootFrameId, groups, events, problemCount: problems.count, problems: problems.list };
}
