import { type Principal, SessionPen } from '../sessions/index.ts';
import type { AskPen, TakenRun } from './begin-run.ts';
import { CLOSING, isClosing } from './closing.ts';
import type { Agent, CarryOutChild, Driving, RunListener, RunsContext } from './context.ts';
import { agentFor } from './follow-up.ts';
import { thawAgent } from './frozen.ts';
import { drive } from './loop.ts';
import type { RunRecord } from './model.ts';
import { namingRun } from './naming-run.ts';
import * as sql from './run-queries.ts';
import { spanOfRun } from './run-spans.ts';
import { letGo, moveRun, requireLiving, requireRun } from './run-store.ts';

/**
 * A run that this process carries out. `ended` settles when it waits, has ended, or failed to be carried out: the error
 * of a store, a clock or a process names the run.
 */
export interface RunHandle {
  readonly runId: string;
  readonly ended: Promise<RunRecord>;
}

/** A holder of the pen that is gone keeps it this long; whoever resumes waits a little longer. Milliseconds. */
const PEN_LEASE_MS = 10_000;
const PEN_WAIT_MS = 20_000;
/** How often a running run looks whether another process asked it to stop. */
const STOP_LOOK_MS = 500;

interface Carried {
  readonly stop: AbortController;
  /** Its own turns can be let go of at any moment; what follows them under supervision is stopped. */
  inOwnTurns: boolean;
  readonly ended: Promise<RunRecord>;
}

/** What the runs that are carried out need of whoever begins them. */
interface CarriedHost {
  readonly carryOutChild: CarryOutChild;
  /** What is done about a run once its own turns are over, or wait; false where nothing is, and it stands as it did. */
  readonly supervise: (driving: Driving) => Promise<boolean>;
  /** Told of each run when it has come to a stand, before its end is told to others. */
  readonly hasStood: (run: RunRecord) => Promise<void>;
}

/** The runs that this process carries out now, each under its session's pen. */
export class CarriedRuns {
  readonly #context: RunsContext;
  readonly #host: CarriedHost;
  readonly #pen: SessionPen;
  readonly #runs = new Map<string, Carried>();

  constructor(context: RunsContext, host: CarriedHost) {
    this.#context = context;
    this.#host = host;
    this.#pen = new SessionPen(context.calls.store, context.calls.sessions);
  }

  /**
   * Asks for the pen of a run's session, in the commit that gives this process the run; a process that was taken for
   * dead is given none. INSTANCE_ENDED.
   */
  readonly askPen: AskPen = async (tx, principal, rootFrameId, owner) => {
    await requireLiving(tx, this.#context.calls.clock, owner);
    return this.#pen.ask(tx, principal, rootFrameId, penOf(owner));
  };

  /** The run's end, while it is carried out here. */
  ended(runId: string): Promise<RunRecord> | undefined {
    return this.#runs.get(runId)?.ended;
  }

  /** The runs that are carried out here now. */
  ids(): readonly string[] {
    return [...this.#runs.keys()];
  }

  /** Asks a run of this process to stop. */
  stop(runId: string): void {
    this.#runs.get(runId)?.stop.abort();
  }

  carry(principal: Principal, taken: TakenRun, agent: Agent, listener: RunListener): RunHandle {
    return this.#enter(taken.runId, true, async (stop) => {
      const driven = await this.#turns(principal, taken, agent, listener, stop);
      return driven ?? this.#driving(principal, taken, agent, listener, stop);
    });
  }

