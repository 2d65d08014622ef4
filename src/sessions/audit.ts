import { canonicalJson, isJsonObject, type JsonValue } from '../core/index.ts';
import type { ReadTx, Row } from '../store/index.ts';
import type { Principal } from './model.ts';
import { AUDIT_EVENTS, AUDIT_GROUPS, AUDIT_ORPHANS } from './audit-queries.ts';
import { DELIVERY_METADATA } from './records/deliveries.ts';
import { type Rendering, renderEvent, renderGroup } from './rendering.ts';
import { eventOf, groupOf, jsonColumn } from './rows.ts';
import { requireSession } from './service.ts';

/** One disagreement between the ledger and what people read. */
export interface SessionProblem {
  readonly problem: 'message_missing' | 'message_differs' | 'message_unfounded' | 'sequence_gap';
  /** The group, event or message it is about. */
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

/** Walks a table in pages of the ledger's position, so that memory does not grow with the history. */
async function walk(tx: ReadTx, text: string, root: string, visit: (row: Row) => void): Promise<number> {
  let after = 0;
  let count = 0;
  for (;;) {
    const rows = await tx.all(text, [root, after, ROWS]);
    for (const row of rows) visit(row);
    count += rows.length;
    if (rows.length < ROWS) return count;
    after = Number(rows.at(-1)?.['position']);
  }
}

class Problems {
  readonly list: SessionProblem[] = [];
  count = 0;

  add(problem: SessionProblem['problem'], reference: string): void {
    this.count += 1;
    if (this.list.length < SHOWN) this.list.push({ problem, reference });
  }

  /** Compares what a row shows with the message that was written with it. */
  compare(row: Row, reference: string, shown: Rendering | undefined, imported: boolean): void {
    const there = row['message_id'] !== null;
    if (!shown && there) this.add('message_unfounded', String(row['message_id']));
    if (!shown || (imported && !there)) return;
    if (!there) this.add('message_missing', reference);
    else if (!sameMessage(row, shown)) this.add('message_differs', String(row['message_id']));
  }
}

function sameMessage(row: Row, shown: Rendering): boolean {
  return (
    row['m_role'] === shown.role &&
    row['m_content'] === shown.content &&
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

/**
 * Compares every message with the line of the ledger it shows, and looks for lines without their message, messages
 * without their line, and gaps in a group's sequence. History that came as a package has no messages of its own here.
 * Reads in pages; SESSION_NOT_FOUND, SESSION_CORRUPT.
 */
export async function auditSession(tx: ReadTx, principal: Principal, rootFrameId: string): Promise<SessionAudit> {
  const imported = (await requireSession(tx, principal, rootFrameId)).origin === 'import';
  const problems = new Problems();
  const expected = new Map<string, number>();
  const groups = await walk(tx, AUDIT_GROUPS, rootFrameId, (row) => {
    const group = groupOf(row);
    expected.set(group.groupId, 0);
    problems.compare(row, group.groupId, renderGroup(group), imported);
  });
  const events = await walk(tx, AUDIT_EVENTS, rootFrameId, (row) => {
    const event = eventOf(row);
    if (event.sequence !== expected.get(event.groupId)) problems.add('sequence_gap', event.groupId);
    expected.set(event.groupId, event.sequence + 1);
    problems.compare(row, event.eventId, renderEvent(event), imported);
  });
  for (const row of await tx.all(AUDIT_ORPHANS, [rootFrameId, SHOWN]))
    problems.add('message_unfounded', String(row['message_id']));
  return { rootFrameId, groups, events, problemCount: problems.count, problems: problems.list };
}
