import type { JsonObject, JsonValue } from '../../core/index.ts';

/** Settings of a memory that the host keeps. Carried and digested with a run, not interpreted here. */
export interface MemorySettings {
  readonly basePath: string;
  /** What each file, or each file that fits a pattern, is for. */
  readonly files: Readonly<Record<string, string>>;
  readonly dreamPrompt: string;
  readonly reflectPrompt: string;
}

/** What a run may spend in all; null sets no bound. */
export interface RunBudgets {
  /** Input and output tokens of all turns, as the provider counted them. */
  readonly maxTokens: number | null;
  /** Millionths of the host's currency, by the host's own price function. */
  readonly maxCostMicros: number | null;
  /** From the creation of the run, waiting included. */
  readonly maxWallMs: number | null;
}

/** The part of a run's configuration that is frozen with its first turn. */
export interface FrozenRunConfig {
  readonly model: string;
  readonly temperature: number | null;
  /** Turns of the main line in one go; side branches have their own budget. */
  readonly maxIterations: number;
  /** Where it is not empty, exactly these tools, and groups do not count. */
  readonly tools: readonly string[];
  readonly toolGroups: readonly string[];
  readonly excludeTools: readonly string[];
  /** False: every call waits for a person. */
  readonly autoExecuteTools: boolean;
  readonly agentType: string;
  readonly uid: string | null;
  readonly parallelToolExecution: boolean;
  readonly childExecutionMode: 'sequential' | 'parallel';
  readonly maxParallelChildren: number;
  /** Turns of a side branch that sets no budget of its own. */
  readonly sideBranchMaxTurns: number;
  readonly enablePromptCaching: boolean;
  readonly extraLlmParams: JsonObject;
  /** Carried and digested, not interpreted; so are the next six. */
  readonly skills: readonly string[];
  readonly enableMemory: boolean;
  readonly memory: MemorySettings | null;
  readonly knowledge: JsonObject;
  readonly goalCompression: string;
  readonly enableResearchFlow: boolean;
  /** Which program, in which version, made the run. */
  readonly applicationRef: string | null;
  readonly budgets: RunBudgets;
}

/** A whole run configuration: what is frozen, and what belongs to one run. */
export interface RunConfig extends FrozenRunConfig {
  /** The trace to go on with, or the id for a new one; null lets one be made. */
  readonly traceId: string | null;
  readonly systemPrompt: string | null;
  /** The host's own data about the run; `project_name` names the project whose loader supplies the runner. */
  readonly context: JsonObject;
}

export const SNAPSHOT_VERSIONS = [1, 2] as const;
export type SnapshotVersion = (typeof SNAPSHOT_VERSIONS)[number];

/** A frozen, digested copy of a run configuration. See `docs/runs/config-versions.md`. */
export interface RunConfigSnapshot {
  readonly schemaVersion: SnapshotVersion;
  readonly config: FrozenRunConfig;
  readonly projectName: string | null;
  /** What `memoryIdentity` gave for the memory settings; null where there is no memory. */
  readonly memoryIdentity: JsonValue;
  /** SHA-256 of the system prompt; null until the run builds its history for the first time. */
  readonly systemPromptHash: string | null;
  /** True where the snapshot was made afterwards, for a run older than snapshots. */
  readonly legacyInferred: boolean;
  /** SHA-256 over the canonical JSON of the whole document without this field. */
  readonly snapshotHash: string;
}