  /** Carries on what is left of a run whose own turns are over: its supervision. `adopt`: with its agent as it is now. */
  carryOver({ principal, runId }: RunRecord, agent: Agent, listener: RunListener, adopt: boolean): RunHandle {
    const { instanceId: owner } = this.#context;
    return this.#enter(runId, false, (stop) =>
      this.#driving(principal, { runId, owner }, agent, listener, stop, adopt),
    );
  }

  #enter(runId: string, inOwnTurns: boolean, turns: (stop: AbortController) => Promise<Driving>): RunHandle {
    const stop = new AbortController();
    const ended = namingRun(runId, () => this.#carry(runId, turns, stop));
    this.#runs.set(runId, { stop, inOwnTurns, ended });
    const forget = (): void => void this.#runs.delete(runId);
    ended.then(forget, forget);
    return { runId, ended };
  }

  /** Waits for a run of this process, which is stopped where the run above it is, and let go of with it. */
  async endedWith(signal: AbortSignal, { runId, ended }: RunHandle): Promise<RunRecord> {
    const stop = (): void => this.#runs.get(runId)?.stop.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      return await ended;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Breaks off every run, a run above before those below it, and waits for them. */
  async close(): Promise<void> {
    for (const { stop, inOwnTurns } of this.#runs.values()) stop.abort(inOwnTurns ? CLOSING : undefined);
    await Promise.allSettled([...this.#runs.values()].map(({ ended }) => ended));
  }

  async #carry(
    runId: string,
    turns: (stop: AbortController) => Promise<Driving>,
    stop: AbortController,
  ): Promise<RunRecord> {
    const watch = this.#watchForStop(runId, stop);
    try {
      const driving = await turns(stop);
      const { run } = driving;
      if (isClosing(stop.signal)) return run;
      const carried = this.#runs.get(runId);
      if (carried) carried.inOwnTurns = false;
      const stands = (await this.#host.supervise(driving)) ? await this.#get(run.principal, runId) : run;
      await this.#host.hasStood(stands);
      return stands;
    } finally {
      clearInterval(watch);
    }
  }

  /** The run's own turns, under its session's pen; how it stands after them, undefined where it was let go of. */
  async #turns(
    principal: Principal,
    taken: TakenRun,
    agent: Agent,
    listener: RunListener,
    stop: AbortController,
  ): Promise<Driving | undefined> {
    const { runId, ticket, owner } = taken;
    const pen = { ...penOf(owner), signal: stop.signal, asked: ticket };
    try {
      return await this.#pen.hold(principal, ticket.rootFrameId, pen, async () => {
        const driving = await this.#driving(principal, taken, agent, listener, stop);
        if (driving.changed.length > 0) listener.onChanged?.(driving.changed);
        const run = await spanOfRun(this.#context, driving.run, driving.agent, async () => {
          await drive(this.#context, driving);
          return this.#get(principal, runId);
        });
        return { ...driving, run };
      });
    } catch (error) {
      await this.#letGo(principal, taken, error, stop.signal);
      return undefined;
    }
  }

  async #driving(
    principal: Principal,
    { runId, owner }: Pick<TakenRun, 'runId' | 'owner'>,
    defined: Agent,
    listener: RunListener,
    stop: AbortController,
    adopts = false,
  ): Promise<Driving & { readonly changed: readonly string[] }> {
    const run = await this.#get(principal, runId);
    const { agent, changed } = adopts ? { agent: defined, changed: [] } : thawAgent(run, agentFor(run, defined));
    const { signal } = stop;
    const { carryOutChild } = this.#host;
    return { run, owner, agent, changed, listener, signal, stopNow: () => stop.abort(), carryOutChild, adopts };
  }

  /**
   * The run was not carried on to a stand. One that was stopped while it waited for the pen is stopped: nothing of it
   * had begun. Any other belongs to nobody from now, so that whoever resumes it, wherever, may have it: also one that
   * waited while its process closed.
   */
  async #letGo(principal: Principal, { runId, owner }: TakenRun, error: unknown, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#context.calls;
    const brokenOff = signal.aborted && error === signal.reason;
    if (brokenOff && !isClosing(signal)) {
      const finishedAt = clock.nowMs();
      const stopped = { status: 'stopped', finishedAt } as const;
      const run = { runId, principal };
      await store.write('runs.stand', (tx) => moveRun(tx, run, owner, stopped, finishedAt));
      return;
    }
    const release = store.write('runs.let-go', (tx) => letGo(tx, { runId, principal }, owner, clock.nowMs()));
    // Where even this cannot be written, the row is let go of when this process has ended.
    await release.catch(() => undefined);
    if (!brokenOff) throw error;
  }

  #get(principal: Principal, runId: string): Promise<RunRecord> {
    return this.#context.calls.store.read('runs.get', (tx) => requireRun(tx, principal, runId));
  }

  #watchForStop(runId: string, stop: AbortController): NodeJS.Timeout {
    const look = async (): Promise<void> => {
      const asked = await this.#context.calls.store.read('runs.stop-asked', (tx) => tx.get(sql.IS_STOP_ASKED, [runId]));
      if (asked) stop.abort();
    };
    // A look that fails is repeated; the run itself meets the store's trouble at its next write.
    const watch = setInterval(() => void look().catch(() => undefined), STOP_LOOK_MS);
    watch.unref();
    return watch;
  }
}

const penOf = (owner: string) => ({ owner, reason: 'run', leaseMs: PEN_LEASE_MS, waitMs: PEN_WAIT_MS });
