import { fail, HoldfastError } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';
import { beginChild, beginRun, type StartRun } from './begin-run.ts';
import { CarriedRuns, type RunHandle } from './carried-runs.ts';
import { comingBack } from './come-back.ts';
import type { Agent, Driving, RunListener, RunsContext } from './context.ts';
import type { CarryOnOptions } from './following.ts';
import { agentFor, isFollowUp } from './follow-up.ts';
import { findRunGoals, putRunGoals } from './goals.ts';
import { isModelless } from './guard-run.ts';
import { type OpenSideBranch, openSideBranch, requireKnownBranch } from './side-branch/composed.ts';
import type { GoalTree } from './trace/model.ts';
import { freezeAgent, thawAgent } from './frozen.ts';
import type { ChildCall, RunRecord } from './model.ts';
import type { Damage } from './damage.ts';
import { damageOfOrphan, type Released, releaseOrphans, requireSound } from './orphans.ts';
import { adoptConfig, listRuns, type RunPage, requireRun, runBusy, runTree, takeRun } from './run-store.ts';
import { stopTree } from './stop-run.ts';
import { SupervisedRuns } from './supervised-runs.ts';
import { requireAbove, requireTakeable } from './takeable.ts';
import { isElsewhere, WaitingRuns } from './waiting.ts';

export interface ResumeOptions {
  /** Freeze the agent as it is defined now, in place of what the run began with. Default false. */
  readonly adopt?: boolean;
}

/** One for all runs of which nobody hears: a waiting run would hold its own as long as it waits. */
const NOBODY: RunListener = Object.freeze({});

/**
 * Runs of the composed system: started, carried out by this process, waiting, resumed by any process, stopped. What a
 * run did stands in the session's ledger; its row says how it stands and which living process has it.
 */
export class Runs {
  readonly #context: RunsContext;
  readonly #agents = new Map<string, Agent>();
  readonly #carried: CarriedRuns;
  readonly #taking = new Map<string, Promise<RunHandle>>();

  readonly #waiting: WaitingRuns;
  readonly #supervised: SupervisedRuns;

