import type { Approvals, ShownRequest } from '../../approvals/index.ts';
import { type Clock, fail, HoldfastError, type JsonObject } from '../../core/index.ts';
import type { Principal } from '../../sessions/index.ts';
import { feedHead, readFeed, type Store } from '../../store/index.ts';
import { commandHook, type Hook, webhook, type WebhookOptions } from './hooks.ts';
import * as sql from './tables.ts';

/** Who is told that an approval waits. Told at least once; a receiver knows a notice again by its request. */
export interface NoticeOptions {
  readonly webhook?: WebhookOptions;
  /** A program and its arguments. */
  readonly command?: readonly string[];
  /** Tried so often before it is given up, 1 to 20. Default 8: over about four minutes. */
  readonly attempts?: number;
  /** How long a webhook may take to answer, and a program to end: 1 to 30,000. Milliseconds, default 10,000. */
  readonly timeoutMs?: number;
  /** The pause after the first failure; each later one is twice as long. Milliseconds, default 2,000. */
  readonly pauseMs?: number;
}

type HookName = 'webhook' | 'command';

interface NoticeContext {
  readonly store: Store;
  readonly approvals: Approvals;
  readonly clock: Clock;
  readonly principal: Principal;
}

const ATTEMPTS = 8;
const MOST_ATTEMPTS = 20;
const PAUSE_MS = 2000;
const TIMEOUT_MS = 10_000;
const LONGEST_TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_MS = 3_600_000;
const LOOK_MS = 100;
/** Longer than a hook may take: by then whoever claimed a notice has told it, or is dead. */
const CLAIM_MS = 60_000;
const AT_ONCE = 8;

export interface Notices {
  /** Settles once everything that waits was tried to be told, each a first time, or `timeoutMs` are over. */
  readonly tellWaiting: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Tells hooks about approvals that wait, also those that waited before this process began. One look at the feed every
 * tenth of a second; what is to be told stands in the store until it is told or given up.
 */
export function startNotices(context: NoticeContext, options: NoticeOptions): Notices {
  const hooks = hooksOf(options, context.clock);
  const { attempts = ATTEMPTS, pauseMs = PAUSE_MS, timeoutMs = TIMEOUT_MS } = options;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
    throw fail('INVALID_VALUE', `notices.attempts must be a whole number from 1 to ${MOST_ATTEMPTS}.`);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS)
    throw fail('INVALID_VALUE', `notices.timeoutMs must be a whole number from 1 to ${LONGEST_TIMEOUT_MS}.`);
  if (!Number.isInteger(pauseMs) || pauseMs < 0 || pauseMs > LONGEST_PAUSE_MS)
    throw fail('INVALID_VALUE', `notices.pauseMs must be a whole number from 0 to ${LONGEST_PAUSE_MS}.`);
  const teller = new Teller(context, hooks, { attempts, pauseMs, timeoutMs });
  return { tellWaiting: () => teller.tellWaiting(), stop: () => teller.stop() };
}

function hooksOf(options: NoticeOptions, clock: Clock): ReadonlyMap<HookName, Hook> {
  const hooks = new Map<HookName, Hook>();
  if (options.webhook) hooks.set('webhook', webhook(options.webhook, clock));
  if (options.command) hooks.set('command', commandHook(options.command));
  return hooks;
}

interface Patience {
  readonly attempts: number;
  readonly pauseMs: number;
  readonly timeoutMs: number;
}

class Teller {
  readonly #context: NoticeContext;
  readonly #hooks: ReadonlyMap<HookName, Hook>;
  readonly #patience: Patience;
  /** Being told now: a hook that is slow keeps nothing else waiting while there is room. */
  readonly #telling = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** The feed is read from here; -1 before what waited already was found. */
  #seen = -1;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #under: Promise<void>;

  constructor(context: NoticeContext, hooks: ReadonlyMap<HookName, Hook>, patience: Patience) {
    this.#context = context;
    this.#hooks = hooks;
    this.#patience = patience;
    this.#under = this.#round();
  }

