import { type JsonObject, type JsonValue, RowChain } from '../core/index.ts';
import type { ReadTx, Row } from '../store/index.ts';

/** Where a table of the ledger stood, and the digest of everything up to there. */
export interface ChainPoint {
  /** The highest position; 0 for none. */
  readonly through: number;
  readonly count: number;
  readonly sha256: string;
}

const GROUP = `group_id, root_frame_id, branch_id, turn_id, ordinal, position, kind, provider, model, wire_state,
  assistant_content, assistant_message, usage, cost_usd, created_at`;
const EVENT = `event_id, group_id, root_frame_id, sequence, position, type, action_id, tool_call_id, wire_id,
  canonical_arguments, raw_arguments, result, side_effect_class, resource_keys, created_at`;
const walkText = (columns: string, table: string): string => `SELECT ${columns} FROM ${table}
  WHERE root_frame_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?`;
const TABLES = { groups: walkText(GROUP, 'action_groups'), events: walkText(EVENT, 'action_events') } as const;
const ROWS = 500;

/**
 * A chain over everything that never changes in a session's ledger, its groups or its events, up to a position. Two
 * readings agree exactly when every row up to there is the same. Reads in pages.
 */
export async function ledgerChain(
  tx: ReadTx,
  rootFrameId: string,
  table: keyof typeof TABLES,
  through: number = Number.MAX_SAFE_INTEGER,
): Promise<ChainPoint> {
  const chain = new RowChain();
  let after = 0;
  for (;;) {
    const rows = await tx.all({ text: TABLES[table], integers: 'bigint' }, [rootFrameId, after, through, ROWS]);
    for (const row of rows) chain.add(plainRow(row));
    after = rows.length === 0 ? after : Number(rows.at(-1)?.['position']);
    if (rows.length < ROWS) return { through: after, count: chain.count, sha256: chain.digest };
  }
}

/** A row as JSON; numbers that are no whole ones, or beyond 2^53, are written as text: each has one spelling. */
export function plainRow(row: Row): JsonObject {
  const cells = Object.entries(row).map(([name, value]): [string, JsonValue] => {
    if (value === null || typeof value === 'string') return [name, value];
    if (typeof value !== 'object' && Number.isSafeInteger(Number(value))) return [name, Number(value)];
    return [name, value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)];
  });
  return Object.fromEntries(cells);
}
