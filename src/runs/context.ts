import type { CallListener, CallOutcome, CallsContext, CallStanding } from '../calls/index.ts';
import type { Filesystem } from '../effects/index.ts';
import type { Model, ModelSettings, ModelUsage } from '../models/index.ts';
import type { AllowedTools } from '../tools/index.ts';
import type { RunBudgets } from './config/model.ts';
import type { ChildCall, RunRecord } from './model.ts';
import type { SideBranchKind } from './side-branch/model.ts';
import type { Supervision } from './supervision.ts';

/** What the functions of this room need of the world; made once, in the composition root. */
export interface RunsContext {
  readonly calls: CallsContext;
  /** This process in `instances` now: what owns the runs that it begins and takes. See `comeBack`. */
  readonly instanceId: string;
  /**
   * Goes on under a new id where this process was taken for dead under the one given, or throws INSTANCE_ENDED where it is
   * to stay so. Runs that it has keep the id under which they were begun or taken.
   */
  readonly comeBack: (from: string) => Promise<unknown>;
  readonly filesystem: Filesystem;
  /** How long calls that are under way may still answer when the process closes. Milliseconds. */
  readonly closeWaitMs: number;
  /** The kinds of side branches that are known, by their names. */
  readonly sideBranches: ReadonlyMap<string, SideBranchKind>;
  /** Makes a checkpoint of the run's branch and of its session's workspace. */
  readonly checkpoint?: (run: RunRecord) => Promise<void>;
  /** Who supervises runs; nobody where there is none. */
  readonly supervision?: Supervision;
}

/** How often a failing model is asked again, and how long the pauses are. */
export interface ModelRetries {
  /** Asked again at most so often after the first failure. */
  readonly most: number;
  /** The first pause, in milliseconds; each later one is twice as long, up to 30 seconds. */
  readonly pauseMs: number;
}

/** An agent as a run needs it: a model, what it may call, and its bounds. */
export interface Agent {
  readonly name: string;
  readonly model: Model;
  readonly instructions: string | null;
  readonly allowed: AllowedTools;
  readonly settings?: ModelSettings;
  /** Model turns of one run, at most. */
  readonly maxTurns: number;
  /** Every call waits for a person, whatever its tool says. */
  readonly askForEach: boolean;
  /** What a run may spend, its child runs included. */
  readonly budgets: RunBudgets;
  /** Millionths of the host's currency for one reply; needed where `maxCostMicros` is set. */
  readonly costOf: ((usage: ModelUsage) => number) | null;
  readonly retries: ModelRetries;
  /** Tools that begin a run of another agent, each with that agent's name. */
  readonly children: ReadonlyMap<string, string>;
  readonly childMode: 'sequential' | 'parallel';
  readonly maxParallelChildren: number;
  /** Turns of a side branch that is opened without a budget of its own. */
  readonly sideBranchMaxTurns: number;
  /** History is compacted before a turn that would be longer than this, in estimated tokens; null: never. */
  readonly compactAboveTokens: number | null;
  /** `before_writes`: a checkpoint is made before each reply's writing calls; no checkpoint, no call. */
  readonly checkpoints?: 'never' | 'before_writes';
}

/** What a host may hear of a run while it goes on. */
export interface RunListener extends CallListener {
  onText?(text: string): void;
  onProposed?(standing: CallStanding): void;
  onStarted?(callId: string, toolName: string): void;
  onOutcome?(callId: string, toolName: string, outcome: CallOutcome): void;
  /** The model failed and is asked again after a pause: text that came of the failed turn does not count. */
  onRetry?(attempt: number, pauseMs: number): void;
  /** The agent is defined otherwise than when the run began, in these fields; the run goes on as it began. */
  onChanged?(fields: readonly string[]): void;
  /** A child run begins or goes on; answers who listens to it. */
  onChild?(child: { readonly runId: string; readonly agent: string }): RunListener;
}

/**
 * Carries out the run of another agent for a call, and answers how it then stands; null where none is carried out, since
 * the run that makes the call is to stop. Given by the service.
 */
export type CarryOutChild = (parent: Driving, asked: ChildCall) => Promise<RunRecord | null>;

/** One run that this process carries out now. */
export interface Driving {
  readonly run: RunRecord;
  /** The id of this process under which it has the run. */
  readonly owner: string;
  /** As the run's frozen configuration has it. */
  readonly agent: Agent;
  /** Aborted when the run is to stop, or its process closes: from then on nothing more of it begins. */
  readonly signal: AbortSignal;
  /** Aborted when calls that are under way are cancelled: with a stop, or once a process that closes has waited for them. */
  readonly underWay: AbortSignal;
  /** For when a stop was read elsewhere than at the watch for it. */
  readonly stopNow: () => void;
  readonly listener: RunListener;
  readonly carryOutChild: CarryOutChild;
  /** Its follow-ups go on under their agent as it is defined now. */
  readonly adopts: boolean;
}
