import type { ApproverRule, PolicySet } from '../approvals/index.ts';
import {
  checkOptions,
  type Clock,
  type FaultPoints,
  guardClock,
  type Ids,
  systemClock,
  type Telemetry,
} from '../core/index.ts';
import { type AutonomyTerms, supervisionTerms } from '../autonomy/index.ts';
import type { Model, ModelLike, ModelSettings, ModelUsage } from '../models/index.ts';
import type {
  CarryOnOptions,
  DamagedRun,
  ModelRetries,
  RunBudgets,
  RunListener,
  SideBranchKind,
} from '../runs/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { StoreObserver } from '../store/index.ts';
import type { Tool } from '../tools/index.ts';
import { AgentHandle } from './agent.ts';
import { agentOf } from './agent-definition.ts';
import type { NoticeOptions } from './notices/notices.ts';
import { CARRY_ON_OPTIONS, OPEN_OPTIONS } from './option-shapes.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { StandingRules } from './standing-rules.ts';

/** How a runtime is opened. Everything has a default but nothing is read from the environment. */
export interface HoldfastOptions {
  /** Where everything is kept; made if it is missing. Default `.holdfast` in the working folder. */
  readonly dataDir?: string;
  /** Whether a missing data folder is made. Default true; without it, missing is DATA_FOLDER_MISSING. */
  readonly create?: boolean;
  /** Whose runtime this is. Default: tenant `local`, subject `owner`, roles `approver`. */
  readonly principal?: Principal;
  /** The project of new sessions. Default `default`; made if it is missing. */
  readonly projectId?: string;
  /** Plain functions that allow, ask about or deny calls. What nothing matches waits for a person. */
  readonly policies?: PolicySet;
  /** Who may decide what waits. Default: the role `approver`, the owner of the run included. */
  readonly approver?: ApproverRule;
  /** How long a permission request waits: 1 to 315,360,000,000 (ten years). Milliseconds; null: for ever. Default 24 hours. */
  readonly approvalExpiresMs?: number | null;
  /** Who is told that an approval waits: a signed webhook, a program. Default: nobody. */
  readonly notices?: NoticeOptions;
  /** Kinds of side branches beside those that there are; `onClosed` hears what one came to, at least once. */
  readonly sideBranches?: readonly SideBranchKind[];
  /** Tools that runs of this process may meet besides its agents' own, retired revisions among them. */
  readonly tools?: readonly Tool[];
  readonly retiredTools?: readonly Tool[];
  /** The folder that a session works in, which checkpoints capture; null where only what was bound to it counts. */
  readonly workspaceOf?: (rootFrameId: string) => string | null;
  /** Variables whose secrets must never be in a package, whatever they look like. Default: `process.env`. */
  readonly secretsIn?: Readonly<Record<string, string | undefined>>;
  /** Who is told what happens and how long it takes: `await openTelemetry()`. Default: nobody. */
  readonly telemetry?: Telemetry;
  /** Hears of each run of a dead process that is left exactly as it is stored, since a record of it is damaged. */
  readonly onDamage?: (run: DamagedRun) => void;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly observer?: StoreObserver;
  /** Named fault points, for test harnesses. */
  readonly faults?: FaultPoints;
  /** How long this process counts as living after its last sign of life. Milliseconds, default 10,000. */
  readonly instanceLeaseMs?: number;
  /**
   * How long `close` lets tool calls that are under way end before it cancels them: 0 to 600,000. Milliseconds, default
   * 8,000.
   */
  readonly closeWaitMs?: number;
  /**
   * Whether, after this process was taken for dead (its machine slept, it was stopped), the next run that is begun or
   * carried on is so under a new id. Default true. With false that is INSTANCE_ENDED for good, for a host that closes and
   * opens anew when `runtime.lost` tells it.
   */
  readonly comesBack?: boolean;
}