  /** What is being told is broken off, and told again by whoever tells next. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#stopping.abort();
    await this.#under;
    await Promise.allSettled(this.#telling);
  }

  async tellWaiting(): Promise<void> {
    const patience = AbortSignal.timeout(this.#patience.timeoutMs);
    const over = new Promise<void>((resolve) => patience.addEventListener('abort', () => resolve(), { once: true }));
    do {
      clearTimeout(this.#timer);
      await this.#under;
      await (this.#under = this.#round());
      await Promise.race([over, Promise.allSettled(this.#telling)]);
    } while (!patience.aborted && !this.#stopped && (await this.#isAnyDue()));
  }

  /** What cannot be read now is left to whoever tells next. */
  async #isAnyDue(): Promise<boolean> {
    const due = await this.#due(1).catch(() => []);
    return due.length > 0;
  }

  async #round(): Promise<void> {
    try {
      await this.#findNew();
      await this.#tellDue();
    } catch {
      // What could not be read or written now is met again at the next look; nothing was moved on.
    }
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void (this.#under = this.#round()), LOOK_MS);
    this.#timer.unref();
  }

  async #findNew(): Promise<void> {
    const { store, principal } = this.#context;
    if (this.#seen < 0) {
      const head = await store.read('notices.head', feedHead);
      await this.#addWaiting();
      this.#seen = head;
      return;
    }
    const ask = { tenantId: principal.tenant, after: this.#seen };
    const { entries, next } = await store.read('notices.feed', (tx) => readFeed(tx, ask));
    const asked = entries.filter(({ kind }) => kind === 'approval.requested');
    if (asked.length > 0) await this.#add(asked.map(({ reference }) => reference));
    this.#seen = next;
  }

  async #addWaiting(): Promise<void> {
    let after: string | undefined;
    do {
      const page = await this.#context.approvals.pending(this.#context.principal, after === undefined ? {} : { after });
      await this.#add(page.items.map(({ requestId }) => requestId));
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  async #add(requestIds: readonly string[]): Promise<void> {
    if (requestIds.length === 0) return;
    const now = this.#context.clock.nowMs();
    await this.#context.store.write('notices.add', async (tx) => {
      for (const requestId of requestIds)
        for (const hook of this.#hooks.keys()) await tx.run(sql.ADD, [requestId, hook, now]);
    });
  }

  async #tellDue(): Promise<void> {
    const room = AT_ONCE - this.#telling.size;
    if (room <= 0 || this.#stopped) return;
    const rows = await this.#due(room);
    await Promise.all(
      rows.map((row) => this.#begin(String(row['request_id']), row['hook'] as HookName, Number(row['attempts']))),
    );
  }

  async #due(most: number) {
    const { store, clock, principal } = this.#context;
    const [first, second = first] = this.#hooks.keys();
    if (first === undefined || second === undefined) return [];
    const params = [clock.nowMs(), first, second, principal.tenant, most];
    return store.read('notices.due', (tx) => tx.all(sql.LIST_DUE, params));
  }

  /** Claims a notice; whoever claimed it tells it, beside whatever else is being told. */
  async #begin(requestId: string, name: HookName, before: number): Promise<void> {
    const hook = this.#hooks.get(name);
    if (!hook) return;
    const { store, clock } = this.#context;
    const now = clock.nowMs();
    const { changes } = await store.write('notices.claim', (tx) =>
      tx.run(sql.CLAIM, [now + CLAIM_MS, requestId, name, now]),
    );
    if (changes !== 1) return;
    // What fails in the store is told again when the claim has run out.
    const telling = this.#tell(requestId, { name, hook }, before).catch(() => undefined);
    this.#telling.add(telling);
    void telling.then(() => this.#telling.delete(telling));
  }

  async #tell(
    requestId: string,
    { name, hook }: { readonly name: HookName; readonly hook: Hook },
    before: number,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const told = await this.#told(requestId, hook);
    const pause = Math.min(LONGEST_PAUSE_MS, this.#patience.pauseMs * 2 ** before);
    const due = clock.nowMs() + pause;
    if (!told && this.#stopping.signal.aborted) {
      await store.write('notices.release', (tx) => tx.run(sql.RELEASE, [before, due, requestId, name]));
      return;
    }
    const state = told ? 'told' : before + 1 >= this.#patience.attempts ? 'given_up' : 'due';
    await store.write('notices.settle', (tx) => tx.run(sql.SETTLE, [state, due, requestId, name]));
  }

  /** True also where nothing is left to tell: what was decided meanwhile waits no more. */
  async #told(requestId: string, hook: Hook): Promise<boolean> {
    try {
      const shown = await this.#context.approvals.show(this.#context.principal, requestId);
      if (shown.status !== 'pending') return true;
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(this.#patience.timeoutMs)]);
      return await hook(noticeOf(shown), signal);
    } catch (error) {
      if (error instanceof HoldfastError && error.code === 'APPROVAL_NOT_FOUND') return true;
      // Damaged: it may be mended in the time in which a hook is tried again, and is given up as one is.
      if (error instanceof HoldfastError && error.family === 'corruption') return false;
      throw error;
    }
  }
}

/** What a notice says: which request, of what tool, until when. Arguments stay in the store: look at the request. */
function noticeOf({ requestId, digest, document, tool, reason, expiresAt }: ShownRequest): JsonObject {
  const runId = document['run_id'] ?? null;
  const kind = 'approval.requested';
  return { kind, request_id: requestId, digest, run_id: runId, tool, reason, expires_at: expiresAt };
}
