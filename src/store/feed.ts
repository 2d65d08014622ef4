import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import type { ContextSchema } from './migration.ts';
import type { ReadTx, Tx } from './port.ts';

/**
 * The ordered feed: what happened, by name and reference, written in the transaction that made it happen. A number is
 * never given twice, since the newest entry cannot be deleted and none can be changed.
 */
export const feedSchema: ContextSchema = {
  context: 'feed',
  migrations: [
    {
      number: 1,
      name: 'feed',
      needs: [{ context: 'roots', number: 1 }],
      sqlite: `
        CREATE TABLE feed (
          seq INTEGER PRIMARY KEY CHECK (seq > 0),
          tenant_id TEXT NOT NULL REFERENCES tenants (tenant_id),
          kind TEXT NOT NULL CHECK (length(kind) > 0),
          reference TEXT NOT NULL CHECK (length(reference) > 0)
        ) STRICT;
        CREATE INDEX feed_of_tenant ON feed (tenant_id, seq);
        CREATE TRIGGER feed_only_grows BEFORE INSERT ON feed WHEN new.seq IS NOT NULL AND new.seq > 0
        BEGIN SELECT RAISE(ABORT, 'the feed gives its own numbers'); END;
        CREATE TRIGGER feed_never_changes BEFORE UPDATE ON feed
        BEGIN SELECT RAISE(ABORT, 'a feed entry never changes'); END;
        CREATE TRIGGER feed_keeps_its_newest BEFORE DELETE ON feed WHEN old.seq = (SELECT max(seq) FROM feed)
        BEGIN SELECT RAISE(ABORT, 'the newest feed entry stays'); END;
      `,
    },
  ],
};

export interface FeedEntry {
  /** Rises with every entry of every tenant, in the order of commits. */
  readonly seq: number;
  readonly tenantId: string;
  /** What happened, such as `run.waiting`. */
  readonly kind: string;
  /** The id of what it happened to; never content. */
  readonly reference: string;
}

const APPEND = 'INSERT INTO feed (tenant_id, kind, reference) VALUES (?, ?, ?)';
const COLUMNS = 'seq, tenant_id AS tenantId, kind, reference';
const HEAD = 'SELECT max(seq) AS head FROM feed';
const PAGE = `SELECT ${COLUMNS} FROM feed WHERE tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?`;
const PAGE_OF_ALL = `SELECT ${COLUMNS} FROM feed WHERE seq > ? ORDER BY seq LIMIT ${LIMITS.feedPageEntries}`;

/** Appends an entry in the open transaction and gives its number: in order, and only known to others once committed. */
export async function appendFeed(tx: Tx, entry: Omit<FeedEntry, 'seq'>): Promise<number> {
  const kind = requireText('kind', entry.kind);
  const reference = requireText('reference', entry.reference);
  const { lastInsertRowid } = await tx.run(APPEND, [entry.tenantId, kind, reference]);
  return lastInsertRowid;
}

/** The newest number of the whole feed, of whatever tenant; 0 while it is empty. */
export async function feedHead(tx: ReadTx): Promise<number> {
  const row = await tx.get(HEAD);
  return Number(row?.['head'] ?? 0);
}

export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  /** Ask after this number for what comes next; the given one where the page is empty. */
  readonly next: number;
}

/** A page of a tenant's entries after the number `after` (0 for the first), oldest first. */
export async function readFeed(
  tx: ReadTx,
  ask: { tenantId: string; after: number; limit?: number },
): Promise<FeedPage> {
  const { tenantId, after, limit = LIMITS.feedPageEntries } = ask;
  requireWithin('feedPageEntries', limit);
  if (!Number.isSafeInteger(after) || after < 0 || !Number.isSafeInteger(limit) || limit < 1)
    throw fail('INVALID_VALUE', 'after must be a whole number from 0, limit one from 1.');
  const rows = await tx.all(PAGE, [tenantId, after, limit]);
  const entries = rows.map((row) => ({ ...row }) as unknown as FeedEntry);
  return { entries, next: entries.at(-1)?.seq ?? after };
}

/** A page of the whole feed, of every tenant, after the number `after`: for the house itself, never for a principal. */
export async function readWholeFeed(tx: ReadTx, after: number): Promise<readonly FeedEntry[]> {
  return (await tx.all(PAGE_OF_ALL, [after])).map((row) => ({ ...row }) as unknown as FeedEntry);
}