/** An agent: a model with instructions and the tools it may call, exactly these. */
export interface AgentOptions {
  /** Stable: a run is resumed under the agent of this name. Default `agent`. */
  readonly name?: string;
  /** An AI SDK language model, a function, or a `Model`. */
  readonly model: ModelLike | Model;
  readonly tools?: readonly Tool[];
  readonly instructions?: string;
  readonly settings?: ModelSettings;
  /** Model turns of one run, 1 to 1,000. Default 50. */
  readonly maxTurns?: number;
  /** Every call waits for a person, whatever its tool says. */
  readonly askForEach?: boolean;
  /** What one run may spend in all, its child runs included. Default: no bound. */
  readonly budgets?: Partial<RunBudgets>;
  /** Millionths of your currency for one reply; needed for `budgets.maxCostMicros`. */
  readonly costOf?: (usage: ModelUsage) => number;
  /** How often a failing model is asked again, 0 to 10, and the first pause. Default 3 times from 500 ms. */
  readonly retries?: Partial<ModelRetries>;
  /** Agents to which this one may give tasks, each by a tool `ask_<name>`. */
  readonly children?: readonly AgentHandle[];
  /** Whether child runs that one reply asks for run side by side. Default `sequential`. */
  readonly childMode?: 'sequential' | 'parallel';
  /** Side by side at most, 1 to 16. Default 4. */
  readonly maxParallelChildren?: number;
  /** Turns of a side branch that is opened without a budget, 1 to 1,000. Default 5. */
  readonly sideBranchMaxTurns?: number;
  /** Before a turn longer than this, in estimated tokens, history is compacted. Default: never. */
  readonly compactAboveTokens?: number;
  /** What the agent is for, as an agent that may ask it is told. */
  readonly purpose?: string;
  /** When its runs make a checkpoint by themselves. Default `never`. */
  readonly checkpoints?: 'never' | 'before_writes';
  /** Has what its runs come to reviewed by another model, repaired within budgets, and verified or handed back. */
  readonly autonomy?: AutonomyTerms;
  readonly listener?: RunListener;
}

/**
 * A runtime on one data folder. Several processes may have the same folder open. Close it, or declare it with
 * `await using` on Node 24: its runs are then let go of.
 */
export class Holdfast {
  readonly runtime: Runtime;
  /** Standing rules: what is allowed, asked about or denied from now on, in a session, a project, or everywhere. */
  readonly rules: StandingRules;

  private constructor(runtime: Runtime) {
    this.runtime = runtime;
    this.rules = new StandingRules(runtime);
  }

  /**
   * Opens the data folder, makes its tables, and lets go of what dead processes left: interrupted calls are marked as
   * unknown, nothing is run. A run of which a record is damaged is left as it is and told (`onDamage`, `holdfast audit`);
   * it keeps nobody from opening. Throws INVALID_VALUE for an option of a wrong shape, by its name and before anything is
   * made, and the codes of the data folder and of the store.
   */
  static async open(options: HoldfastOptions = {}): Promise<Holdfast> {
    checkOptions('Holdfast.open', options, OPEN_OPTIONS);
    const clock = guardClock(options.clock ?? systemClock);
    return new Holdfast(await openRuntime({ ...options, clock }));
  }

  /**
   * Defines an agent and registers its tools. Throws AGENT_EXISTS, TOOL_EXISTS, INVALID_VALUE, and AUTO_SELF_REVIEW for
   * a reviewer that is the agent itself: its profile id, or its model and settings under the same prompt.
   */
  agent(options: AgentOptions): AgentHandle {
    const agent = agentOf(options);
    const terms = options.autonomy ? supervisionTerms(options.autonomy, agent) : null;
    const { tools = [], children = [], listener = {} } = options;
    for (const tool of tools) this.runtime.tools.register(tool);
    for (const child of children) this.runtime.tools.register(child.asTool);
    this.runtime.runs.define(agent);
    if (terms) this.runtime.supervisor.supervise(agent.name, terms);
    return new AgentHandle(this.runtime, agent.name, listener, options.purpose);
  }

  /**
   * From now until it closes, carries on every run of the agents that are defined here once it is decided, whoever
   * decides and in whatever process; first those that were decided before, at most 32 at once, in that order. For a
   * process that stays, such as a server. With `comesBack` false, once this process was taken for dead (`runtime.lost`),
   * `onError` hears INSTANCE_ENDED of each, and the run is left to the others.
   */
  async carryOnDecided(options: CarryOnOptions = {}): Promise<void> {
    checkOptions('carryOnDecided', options, CARRY_ON_OPTIONS);
    return this.runtime.runs.carryOnDecided(options);
  }

  /**
   * Lets go of the runs of this process and closes the store. Nothing more begins: a run is refused (INSTANCE_ENDED), a
   * model is broken off. Tool calls that are under way may end, for `closeWaitMs` at most, and what they answer is kept;
   * what is still under way then is cancelled, and unknown until it is known. A run of which nothing is unknown is
   * interrupted: whoever resumes it goes on, and nothing that was carried out is so again.
   */
  close(): Promise<void> {
    return this.runtime.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
