import { fail, HoldfastError } from '../core/index.ts';
import { type Principal, SessionPen } from '../sessions/index.ts';
import { beginChild, beginRun, type StartRun } from './begin-run.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import { freezeAgent, thawAgent } from './frozen.ts';
import { drive } from './loop.ts';
import type { ChildCall, RunRecord } from './model.ts';
import { releaseOrphans } from './orphans.ts';
import * as sql from './run-queries.ts';
import { spanOfRun } from './run-spans.ts';
import { adoptConfig, listRuns, type RunPage, requireRun, runTree, takeRun } from './run-store.ts';
import { stopTree } from './stop-run.ts';
import { WaitingRuns } from './waiting.ts';

/** A run that this process carries out. `ended` settles when it waits, has ended, or failed to be carried out. */
export interface RunHandle {
  readonly runId: string;
  readonly ended: Promise<RunRecord>;
}

export interface ResumeOptions {
  /** Freeze the agent as it is defined now, in place of what the run began with. Default false. */
  readonly adopt?: boolean;
}

/** A holder of the pen that is gone keeps it this long; whoever resumes waits a little longer. Milliseconds. */
const PEN_LEASE_MS = 10_000;
const PEN_WAIT_MS = 20_000;
/** How often a running run looks whether another process asked it to stop. */
const STOP_LOOK_MS = 500;

/**
 * Runs of the composed system: started, carried out by this process, waiting, resumed by any process, stopped. What a
 * run did stands in the session's ledger; its row says how it stands and which living process has it.
 */
export class Runs {
  readonly #context: RunsContext;
  readonly #pen: SessionPen;
  readonly #agents = new Map<string, Agent>();
  readonly #running = new Map<string, { readonly stop: AbortController; readonly ended: Promise<RunRecord> }>();
  readonly #taking = new Map<string, Promise<RunHandle>>();

  readonly #waiting: WaitingRuns;

