import { fail, LIMITS, requireText, requireWithin } from '../core/index.ts';
import type { ReadTx, Tx } from '../store/index.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal, SessionTicket } from './model.ts';
import { ticketOf } from './rows.ts';
import * as sql from './ticket-queries.ts';

export interface NewTicket {
  readonly rootFrameId: string;
  /** Who waits: `run:<id>`, `lifecycle`. */
  readonly owner: string;
  /** Why, in words that a person reads: `session package export`. */
  readonly reason: string;
  readonly leaseMs: number;
}

/** A lease is from one second to the bound, in whole milliseconds. */
function checkLease(leaseMs: number): void {
  requireWithin('sessionTicketLeaseMs', leaseMs);
  if (!Number.isInteger(leaseMs) || leaseMs < 1000)
    throw fail('INVALID_VALUE', 'leaseMs must be a whole number from 1000.');
}

/**
 * Queues for a session's pen. The ticket's number is above every earlier one of the session. It holds nothing yet:
 * `holdTicket` does. Refuses with SESSION_NOT_FOUND, LIMIT_REACHED, INVALID_VALUE.
 */
export async function queueTicket(
  tx: Tx,
  context: SessionContext,
  principal: Principal,
  ticket: NewTicket,
): Promise<SessionTicket> {
  requireText('owner', ticket.owner, LIMITS.sessionIdCodePoints);
  requireText('reason', ticket.reason, LIMITS.sessionIdCodePoints);
  checkLease(ticket.leaseMs);
  const counter = await tx.get(sql.NEXT_TICKET_NUMBER, [ticket.rootFrameId, principal.tenant]);
  if (!counter) throw fail('SESSION_NOT_FOUND', 'There is no such session.');
  const waiting = await tx.get(sql.COUNT_TICKETS, [ticket.rootFrameId]);
  requireWithin('sessionTicketsQueued', Number(waiting?.['waiting']) + 1);
  const now = context.clock.nowMs();
  const until = now + ticket.leaseMs;
  const number = Number(counter['ticket_counter']);
  const row = [context.ids.next(), ticket.rootFrameId, number, ticket.owner, ticket.reason, now, until];
  return ticketOf((await tx.get(sql.INSERT_TICKET, row)) ?? {});
}

/**
 * Renews a ticket's lease and takes the pen when it is this ticket's turn: nobody holds it, and every ticket that
 * came earlier was released or let its lease end. Such dead tickets are removed. TICKET_LOST when this one was removed.
 */
export async function holdTicket(
  tx: Tx,
  context: SessionContext,
  ticketId: string,
  leaseMs: number,
): Promise<SessionTicket> {
  checkLease(leaseMs);
  const now = context.clock.nowMs();
  const own = await tx.get(sql.RENEW_TICKET, [now + leaseMs, ticketId]);
  if (!own) throw lost();
  if (own['state'] === 'held') return ticketOf(own);
  await tx.run(sql.DROP_DEAD_TICKETS, [String(own['root_frame_id']), now, ticketId]);
  const held = await tx.get(sql.HOLD_TICKET, [now, ticketId]);
  return ticketOf(held ?? own);
}

/**
 * The pen is still with this ticket: nobody else takes it before the ticket is removed, whether its lease has ended or
 * not. TICKET_LOST.
 */
export async function requirePen(tx: ReadTx, ticketId: string): Promise<void> {
  if (!(await tx.get(sql.HELD_TICKET, [ticketId]))) throw lost();
}

const lost = (): Error => fail('TICKET_LOST', 'The ticket for writing to this session is gone.');

/** Gives the pen, or the place in the queue, back. False when the ticket was gone already. */
export async function releaseTicket(tx: Tx, ticketId: string): Promise<boolean> {
  const { changes } = await tx.run(sql.DROP_TICKET, [ticketId]);
  return changes === 1;
}
