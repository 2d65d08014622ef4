import { type Principal, SessionPen } from '../sessions/index.ts';
import type { AskPen, TakenRun } from './begin-run.ts';
import { CLOSING, isClosing, RunEnding } from './closing.ts';
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
  readonly ending: RunEnding;
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
  #closing: Promise<void> | undefined;

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
    this.#runs.get(runId)?.ending.stop();
  }

  carry(principal: Principal, taken: TakenRun, agent: Agent, listener: RunListener): RunHandle {
    return this.#enter(taken.runId, true, async (ending) => {
      const driven = await this.#turns(principal, taken, agent, listener, ending);
      return driven ?? this.#driving(principal, taken, agent, listener, ending);
    });
  }

  /** Carries on what is left of a run whose own turns are over: its supervision. `adopt`: with its agent as it is now. */
  carryOver({ principal, runId }: RunRecord, agent: Agent, listener: RunListener, adopt: boolean): RunHandle {
    const { instanceId: owner } = this.#context;
    return this.#enter(runId, false, (ending) =>
      this.#driving(principal, { runId, owner }, agent, listener, ending, adopt),
    );
  }

  #enter(runId: string, inOwnTurns: boolean, turns: (ending: RunEnding) => Promise<Driving>): RunHandle {
    const ending = new RunEnding();
    // Its commit was under way when the process began to close.
    if (this.isClosing) ending.hold(reasonOf(inOwnTurns));
    const ended = namingRun(runId, () => this.#carry(runId, turns, ending));
    this.#runs.set(runId, { ending, inOwnTurns, ended });
    const forget = (): void => void this.#runs.delete(runId);
    ended.then(forget, forget);
    return { runId, ended };
  }

  /** Waits for a run of this process, which is stopped where the run above it is, and let go of with it. */
  async endedWith(
    { signal, underWay }: Pick<Driving, 'signal' | 'underWay'>,
    { runId, ended }: RunHandle,
  ): Promise<RunRecord> {
    const hold = (): void => this.#runs.get(runId)?.ending.hold(signal.reason);
    const stop = (): void => this.#runs.get(runId)?.ending.stop(signal.reason);
    signal.addEventListener('abort', hold, { once: true });
    underWay.addEventListener('abort', stop, { once: true });
    if (signal.aborted) hold();
    if (underWay.aborted) stop();
    try {
      return await ended;
    } finally {
      signal.removeEventListener('abort', hold);
      underWay.removeEventListener('abort', stop);
    }
  }

  /** Whether this process closes: nothing begins in it any more. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Lets go of every run, a run above before those below it, and waits for them: nothing more of them begins, and calls
   * that are under way may answer for so long before they are cancelled. Once more waits for the same.
   */
  close(waitMs: number): Promise<void> {
    return (this.#closing ??= this.#close(waitMs));
  }

  async #close(waitMs: number): Promise<void> {
    for (const { ending, inOwnTurns } of this.#runs.values()) ending.hold(reasonOf(inOwnTurns));
    const cancel = (): void => {
      for (const { ending } of this.#runs.values()) ending.stop();
    };
    const late = setTimeout(cancel, waitMs);
    // One whose commit is under way comes to them yet.
    while (this.#runs.size > 0) await Promise.allSettled([...this.#runs.values()].map(({ ended }) => ended));
    clearTimeout(late);
  }

  async #carry(runId: string, turns: (ending: RunEnding) => Promise<Driving>, ending: RunEnding): Promise<RunRecord> {
    const watch = this.#watchForStop(runId, ending);
    try {
      const driving = await turns(ending);
      const { run } = driving;
      if (isClosing(ending.signal)) return run;
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
    ending: RunEnding,
  ): Promise<Driving | undefined> {
    const { runId, ticket, owner } = taken;
    const pen = { ...penOf(owner), signal: ending.signal, asked: ticket };
    try {
      return await this.#pen.hold(principal, ticket.rootFrameId, pen, async () => {
        const driving = await this.#driving(principal, taken, agent, listener, ending);
        if (driving.changed.length > 0) listener.onChanged?.(driving.changed);
        const run = await spanOfRun(this.#context, driving.run, driving.agent, async () => {
          await drive(this.#context, driving);
          return this.#get(principal, runId);
        });
        return { ...driving, run };
      });
    } catch (error) {
      await this.#letGo(principal, taken, error, ending.signal);
      return undefined;
    }
  }

  async #driving(
    principal: Principal,
    { runId, owner }: Pick<TakenRun, 'runId' | 'owner'>,
    defined: Agent,
    listener: RunListener,
    ending: RunEnding,
    adopts = false,
  ): Promise<Driving & { readonly changed: readonly string[] }> {
    const run = await this.#get(principal, runId);
    const { agent, changed } = adopts ? { agent: defined, changed: [] } : thawAgent(run, agentFor(run, defined));
    const { signal, underWay, stop } = ending;
    const { carryOutChild } = this.#host;
    const stopNow = (): void => stop();
    return { run, owner, agent, changed, listener, signal, underWay, stopNow, carryOutChild, adopts };
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

  #watchForStop(runId: string, ending: RunEnding): NodeJS.Timeout {
    const look = async (): Promise<void> => {
      const asked = await this.#context.calls.store.read('runs.stop-asked', (tx) => tx.get(sql.IS_STOP_ASKED, [runId]));
      if (asked) ending.stop();
    };
    // A look that fails is repeated; the run itself meets the store's trouble at its next write.
    const watch = setInterval(() => void look().catch(() => undefined), STOP_LOOK_MS);
    watch.unref();
    return watch;
  }
}

/** A run whose own turns go on is let go of with its process; what follows them under supervision is stopped. */
const reasonOf = (inOwnTurns: boolean): unknown => (inOwnTurns ? CLOSING : undefined);

const penOf = (owner: string) => ({ owner, reason: 'run', leaseMs: PEN_LEASE_MS, waitMs: PEN_WAIT_MS });
