import { type Clock, fail, type Ids, LIMITS, systemClock, systemIds } from '../../core/index.ts';
import { asModel, type ModelLike, type ModelUsage } from '../../models/index.ts';
import { selectTools, type ToolPrincipal, type ToolProgress, type ToolRegistry } from '../../tools/index.ts';
import type { RunConfig } from '../config/model.ts';
import { type ProjectLoaders, restoreRunner } from '../config/projects.ts';
import { ownSnapshot, prepareTrace } from '../config/resume.ts';
import { memoryIdentity, snapshotOf, withSnapshot } from '../config/snapshot.ts';
import { SIDE_BRANCH_KINDS, type SideBranchKind } from '../side-branch/model.ts';
import type { Trace } from '../trace/model.ts';
import type { RunHold } from '../trace/run-holds.ts';
import { takeUpReply } from './calls-of-reply.ts';
import { Conversation } from './conversation.ts';
import { type CallDecision, decideCalls } from './decide.ts';
import type { AgentContext, Driving, RunResult } from './driving.ts';
import type { RunHome } from './home.ts';
import { drive, standFor } from './loop.ts';
import { type NewSideBranch, openBranch } from './open-side-branch.ts';
import { reconcileTraces, type ReconcileReport } from './reconcile.ts';
import { RunningRuns } from './running.ts';
import { isEnded, stopStored } from './stop.ts';

export interface AgentRunnerOptions {
  readonly home: RunHome;
  readonly tools: ToolRegistry;
  /** A plain async function, an AI SDK model, or a model of Holdfast. */
  readonly model: ModelLike;
  /** For whom tools are called. The local owner unless told. */
  readonly principal?: ToolPrincipal;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** The page that a run is on, for tools that are bound to pages. */
  readonly pageUrl?: (traceId: string) => string | undefined;
  readonly projects?: ProjectLoaders<AgentRunner>;
  readonly sideBranches?: readonly SideBranchKind[];
  /** Millionths of the host's currency for one turn; needed for a budget of cost. */
  readonly costOf?: (usage: ModelUsage) => number;
  readonly onProgress?: (traceId: string, callId: string, update: ToolProgress) => void;
  /** Is told of errors that ended a run in the background; the run itself can be taken up again. */
  readonly onError?: (traceId: string, error: unknown) => void;
}

/** What a user says to a run. */
export interface RunMessage {
  readonly role: 'user';
  readonly content: string;
}

const LOCAL: ToolPrincipal = Object.freeze({ tenant: 'local', subject: 'owner', roles: Object.freeze([]) });

/**
 * Carries out runs that lie in a home of their own, such as the file home: for whoever embeds runs alone and for runs
 * that do not write. An unknown outcome ends such a run; only the composed system can settle one.
 */
export class AgentRunner {
  /** The runs that this process carries out now. */
  readonly running = new RunningRuns();
  readonly #context: AgentContext;
  readonly #ids: Ids;
  readonly #projects: ProjectLoaders<AgentRunner>;
  readonly #onError: (traceId: string, error: unknown) => void;

