import { digestJson, JSON_PROFILES, type JsonObject, type JsonValue, readStrictJson } from '../core/index.ts';
import { type GroupLedger, readGroupLedger } from '../sessions/index.ts';
import type { ReadTx, Row, SqlValue } from '../store/index.ts';
import { unproved } from './errors.ts';
import type { GroupEvidence } from './evidence.ts';
import type { RepairBinding } from './model.ts';

/** The digest with which a group is sealed: over its row, its events and its attempts, in fixed columns. */
export function ledgerDigest({ group, events, attempts }: GroupLedger): string {
  const rows = (list: readonly Row[]): JsonValue[] => list.map((row) => ({ ...row }) as JsonObject);
  return digestJson({ version: 1, group: { ...group } as JsonObject, events: rows(events), attempts: rows(attempts) });
}

/** The ledger of a bound group. A group that is gone fails the proof. */
export async function requireLedger(tx: ReadTx, binding: RepairBinding): Promise<GroupLedger> {
  const ledger = await readGroupLedger(tx, binding.action_group_id);
  if (!ledger) throw unproved('repair ledger', 'a bound action group is missing');
  return ledger;
}

const textOf = (value: SqlValue | undefined): string | null => (value == null ? null : String(value));

/** What of a ledger says how its actions went. */
export function evidenceOf({ group, events, attempts }: GroupLedger): GroupEvidence {
  return {
    kind: String(group['kind']),
    lines: events.map((row) => ({
      type: String(row['type']),
      action: textOf(row['tool_call_id']) ?? textOf(row['action_id']),
      sideEffectClass: textOf(row['side_effect_class']),
      result: resultOf(row['result']),
    })),
    attempts: attempts.map((row) => ({
      started: row['started_at'] != null,
      terminalState: textOf(row['terminal_state']),
    })),
  };
}

function resultOf(value: SqlValue | undefined): JsonValue {
  if (value == null) return null;
  try {
    return readStrictJson(String(value), JSON_PROFILES.packages);
  } catch (cause) {
    throw unproved('repair ledger', 'a stored result cannot be read', cause);
  }
}
