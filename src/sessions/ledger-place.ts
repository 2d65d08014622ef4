import { fail } from '../core/index.ts';
import type { Row, Tx } from '../store/index.ts';
import type { Principal } from './model.ts';
import { EVENT_PLACE, GROUP_PLACE, SHOWN_EVENT_PLACE, WHY_REFUSED } from './queries.ts';

/** Where the next line of the action ledger stands. Nobody else takes the place while the transaction is open. */
export interface LedgerPlace {
  readonly rootFrameId: string;
  readonly branchId: string;
  /** A group's ordinal on its branch, an event's sequence in its group. */
  readonly number: number;
  readonly position: number;
  /** The next number of the session's messages, where the line at this place shows. */
  readonly messageSeq?: number;
}

/**
 * A place that was handed out: for the next event of one group, good in one transaction. It holds these itself: what a
 * map beside it held of a transaction that is over would stay until the engine looks through all of its memory.
 */
class PlaceAfter implements LedgerPlace {
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly number: number;
  readonly position: number;
  readonly #tx: Tx;
  readonly #groupId: string;
  readonly #isNew: boolean;

  constructor(tx: Tx, groupId: string, before: LedgerPlace, sequence: number, isNew: boolean) {
    this.rootFrameId = before.rootFrameId;
    this.branchId = before.branchId;
    this.number = sequence;
    this.position = before.position + 1;
    this.#tx = tx;
    this.#groupId = groupId;
    this.#isNew = isNew;
  }

  static isGoodIn(tx: Tx, groupId: string, place: LedgerPlace): boolean {
    return #tx in place && place.#tx === tx && place.#groupId === groupId;
  }

  static isInNewGroup(place: LedgerPlace): boolean {
    return #tx in place && place.#isNew;
  }
}

/** The place of the first event of a group that this transaction has just opened at `at`. */
export function firstPlace(tx: Tx, groupId: string, at: LedgerPlace): LedgerPlace {
  return new PlaceAfter(tx, groupId, at, 0, true);
}

/** The place of the event that follows the one at `before` in a group, good in this transaction alone. */
export function placeAfter(tx: Tx, groupId: string, before: LedgerPlace): LedgerPlace {
  return new PlaceAfter(tx, groupId, before, before.number + 1, PlaceAfter.isInNewGroup(before));
}

/** Whether a place was handed out in this transaction for this group. */
export function isGoodIn(tx: Tx, groupId: string, place: LedgerPlace): boolean {
  return PlaceAfter.isGoodIn(tx, groupId, place);
}

/** Whether a place that is good in this transaction is in a group that the transaction has opened. */
export function isInNewGroup(place: LedgerPlace): boolean {
  return PlaceAfter.isInNewGroup(place);
}

/** What decides whether a line may be written. */
interface Entering {
  /** Refuse unless this ticket is held and its lease has not ended. */
  readonly ticketId?: string | undefined;
  /** Passes the quarantine and any revert marker. */
  readonly imported?: unknown;
}

/** Throws BRANCH_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING or TICKET_LOST. */
export async function groupPlace(
  tx: Tx,
  principal: Principal,
  group: Entering & { readonly rootFrameId: string; readonly branchId: string },
  clockMs: number,
): Promise<LedgerPlace> {
  const { branchId, rootFrameId } = group;
  const row = await tx.get(GROUP_PLACE, [...pen(group, clockMs), branchId, rootFrameId, principal.tenant]);
  const refusal = row ? refusalAt(row, group, false) : branchNotFound();
  if (refusal) throw refusal;
  return placeOf(row as Row);
}

/**
 * What only observes passes a revert marker, but no quarantine.
 * Throws ACTION_GROUP_NOT_FOUND, SESSION_QUARANTINED, SESSION_REVERTING or TICKET_LOST.
 */
export async function eventPlace(
  tx: Tx,
  principal: Principal,
  event: Entering & { readonly groupId: string; readonly observes: boolean; readonly shows?: boolean },
  clockMs: number,
): Promise<LedgerPlace> {
  const text = event.shows === true ? SHOWN_EVENT_PLACE : EVENT_PLACE;
  const row = await tx.get(text, [...pen(event, clockMs), event.groupId, principal.tenant]);
  const refusal = row ? refusalAt(row, event, event.observes) : groupNotFound();
  if (refusal) throw refusal;
  return placeOf(row as Row);
}

function pen({ ticketId }: Entering, clockMs: number) {
  const ticket = ticketId ?? null;
  return [ticket, ticket, clockMs] as const;
}

function placeOf(row: Row): LedgerPlace {
  return {
    rootFrameId: String(row['root_frame_id']),
    branchId: String(row['branch_id']),
    number: Number(row['number']),
    position: Number(row['position']),
    ...(row['message_seq'] === undefined ? {} : { messageSeq: Number(row['message_seq']) }),
  };
}

function refusalAt(row: Row, { imported }: Entering, observes: boolean): Error | null {
  if (row['quarantined'] !== 0 && !imported) return sessionQuarantined();
  if (row['reverting'] !== 0 && !imported && !observes) return sessionReverting();
  return row['has_pen'] === 0 ? ticketLost() : null;
}

/** Why a checkpoint, an attempt or a record found no place: by its group or its branch. */
export async function ledgerRefusal(
  tx: Tx,
  groupId: string | null,
  branchId: string | null,
  principal: Principal,
): Promise<Error> {
  const row = await tx.get(WHY_REFUSED, [branchId, groupId, principal.tenant]);
  if (!row) return groupId === null ? branchNotFound() : groupNotFound();
  if (row['quarantined'] !== 0) return sessionQuarantined();
  return row['reverting'] === 0 ? ticketLost() : sessionReverting();
}

const groupNotFound = (): Error => fail('ACTION_GROUP_NOT_FOUND', 'There is no such action group.');
const branchNotFound = (): Error => fail('BRANCH_NOT_FOUND', 'There is no such branch in this session.');
const sessionQuarantined = (): Error =>
  fail('SESSION_QUARANTINED', 'The session was imported and is view-only until it is confirmed.');
const sessionReverting = (): Error =>
  fail('SESSION_REVERTING', 'A revert of this session was interrupted and must be finished first.');
const ticketLost = (): Error => fail('TICKET_LOST', 'The ticket for writing to this session is no longer held.');