  constructor(options: AgentRunnerOptions) {
    const kinds = [...SIDE_BRANCH_KINDS, ...(options.sideBranches ?? [])];
    this.#ids = options.ids ?? systemIds;
    this.#projects = options.projects ?? new Map();
    this.#onError = options.onError ?? (() => undefined);
    this.#context = {
      home: options.home,
      tools: options.tools,
      model: asModel(options.model),
      principal: options.principal ?? LOCAL,
      clock: options.clock ?? systemClock,
      sideBranches: new Map(kinds.map((kind) => [kind.type, kind])),
      pageUrl: options.pageUrl ?? (() => undefined),
      costOf: options.costOf ?? null,
      onProgress: options.onProgress ?? (() => undefined),
    };
  }

  /**
   * Starts a run, or goes on with the one that `config.traceId` names, until it waits or ends. A run that is there keeps
   * the settings it began with. Throws `RUN_WAITING`, `RUN_BUSY`, `RUN_ENDED`, `RUN_OUTCOME_UNKNOWN`, and as
   * `prepareTrace`.
   */
  async run(messages: readonly RunMessage[], config: RunConfig): Promise<RunResult> {
    const { trace, own } = await this.#traceFor(messages, config);
    requireOpen(trace);
    if (this.running.has(trace.traceId)) throw busy(trace.traceId);
    return this.running.enter(trace.traceId, (signal) =>
      this.#held(trace.traceId, 0, () => this.#begin(trace.traceId, messages, own, signal)),
    );
  }

  async #traceFor(messages: readonly RunMessage[], config: RunConfig): Promise<{ trace: Trace; own: RunConfig }> {
    const { traces } = this.#context.home;
    const traceId = config.traceId ?? this.#ids.next();
    const known = config.traceId === null ? null : await traces.getTrace(traceId);
    if (known !== null) {
      requireOpen(known);
      const prepared = await prepareTrace(traces, config);
      return { trace: prepared.trace, own: prepared.config };
    }
    selectTools(this.#context.tools, config);
    const identity = config.memory === null ? null : memoryIdentity(config.memory);
    const context = withSnapshot(config.context, snapshotOf(config, { memoryIdentity: identity }));
    const { model, uid } = config;
    const task = messages[0]?.content ?? null;
    const trace = await traces.createTrace({ traceId, mode: 'agent', task, model, uid, context });
    return { trace, own: { ...config, traceId } };
  }

  async #begin(
    traceId: string,
    messages: readonly RunMessage[],
    config: RunConfig,
    signal: AbortSignal,
  ): Promise<RunResult> {
    const { home } = this.#context;
    const driving = await this.#driving(traceId, config, signal);
    const batch = await home.batches.get(traceId);
    if (batch?.status === 'execution_unknown') throw unknownOutcome();
    if (batch?.status === 'pending') {
      await standFor(driving, { end: 'waiting' });
      throw waiting();
    }
    await home.traces.updateTrace(traceId, (now) => {
      if (now.status === 'stopped' || now.status === 'completed') requireUnended(now);
      return { status: 'running', errorMessage: null };
    });
    for (const { role, content } of messages)
      await driving.conversation.add({ role, content, parentSequence: driving.conversation.head });
    return drive(driving);
  }

  async #driving(traceId: string, config: RunConfig, signal: AbortSignal): Promise<Driving> {
    const context = this.#context;
    const conversation = await Conversation.load(traceId, context.home.traces, context.clock);
    return { context, traceId, config, allowed: selectTools(context.tools, config), conversation, signal };
  }

  /**
   * Decides calls that wait, from whichever process. Once none is pending the run goes on in the background, and
   * `running.get(traceId)` can be awaited when this returns. Throws as `decideCalls`, and as `restoreRunner`.
   */
  async decide(
    traceId: string,
    batchId: string,
    decisions: readonly CallDecision[],
  ): Promise<{ readonly status: 'started' | 'waiting_confirmation' }> {
    const { runner, config } = await this.#restore(traceId);
    const batch = await decideCalls(runner.#context, traceId, batchId, decisions);
    if (batch.status === 'pending') return { status: 'waiting_confirmation' };
    this.#start(traceId, runner, config);
    return { status: 'started' };
  }

  /** Stops a run: what waits is cancelled, nothing more is started, and what had started is told as it is. */
  async stop(traceId: string): Promise<{ readonly status: 'stopping' }> {
    const { home } = this.#context;
    const trace = await home.traces.getTrace(traceId);
    if (trace === null) throw fail('TRACE_NOT_FOUND', 'There is no such trace.');
    requireUnended(trace);
    this.running.stop(traceId);
    await this.running.get(traceId);
    await stopStored(this.#context, traceId);
    return { status: 'stopping' };
  }

  /** Goes through all unfinished runs that no living process carries out, and starts those that may go on. */
  reconcile(): Promise<ReconcileReport> {
    return reconcileTraces(
      this.#context,
      (traceId) => this.running.has(traceId),
      async (traceId) => {
        const { runner, config } = await this.#restore(traceId);
        this.#start(traceId, runner, config);
      },
    );
  }

  /**
   * Heals a reply whose calls have no results: what may have started is unknown and never run again
   * (`RUN_OUTCOME_UNKNOWN`), what needs a person waits again (`RUN_WAITING`), anything else is carried out.
   */
  async healOrphanedCalls(traceId: string, config: RunConfig): Promise<void> {
    await ownSnapshot(this.#context.home.traces, traceId, config);
    await this.#held(traceId, 0, async () => {
      const driving = await this.#driving(traceId, config, new AbortController().signal);
      const end = await takeUpReply(driving);
      if (end.end === 'answered') return;
      await standFor(driving, end);
      if (end.end === 'waiting')
        throw fail('RUN_WAITING', 'Calls without a result were restored to persistent approval.');
      if (end.end === 'unknown') throw fail('RUN_OUTCOME_UNKNOWN', `The outcome is unknown: ${end.reason}.`);
      throw fail('RUN_ENDED', 'The run was stopped.');
    });
  }

  /**
   * Opens a side branch of a run that nobody carries out; the next `run` gives it its turns before the main line's.
   * Throws `RUN_BRANCH_UNKNOWN`, `RUN_BUSY` (also while another branch is open), and as `run`.
   */
  async openSideBranch(traceId: string, branch: Omit<NewSideBranch, 'branchId'>, config: RunConfig): Promise<string> {
    const prepared = await prepareTrace(this.#context.home.traces, { ...config, traceId });
    requireOpen(prepared.trace);
    return this.#held(traceId, 0, async () => {
      const driving = await this.#driving(traceId, prepared.config, new AbortController().signal);
      return openBranch(driving, { ...branch, branchId: this.#ids.next() });
    });
  }

  /** Asks every run of this process to stop and waits for them. */
  async close(): Promise<void> {
    await this.running.stopAll();
    await this.#context.home.traces.close();
  }

  async #restore(traceId: string): Promise<{ readonly runner: AgentRunner; readonly config: RunConfig }> {
    const choice = { base: this, projects: this.#projects };
    const restored = await restoreRunner<AgentRunner>(this.#context.home.traces, traceId, choice);
    selectTools(restored.runner.#context.tools, restored.config);
    return restored;
  }

  /** An error leaves the run as it is stored, to be taken up again; whoever awaits the entry sees no throw. */
  #start(traceId: string, runner: AgentRunner, config: RunConfig): void {
    const ended = this.running.enter(traceId, (signal) =>
      runner.#held(traceId, LIMITS.traceLockWaitMs, () => runner.#begin(traceId, [], config, signal)),
    );
    ended.catch((error: unknown) => this.#onError(traceId, error));
  }

  async #held<T>(traceId: string, waitMs: number, body: () => Promise<T>): Promise<T> {
    const hold: RunHold | null = await this.#context.home.holds.acquire(traceId, waitMs);
    if (hold === null) throw busy(traceId);
    try {
      return await body();
    } finally {
      hold.release();
    }
  }
}

function requireUnended(trace: Trace): void {
  if (isEnded(trace)) throw fail('RUN_ENDED', `The run is ${trace.status}.`);
}

/** A failed run may be taken up again, where nothing in it is unknown. */
function requireOpen(trace: Trace): void {
  if (trace.status === 'waiting_confirmation') throw waiting();
  if (trace.status !== 'failed') requireUnended(trace);
}

const waiting = (): Error => fail('RUN_WAITING', 'The run waits for a person to decide its calls.');
const busy = (traceId: string): Error =>
  fail('RUN_BUSY', 'The run is being carried out.', {
    details: { trace_id: traceId },
    resolve: `Wait for whoever carries the run out, or stop it: stop('${traceId}') of a runner`,
  });
const unknownOutcome = (): Error => fail('RUN_OUTCOME_UNKNOWN', 'The outcome of a call of this run is unknown.');