  constructor(context: RunsContext) {
    this.#context = context;
    const { store } = context.calls;
    this.#waiting = new WaitingRuns({
      store,
      resume: (principal, runId, listener) => this.resume(principal, runId, listener),
      get: (principal, runId) => this.get(principal, runId),
    });
    this.#pen = new SessionPen(context.calls.store, context.calls.sessions);
  }

  /** Makes an agent known to this process under its name; AGENT_EXISTS. Needed before its runs can be resumed here. */
  define(agent: Agent): void {
    if (this.#agents.has(agent.name)) throw fail('AGENT_EXISTS', `An agent named ${agent.name} is defined already.`);
    this.#agents.set(agent.name, agent);
  }

  /** The names of the agents that are known to this process. */
  agents(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /**
   * Begins a run: its session (unless one is named), the turn with the user's request, and its record, in one commit;
   * then carries it on. Throws SESSION_NOT_FOUND, BRANCH_NOT_FOUND, PROJECT_NOT_FOUND, SESSION_QUARANTINED,
   * SESSION_REVERTING, INVALID_VALUE.
   */
  async start(principal: Principal, agentName: string, start: StartRun): Promise<RunHandle> {
    const agent = this.#agent(agentName);
    const runId = await beginRun(this.#context, principal, agent, start);
    return this.#carryOn(principal, runId, agent, start.listener ?? {});
  }

  /**
   * Carries a run on that waits, was interrupted, or failed; what is unknown in it is asked about first. A run that
   * still waits for a decision stands as before afterwards. It goes on as it was frozen when it began, or with `adopt`
   * as its agent is defined now. Throws RUN_NOT_FOUND, RUN_ENDED, RUN_BUSY, AGENT_UNKNOWN, and as `thawAgent`.
   */
  async resume(
    principal: Principal,
    runId: string,
    listener: RunListener = {},
    { adopt = false }: ResumeOptions = {},
  ): Promise<RunHandle> {
    const here = this.#running.get(runId);
    if (here) return { runId, ended: here.ended };
    // Two of this process that resume at once share one taking: the row would let the same instance take it twice.
    const taking = this.#taking.get(runId) ?? this.#take(principal, runId, listener, adopt);
    this.#taking.set(runId, taking);
    try {
      return await taking;
    } finally {
      this.#taking.delete(runId);
    }
  }

  async #take(principal: Principal, runId: string, listener: RunListener, adopt: boolean): Promise<RunHandle> {
    const { store, clock } = this.#context.calls;
    const { instanceId } = this.#context;
    const run = await this.get(principal, runId);
    const agent = this.#agent(run.agent);
    if (!adopt) thawAgent(run, agent);
    const taken = await store.write('runs.take', async (tx) => {
      if (!(await takeRun(tx, run, instanceId, clock.nowMs()))) return false;
      const to = { context: freezeAgent(agent, run.context), model: agent.model.id };
      if (adopt) await adoptConfig(tx, run, instanceId, to);
      return true;
    });
    if (!taken) throw notTaken(await this.get(principal, runId));
    return this.#carryOn(run.principal, runId, agent, listener);
  }

  /**
   * Waits for the decisions that a run needs, in whatever process they are made, carries it on each time nothing of it
   * or below it waits any more, and settles when it has ended. Settles never where this process closes before that.
   */
  async whenDecided(principal: Principal, runId: string, listener: RunListener = {}): Promise<RunRecord> {
    const run = await this.get(principal, runId);
    this.#agent(run.agent);
    return this.#waiting.wait(principal, runId, listener);
  }

  /**
   * Stops a run and every run below it: what waits is cancelled, nothing more is started; what had started is unknown
   * until it is known. A run of another living process is asked to stop and does so at its next step.
   */
  async stop(principal: Principal, runId: string): Promise<RunRecord> {
    await this.get(principal, runId);
    for (const asked of await stopTree(this.#context, principal, runId)) this.#running.get(asked)?.stop.abort();
    const here = this.#running.get(runId);
    here?.stop.abort();
    return here ? here.ended : this.get(principal, runId);
  }

  get(principal: Principal, runId: string): Promise<RunRecord> {
    return this.#context.calls.store.read('runs.get', (tx) => requireRun(tx, principal, runId));
  }

  list(principal: Principal, query: { readonly before?: string; readonly limit: number }): Promise<RunPage> {
    return this.#context.calls.store.read('runs.list', (tx) => listRuns(tx, principal, query));
  }

  /** The run and every run below it, the oldest first. RUN_NOT_FOUND. */
  async tree(principal: Principal, runId: string): Promise<readonly RunRecord[]> {
    await this.get(principal, runId);
    return this.#context.calls.store.read('runs.tree', (tx) => runTree(tx, principal, runId));
  }

  /** The run's end as this process sees it, while it carries it out; undefined otherwise. */
  running(runId: string): Promise<RunRecord> | undefined {
    return this.#running.get(runId)?.ended;
  }

  /**
   * Lets go of runs whose process is dead: one that was interrupted in a call becomes `failed` with an unknown
   * outcome, one whose reply waits goes back to waiting, any other can be resumed. Runs nothing. Answers their ids.
   */
  reconcile(): Promise<readonly string[]> {
    return releaseOrphans(this.#context);
  }

  /** Asks every run of this process to stop and waits for them. */
  async close(): Promise<void> {
    this.#waiting.close();
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }

  #agent(name: string): Agent {
    const agent = this.#agents.get(name);
    if (!agent) throw fail('AGENT_UNKNOWN', 'The agent of this run is not defined in this process.');
    return agent;
  }

  #carryOn(principal: Principal, runId: string, agent: Agent, listener: RunListener): RunHandle {
    const stop = new AbortController();
    const ended = this.#drive(principal, runId, agent, listener, stop);
    this.#running.set(runId, { stop, ended });
    const forget = (): void => void this.#running.delete(runId);
    ended.then(forget, forget);
    return { runId, ended };
  }

  async #drive(
    principal: Principal,
    runId: string,
    defined: Agent,
    listener: RunListener,
    stop: AbortController,
  ): Promise<RunRecord> {
    const run = await this.get(principal, runId);
    const { agent, changed } = thawAgent(run, defined);
    if (changed.length > 0) listener.onChanged?.(changed);
    return spanOfRun(this.#context, run, agent, () => this.#driveThawed(run, agent, listener, stop));
  }

  async #driveThawed(run: RunRecord, agent: Agent, listener: RunListener, stop: AbortController): Promise<RunRecord> {
    const { principal, runId } = run;
    const watch = this.#watchForStop(runId, stop);
    const carryOutChild = (parent: Driving, asked: ChildCall) => this.#carryOutChild(parent, asked);
    const driving: Driving = { run, agent, listener, signal: stop.signal, carryOutChild };
    const pen = { owner: this.#context.instanceId, reason: 'run', leaseMs: PEN_LEASE_MS, waitMs: PEN_WAIT_MS };
    try {
      await this.#pen.hold(principal, run.place.rootFrameId, pen, () => drive(this.#context, driving));
    } finally {
      clearInterval(watch);
    }
    const stands = await this.get(principal, runId);
    if (hasEnded(stands)) await this.#wakeParent(stands);
    return stands;
  }

  /** A child that was carried on by itself has ended: its parent, which waits for it, goes on where it can here. */
  async #wakeParent({ principal, parent }: RunRecord): Promise<void> {
    if (!parent) return;
    const above = await this.get(principal, parent.runId);
    if (above.state.status === 'waiting_confirmation' && this.#agents.has(above.agent)) await this.#takeUp(above, {});
  }

  /** Begins the child run of a call or takes it up, and carries it on as long as its parent is carried on. */
  async #carryOutChild(parent: Driving, asked: ChildCall): Promise<RunRecord> {
    const { principal } = parent.run;
    const agent = this.#agent(asked.agent);
    const { child, begun } = await beginChild(this.#context, parent, agent, asked);
    const { runId } = child;
    if (!begun && !mayGoOn(child)) return child;
    const listener = parent.listener.onChild?.({ runId, agent: agent.name }) ?? {};
    const handle = begun ? this.#carryOn(principal, runId, agent, listener) : await this.#takeUp(child, listener);
    if (!handle) return this.get(principal, runId);
    const stop = (): void => this.#running.get(runId)?.stop.abort();
    parent.signal.addEventListener('abort', stop, { once: true });
    if (parent.signal.aborted) stop();
    try {
      return await handle.ended;
    } finally {
      parent.signal.removeEventListener('abort', stop);
    }
  }

  /** Null where another living process has the run. */
  async #takeUp({ principal, runId }: RunRecord, listener: RunListener): Promise<RunHandle | null> {
    try {
      return await this.resume(principal, runId, listener);
    } catch (error) {
      if (error instanceof HoldfastError && (error.code === 'RUN_BUSY' || error.code === 'RUN_ENDED')) return null;
      throw error;
    }
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

function hasEnded({ state: { status } }: RunRecord): boolean {
  return status === 'completed' || status === 'failed' || status === 'stopped';
}

/** Whether a child run that is there already is carried on by its parent: one that failed for good is not. */
function mayGoOn({ state }: RunRecord): boolean {
  if (state.status === 'failed') return state.code === 'OUTCOME_UNKNOWN';
  return state.status === 'running' || state.status === 'waiting_confirmation';
}

function notTaken(run: RunRecord): Error {
  if (run.state.status === 'running') return fail('RUN_BUSY', 'A living process carries this run out.');
  return fail('RUN_ENDED', `The run is ${run.state.status}.`);
}