  constructor(context: RunsContext) {
    this.#context = context;
    const { store } = context.calls;
    this.#waiting = new WaitingRuns({
      store,
      resume: (principal, runId, listener) => this.resume(principal, runId, listener),
      get: (principal, runId) => this.get(principal, runId),
      knows: (agent) => this.#agents.has(agent),
      isElsewhere,
      isCarried: (runId) => this.running(runId) !== undefined,
      isSupervised: (run) => this.#supervised.isOpen(run),
    });
    this.#carried = new CarriedRuns(context, {
      carryOutChild: (parent, asked) => this.#carryOutChild(parent, asked),
      hasStood: (run) => this.#wakeParent(run),
      supervise: (driving) => this.#supervised.carryOn(driving),
    });
    this.#supervised = new SupervisedRuns(context, this.#carried, (run, listener, adopt) =>
      this.#takeUp(run, listener, adopt),
    );
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

  /** Whether an agent that is known to this process may call a tool. */
  mayCall(tool: string): boolean {
    return [...this.#agents.values()].some(({ allowed }) => allowed.has(tool));
  }

  /**
   * Begins a run: its session (unless one is named), the turn with the user's request, and its record, in one commit;
   * then carries it on. Throws SESSION_NOT_FOUND, BRANCH_NOT_FOUND, PROJECT_NOT_FOUND, SESSION_QUARANTINED,
   * SESSION_REVERTING, INVALID_VALUE, INSTANCE_ENDED.
   */
  async start(principal: Principal, agentName: string, start: StartRun): Promise<RunHandle> {
    this.#requireOpen();
    const agent = this.#agent(agentName);
    const begun = await comingBack(this.#context, () =>
      beginRun(this.#context, principal, agent, start, this.#carried.askPen),
    );
    return this.#carried.carry(principal, begun, agent, start.listener ?? NOBODY);
  }

  /**
   * Carries a run on that waits, was interrupted, or failed; what is unknown in it is asked about first. A run that
   * still waits for a decision stands as before afterwards, and one of which a record is damaged, or of a run below that
   * it waits for, is not taken. It goes on as it was frozen when it began, or with `adopt` as its agent is defined now.
   * Throws RUN_NOT_FOUND, RUN_ENDED, RUN_BUSY, RUN_DAMAGED, RUN_BRANCH_UNKNOWN, AGENT_UNKNOWN, INSTANCE_ENDED, and as
   * `thawAgent`.
   */
  async resume(
    principal: Principal,
    runId: string,
    listener: RunListener = NOBODY,
    { adopt = false }: ResumeOptions = {},
  ): Promise<RunHandle> {
    const here = this.running(runId);
    const shared = this.#taking.get(runId);
    // Whoever finds it under way sees it as whoever takes it does: it is theirs, or there is none.
    if (here ?? shared) {
      await this.get(principal, runId);
      // What is under way goes on as it was taken.
      if (adopt) throw runBusy(runId);
    }
    if (here) return { runId, ended: here };
    if (shared) return shared;
    this.#requireOpen();
    // Two of this process that resume at once share one taking: the row would let the same instance take it twice.
    const taking = comingBack(this.#context, () => this.#take(principal, runId, listener, adopt));
    this.#taking.set(runId, taking);
    try {
      return await taking;
    } finally {
      this.#taking.delete(runId);
    }
  }

  async #take(principal: Principal, runId: string, listener: RunListener, adopt: boolean): Promise<RunHandle> {
    const { store, clock } = this.#context.calls;
    const { instanceId: owner } = this.#context;
    const run = await this.get(principal, runId);
    // Such as the run of a guard, whose agent is defined nowhere.
    if (
      !this.#agents.has(run.agent) &&
      (run.state.status === 'stopped' || (await isModelless(this.#context.calls, run)))
    )
      throw notTaken(run);
    await requireAbove(this.#context.calls, run);
    await this.#supervised.requireOpen(run);
    await requireTakeable(this.#context.calls, run, owner);
    await requireKnownBranch(this.#context, run);
    const agent = agentFor(run, this.#agent(run.agent));
    if (await this.#supervised.isOpen(run)) return this.#carried.carryOver(run, agent, listener, adopt);
    if (!adopt) thawAgent(run, agent);
    const taken = await store.write('runs.take', async (tx) => {
      if (!(await takeRun(tx, run, owner, clock.nowMs()))) return null;
      if (!run.parent) await this.#context.supervision?.begun(tx, run);
      const to = { context: freezeAgent(agent, run.context), model: agent.model.id };
      if (adopt) await adoptConfig(tx, run, owner, to);
      return { runId, ticket: await this.#carried.askPen(tx, run.principal, run.place.rootFrameId, owner), owner };
    });
    if (!taken) throw notTaken(await this.get(principal, runId));
    return this.#carried.carry(run.principal, taken, agent, listener);
  }

  /**
   * Waits for the decisions that a run needs, in whatever process they are made, and carries it on each time nothing of
   * it or below it waits any more; `ended` settles when it has ended. The process stays alive meanwhile; where it is
   * closed before that, `ended` never settles.
   */
  async whenDecided(principal: Principal, runId: string, listener: RunListener = NOBODY): Promise<RunHandle> {
    const run = await this.get(principal, runId);
    this.#agent(run.agent);
    return { runId, ended: this.#waiting.wait(principal, runId, listener) };
  }

  /**
   * From now until it closes, this process carries on every run of its agents once nothing of it waits any more,
   * whoever decides and in whatever process; first those that were decided before, at most `runsCarriedOnAtOnce` at a
   * time and in that order. Each is carried on as its own principal. Keeps no process alive. Throws what the store throws; what a single run meets goes to `onError`.
   */
  carryOnDecided(options: CarryOnOptions = {}): Promise<void> {
    return this.#waiting.follow(options);
  }

  /** Whether this process carries decided runs on by itself: somebody called `carryOnDecided`. */
  get isFollowing(): boolean {
    return this.#waiting.isFollowing;
  }

  /**
   * Writes down a side branch of a run that nobody carries out; whoever resumes the run gives it its turns before the
   * main line's next. Answers its id. Throws RUN_NOT_FOUND, RUN_ENDED, RUN_BUSY, RUN_DAMAGED, RUN_BRANCH_UNKNOWN,
   * INVALID_VALUE.
   */
  async openSideBranch(principal: Principal, runId: string, branch: OpenSideBranch): Promise<string> {
    await requireSound(this.#context.calls, await this.get(principal, runId));
    return openSideBranch(this.#context, principal, runId, branch);
  }

  /** The goal tree beside a run; null where none was given. RUN_NOT_FOUND. */
  goals(principal: Principal, runId: string): Promise<GoalTree | null> {
    return this.#context.calls.store.read('runs.goals', (tx) => findRunGoals(tx, principal, runId));
  }

  /**
   * Puts a goal tree beside a run, in place of the one before. RUN_NOT_FOUND, RUN_ENDED, RUN_DAMAGED,
   * TRACE_RECORD_INVALID.
   */
  async setGoals(principal: Principal, runId: string, tree: GoalTree): Promise<void> {
    const { store, clock } = this.#context.calls;
    await requireSound(this.#context.calls, await this.get(principal, runId));
    return store.write('runs.goals', (tx) => putRunGoals(tx, clock, principal, runId, tree));
  }

  /**
   * Stops a run and every run below it: what waits is cancelled, nothing more is started; what had started is unknown
   * until it is known. A run of another living process is asked to stop and does so at its next step. A guard's run
   * that recovery stopped is kept as one to stop, so that a guard that only slept begins nothing more. One that recovery
   * left as it is, since a record of it is damaged, is RUN_DAMAGED; below another run it is passed over.
   */
  async stop(principal: Principal, runId: string): Promise<RunRecord> {
    const { ended } = await this.askStop(principal, runId);
    return ended;
  }

  /** The same, settled once it is written down that the run is to stop; `ended` is how it stands when it has. */
  async askStop(principal: Principal, runId: string): Promise<RunHandle> {
    await requireSound(this.#context.calls, await this.get(principal, runId));
    for (const asked of await stopTree(this.#context, principal, runId)) this.#carried.stop(asked);
    this.#carried.stop(runId);
    const here = this.running(runId);
    return { runId, ended: here ? this.#stoppedHere(principal, runId, here) : this.#stopped(principal, runId) };
  }

  async #stoppedHere(principal: Principal, runId: string, ended: Promise<RunRecord>): Promise<RunRecord> {
    return (await ended.catch(whereTaken)) ?? this.#stopped(principal, runId);
  }

  async #stopped(principal: Principal, runId: string): Promise<RunRecord> {
    const run = await this.get(principal, runId);
    await this.#supervised.stop(run, () => this.#agent(run.agent));
    return this.get(principal, runId);
  }

  /**
   * Lets a run that this process carries out begin nothing more, from this moment on; `stop` is what writes it down. For
   * the host itself: it asks nobody whose run that is.
   */
  holdHere(runId: string): void {
    this.#carried.stop(runId);
  }

  get(principal: Principal, runId: string): Promise<RunRecord> {
    return this.#context.calls.store.read('runs.get', (tx) => requireRun(tx, principal, runId));
  }

  list(principal: Principal, query: { readonly before?: string; readonly limit: number }): Promise<RunPage> {
    return this.#context.calls.store.read('runs.list', (tx) => listRuns(tx, principal, query));
  }

  /** The run and every run below it, the oldest first. RUN_NOT_FOUND. */
  async tree(principal: Principal, runId: string): Promise<readonly RunRecord[]> {
    const tree = await this.#context.calls.store.read('runs.tree', (tx) => runTree(tx, principal, runId));
    // A tree has its own run at least; where there is none, this says so as everything does.
    return tree.length > 0 ? tree : [await this.get(principal, runId)];
  }

  /** The run's end as this process sees it, while it carries it out; undefined otherwise. */
  running(runId: string): Promise<RunRecord> | undefined {
    return this.#carried.ended(runId);
  }

  /** The runs that this process carries out now. */
  carriedHere(): readonly string[] {
    return this.#carried.ids();
  }

  /**
   * Lets go of runs whose process is dead: one that was interrupted in a call becomes `failed` with an unknown
   * outcome, one whose reply waits goes back to waiting, any other can be resumed. Runs nothing. Answers their ids.
   */
  async reconcile(): Promise<readonly string[]> {
    return (await this.recover()).released;
  }

  /** As `reconcile`; answers also which runs were left as they are, because a record that they rest on is damaged. */
  recover(): Promise<Released> {
    return releaseOrphans(this.#context);
  }

  /** As `recover`, for a process that stays: whatever it has itself is left to it, though it may have slept. */
  recoverOthers(): Promise<Released> {
    const { instanceId } = this.#context;
    return releaseOrphans(this.#context, ({ runId, state }) => {
      return (state.status === 'running' && state.ownerInstanceId === instanceId) || this.running(runId) !== undefined;
    });
  }

  /** What keeps a run whose process is dead from being let go of; null where nothing does. */
  damageOf(run: RunRecord): Promise<Damage | null> {
    return damageOfOrphan(this.#context.calls, run);
  }

  /**
   * Lets go of every run of this process, as soon as it can be: nothing begins any more, a model is broken off, and a call
   * that is under way may answer for `closeWaitMs` before it is cancelled. Whoever resumes the run goes on. What a
   * supervisor does about a run is stopped. Never throws; once more waits for the same.
   */
  async close(): Promise<void> {
    this.#waiting.close();
    await this.#carried.close(this.#context.closeWaitMs);
  }

  #requireOpen(): void {
    if (this.#carried.isClosing)
      throw fail('INSTANCE_ENDED', 'This process is being closed: it begins no run and carries none on.');
  }

  #agent(name: string): Agent {
    const agent = this.#agents.get(name);
    if (!agent) throw fail('AGENT_UNKNOWN', 'The agent of this run is not defined in this process.');
    return agent;
  }

  /** A run below another was carried on by itself and has ended: what waits for it goes on where it can here. */
  async #wakeParent(run: RunRecord): Promise<void> {
    const { principal, parent } = run;
    if (!parent || !hasEnded(run) || this.#carried.isClosing) return;
    try {
      const above = await this.get(principal, parent.runId);
      const waits = above.state.status === 'waiting_confirmation' || isFollowUp(run);
      if (waits && this.#agents.has(above.agent)) await this.#takeUp(above, {});
    } catch (error) {
      // What cannot be taken up is left as it is, and told to whoever resumes that one; this run has ended all the same.
      if (!(error instanceof HoldfastError) || !LEFT_AS_IT_IS.has(error.code)) throw error;
    }
  }

  /** Begins the child run of a call or takes it up, and carries it on as long as its parent is; null where that is to stop. */
  async #carryOutChild(parent: Driving, asked: ChildCall): Promise<RunRecord | null> {
    const { principal } = parent.run;
    const agent = this.#agent(asked.agent);
    const found = await comingBack(this.#context, () =>
      beginChild(this.#context, parent, agent, asked, this.#carried.askPen),
    );
    if (found === null) {
      parent.stopNow();
      return null;
    }
    const { child, begun } = found;
    const { runId } = child;
    if (begun === null && !mayGoOn(child)) return child;
    const listener = parent.listener.onChild?.({ runId, agent: agent.name }) ?? {};
    const handle = begun ? this.#carried.carry(principal, begun, agent, listener) : await this.#takeUp(child, listener);
    return handle ? this.#carried.endedWith(parent, handle) : this.get(principal, runId);
  }

  /** Null where another living process has the run. */
  async #takeUp({ principal, runId }: RunRecord, listener: RunListener, adopt = false): Promise<RunHandle | null> {
    try {
      return await this.resume(principal, runId, listener, { adopt });
    } catch (error) {
      if (isElsewhere(error)) return null;
      throw error;
    }
  }
}

/** Why a run is not taken up that stands as before: its records, or an agent that is another one now. */
const LEFT_AS_IT_IS: ReadonlySet<string> = new Set([
  'RUN_DAMAGED',
  'RUN_RECORD_BROKEN',
  'RUN_SNAPSHOT_CORRUPT',
  'RUN_SNAPSHOT_MISSING',
  'RUN_SNAPSHOT_NEWER',
  'RUN_CONFIG_CHANGED',
  'RUN_CONFIG_INVALID',
  'RUN_BRANCH_UNKNOWN',
]);

function hasEnded({ state: { status } }: RunRecord): boolean {
  return status === 'completed' || status === 'failed' || status === 'stopped';
}

/** Whether a child run that is there already is carried on by its parent: one that failed for good is not. */
function mayGoOn({ state }: RunRecord): boolean {
  if (state.status === 'failed') return state.code === 'OUTCOME_UNKNOWN';
  return state.status === 'running' || state.status === 'waiting_confirmation';
}

/** One that is no longer this process's, which slept: how it stands is what is stored. */
function whereTaken(error: unknown): null {
  if (error instanceof HoldfastError && error.code === 'RUN_NOT_OWNED') return null;
  throw error;
}

function notTaken(run: RunRecord): Error {
  if (run.state.status === 'running') return runBusy(run.runId);
  return fail('RUN_ENDED', `The run is ${run.state.status}.`);
}
