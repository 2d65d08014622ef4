import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../core/index.ts';
import type { Store, Tx } from '../store/index.ts';
import type { SessionContext } from './ledger.ts';
import type { Principal, SessionTicket } from './model.ts';
import { holdTicket, queueTicket, releaseTicket } from './tickets.ts';

export interface PenOptions {
  readonly owner: string;
  readonly reason: string;
  /** How long the pen stays with a holder that no longer renews it. Default 30 seconds. */
  readonly leaseMs?: number;
  /** How long to wait for it. Default 60 seconds. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** The place in the queue that `ask` took; without it one is taken. */
  readonly asked?: SessionTicket;
}

const LEASE_MS = 30_000;
const WAIT_MS = 60_000;
/** Another process's release is only seen by looking; one of this process wakes the queue at once. */
const LOOK_EVERY_MS = 50;

/** One writer at a time per session, in the order of asking, over every process that has the store open. */
export class SessionPen {
  readonly #store: Store;
  readonly #context: SessionContext;
  readonly #sleepers = new Map<string, Set<() => void>>();

  constructor(store: Store, context: SessionContext) {
    this.#store = store;
    this.#context = context;
  }

  /**
   * Queues for the pen in the caller's transaction, and takes it there where it is free: a ticket to be given to `hold`,
   * which also gives it back. Refuses as `hold`.
   */
  async ask(tx: Tx, principal: Principal, rootFrameId: string, options: PenOptions): Promise<SessionTicket> {
    const { owner, reason, leaseMs = LEASE_MS } = options;
    const queued = await queueTicket(tx, this.#context, principal, { rootFrameId, owner, reason, leaseMs });
    return holdTicket(tx, this.#context, queued.ticketId, leaseMs);
  }

  /**
   * Waits for the session's pen, runs `body` with the held ticket, renews its lease meanwhile and gives it back in the
   * end, whatever happened. Refuses with SESSION_NOT_FOUND, TICKET_TIMEOUT, or the signal's reason; in each case the
   * place in the queue is given back. A `body` that outlives its lease is told by TICKET_LOST at its next write.
   */
  async hold<T>(
    principal: Principal,
    rootFrameId: string,
    options: PenOptions,
    body: (ticket: SessionTicket) => Promise<T>,
  ): Promise<T> {
    const leaseMs = options.leaseMs ?? LEASE_MS;
    const queued =
      options.asked ??
      (await this.#store.write('sessions.queue', (tx) => this.ask(tx, principal, rootFrameId, options)));
    try {
      options.signal?.throwIfAborted();
      const held = queued.state === 'held' ? queued : await this.#wait(queued, leaseMs, options);
      return await this.#renewing(held, leaseMs, body);
    } finally {
      await this.#release(queued);
      for (const wake of this.#sleepers.get(rootFrameId) ?? []) wake();
    }
  }

  /** Where it cannot be given back its lease ends: what was done under it, or why not, is told all the same. */
  async #release(queued: SessionTicket): Promise<void> {
    try {
      await this.#store.write('sessions.release', (tx) => releaseTicket(tx, queued.ticketId));
    } catch {
      // The next one waits for the end of the lease.
    }
  }

  async #wait(queued: SessionTicket, leaseMs: number, options: PenOptions): Promise<SessionTicket> {
    const deadline = this.#context.clock.nowMs() + (options.waitMs ?? WAIT_MS);
    for (;;) {
      options.signal?.throwIfAborted();
      const ticket = await this.#look(queued.ticketId, leaseMs);
      if (ticket.state === 'held') return ticket;
      if (this.#context.clock.nowMs() >= deadline)
        throw fail('TICKET_TIMEOUT', 'Someone else is writing to this session and did not finish in time.');
      await this.#sleep(queued.rootFrameId);
    }
  }

  #look(ticketId: string, leaseMs: number): Promise<SessionTicket> {
    return this.#store.write('sessions.hold', (tx) => holdTicket(tx, this.#context, ticketId, leaseMs));
  }

  async #sleep(rootFrameId: string): Promise<void> {
    const sleepers = this.#sleepers.get(rootFrameId) ?? new Set();
    this.#sleepers.set(rootFrameId, sleepers);
    const woken = new AbortController();
    const wake = (): void => woken.abort();
    sleepers.add(wake);
    await sleep(LOOK_EVERY_MS, undefined, { signal: woken.signal }).catch(() => undefined);
    sleepers.delete(wake);
    if (sleepers.size === 0) this.#sleepers.delete(rootFrameId);
  }

  async #renewing<T>(held: SessionTicket, leaseMs: number, body: (ticket: SessionTicket) => Promise<T>): Promise<T> {
    // A failed renewal is not lost: the lease ends and the body's next write is refused.
    const timer = setInterval(() => void this.#look(held.ticketId, leaseMs).catch(() => undefined), leaseMs / 3);
    timer.unref();
    try {
      return await body(held);
    } finally {
      clearInterval(timer);
    }
  }
}
