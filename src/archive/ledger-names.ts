import { codePointLength, type JsonObject, type JsonValue, LIMITS, TextTable } from '../core/index.ts';
import { isAbsent } from './documents.ts';
import type { Finding } from './finding.ts';
import { printable } from './printable.ts';

/** Kinds of names that a ledger is full of. */
export type LedgerNameKind = 'event' | 'action' | 'call' | 'wire';

const EVENT_FIELDS = [
  ['event', 'event_id'],
  ['action', 'action_id'],
  ['call', 'tool_call_id'],
  ['wire', 'wire_id'],
] as const satisfies readonly (readonly [LedgerNameKind, string])[];
const CALL_FIELDS = [
  ['call', 'id'],
  ['wire', 'wire_id'],
] as const satisfies readonly (readonly [LedgerNameKind, string])[];

/** The names of events and calls of one ledger, noted while it passes: a ledger has more of them than of all else. */
export class LedgerNames {
  readonly tables: Readonly<Record<LedgerNameKind, TextTable>> = {
    event: new TextTable(),
    action: new TextTable(),
    call: new TextTable(),
    wire: new TextTable(),
  };
  /** Identities of events that are none, or are not an event's own. */
  readonly findings: Finding[] = [];
  /** The first name that is not one text, as an importer refuses it; null where all are. */
  wrong: { readonly field: string; readonly noun: string } | null = null;

  noteEvent(event: JsonObject): void {
    const finding = this.#findingOf(event['event_id']);
    if (finding) this.findings.push({ code: 'PACKAGE_IDENTITY', text: finding });
    for (const [kind, field] of EVENT_FIELDS) this.#note(kind, field, event[field], 'an action event');
  }

  noteCall(call: JsonObject): void {
    for (const [kind, field] of CALL_FIELDS) this.#note(kind, field, call[field], 'a call');
  }

  #findingOf(id: JsonValue | undefined): string | undefined {
    if (isAbsent(id)) return undefined;
    if (typeof id !== 'string' || codePointLength(id) > LIMITS.packageIdCodePoints)
      return 'a action event has no valid identity';
    return this.tables.event.find(id) < 0 ? undefined : `duplicate action event identity: ${printable(id, 80)}`;
  }

  #note(kind: LedgerNameKind, field: string, name: JsonValue | undefined, noun: string): void {
    if (isAbsent(name)) return;
    if (typeof name !== 'string' || name.includes('\0') || !name.isWellFormed()) this.wrong ??= { field, noun };
    else this.tables[kind].add(name);
  }
}
