import { fail, type JsonObject, requireText, LIMITS } from '../core/index.ts';
import { cancelRequests } from '../approvals/index.ts';
import { beginTurn, openSession, type Principal, requireBranch, SessionPen } from '../sessions/index.ts';
import { appendFeed, type Tx } from '../store/index.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import { drive } from './loop.ts';
import type { RunPlace, RunRecord } from './model.ts';
import { releaseOrphans } from './orphans.ts';
import * as sql from './run-queries.ts';
import { insertRun, listRuns, type RunPage, requireRun, takeRun } from './run-store.ts';

/** Where a new run begins: a project for a session of its own, or a session to go on with. */
export interface StartRun {
  readonly task: string;
  readonly projectId: string;
  readonly rootFrameId?: string;
  readonly branchId?: string;
  readonly context?: JsonObject;
  readonly listener?: RunListener;
  /** Writes more in the commit that begins the run; what it throws undoes all of it. */
  readonly within?: (tx: Tx, begun: { readonly runId: string; readonly rootFrameId: string }) => Promise<void>;
}

/** A run that this process carries out. `ended` settles when it waits, has ended, or failed to be carried out. */
export interface RunHandle {
  readonly runId: string;
  readonly ended: Promise<RunRecord>;
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

  constructor(context: RunsContext) {
    this.#context = context;
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
    const task = requireText('task', start.task, LIMITS.runTaskCodePoints);
    const { store, clock } = this.#context.calls;
    const runId = this.#context.calls.sessions.ids.next();
    await store.write('runs.start', async (tx) => {
      const place = await this.#beginTurn(tx, principal, { ...start, task });
      await insertRun(tx, {
        runId,
        principal,
        place,
        task,
        agent: agent.name,
        model: agent.model.id,
        context: start.context ?? {},
        ownerInstanceId: this.#context.instanceId,
        now: clock.nowMs(),
      });
      await start.within?.(tx, { runId, rootFrameId: place.rootFrameId });
    });
    return this.#carryOn(principal, runId, agent, start.listener ?? {});
  }

  async #beginTurn(tx: Tx, principal: Principal, start: StartRun): Promise<RunPlace> {
    const { sessions } = this.#context.calls;
    const { projectId, task } = start;
    const rootFrameId = start.rootFrameId ?? (await openSession(tx, sessions, principal, { projectId }));
    const branchId = start.branchId ?? rootFrameId;
    await requireBranch(tx, principal, rootFrameId, branchId);
    const { turnId } = await beginTurn(tx, sessions, principal, { rootFrameId, branchId, content: task });
    return { projectId, rootFrameId, branchId, turnId };
  }

  /**
   * Carries a run on that waits, was interrupted, or failed; what is unknown in it is asked about first. A run that
   * still waits for a decision stands as before afterwards. Throws RUN_NOT_FOUND, RUN_ENDED, RUN_BUSY, AGENT_UNKNOWN.
   */
  async resume(principal: Principal, runId: string, listener: RunListener = {}): Promise<RunHandle> {
    const here = this.#running.get(runId);
    if (here) return { runId, ended: here.ended };
    const { store, clock } = this.#context.calls;
    const run = await this.get(principal, runId);
    const agent = this.#agent(run.agent);
    const taken = await store.write('runs.take', (tx) => takeRun(tx, run, this.#context.instanceId, clock.nowMs()));
    if (!taken) throw notTaken(await this.get(principal, runId));
    return this.#carryOn(run.principal, runId, agent, listener);
  }

  /**
   * Stops a run: what waits is cancelled, nothing more is started; what had started is unknown until it is known. A
   * run of another living process is asked to stop and does so at its next step.
   */
  async stop(principal: Principal, runId: string): Promise<RunRecord> {
    const { store, clock, sessions } = this.#context.calls;
    const run = await this.get(principal, runId);
    const { rootFrameId } = run.place;
    await store.write('runs.stop', async (tx) => {
      const now = clock.nowMs();
      const { changes } = await tx.run(sql.ASK_STOP, [now, now, runId, principal.tenant]);
      if (changes === 0) return;
      await cancelRequests(tx, sessions, principal, { rootFrameId, runId }, 'The run was stopped.');
      await tx.run(sql.STOP_UNOWNED, [now, now, runId, principal.tenant, now]);
      await appendFeed(tx, { tenantId: principal.tenant, kind: 'run.stop_requested', reference: runId });
    });
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
    agent: Agent,
    listener: RunListener,
    stop: AbortController,
  ): Promise<RunRecord> {
    const run = await this.get(principal, runId);
    const watch = this.#watchForStop(runId, stop);
    const driving: Driving = { run, agent, listener, signal: stop.signal };
    const pen = { owner: this.#context.instanceId, reason: 'run', leaseMs: PEN_LEASE_MS, waitMs: PEN_WAIT_MS };
    try {
      await this.#pen.hold(principal, run.place.rootFrameId, pen, () => drive(this.#context, driving));
    } finally {
      clearInterval(watch);
    }
    return this.get(principal, runId);
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

function notTaken(run: RunRecord): Error {
  if (run.state.status === 'running') return fail('RUN_BUSY', 'A living process carries this run out.');
  return fail('RUN_ENDED', `The run is ${run.state.status}.`);
}
