/** What can be touched. `filesystem`, `owned` and `external` can be read back; the others can only be owned or watched. */
export const RESOURCE_KINDS = [
  'filesystem',
  'process',
  'process_launch',
  'background_job',
  'owned',
  'external',
  'browser_session',
] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

export const FILESYSTEM_SCOPES = ['workspace', 'scratch', 'external', 'private'] as const;
export type FilesystemScope = (typeof FILESYSTEM_SCOPES)[number];

export const PREDICATES = ['exists', 'absent', 'content_sha256', 'content_changed'] as const;
export type Predicate = (typeof PREDICATES)[number];

/** `attempted` is derived (a claim without an outcome) and can never be recorded. */
export const EXECUTIONS = [
  'not_executed',
  'attempted',
  'reported_success',
  'failed',
  'timed_out',
  'cancelled',
  'running',
  'interrupted',
] as const;
export type Execution = (typeof EXECUTIONS)[number];
export type RecordedExecution = Exclude<Execution, 'attempted'>;

export const IMPACTS = ['none', 'possible', 'changed'] as const;
export type Impact = (typeof IMPACTS)[number];

export const CLEANUPS = ['not_applicable', 'verified', 'failed', 'unknown'] as const;
export type Cleanup = (typeof CLEANUPS)[number];

/** How something was seen. What a tool returns is never an observation. */
export const MECHANISMS = [
  'filesystem_read',
  'owned_record_read',
  'remote_readback',
  'process_ownership',
  'job_state',
  'browser_session',
  'execution_receipt',
  'remote_acknowledgement',
] as const;
export type Mechanism = (typeof MECHANISMS)[number];

export const COVERAGES = ['complete', 'partial'] as const;
export type Coverage = (typeof COVERAGES)[number];

export type Freshness = 'fresh' | 'stale' | 'unsettled';

export const VERDICTS = [
  'not_executed',
  'pending',
  'verified',
  'state_observed',
  'unverified',
  'contradicted',
  'failed',
] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The exact identity of one thing: where it is (`location`) and which object was there (`incarnation`). */
export interface ResourceRef {
  readonly kind: ResourceKind;
  readonly role: string;
  readonly location: readonly string[];
  readonly incarnation: string;
  readonly snapshotSha256: string;
}

/** Which tool was called, with what: EFF's OperationRef. `requestId` may be empty. */
export interface ActionRef {
  readonly tool: string;
  readonly action: string;
  readonly inputSha256: string;
  readonly requestId: string;
}

/** A required end state of one claimed resource. `expected` is a digest for the two content predicates, else empty. */
export interface Postcondition {
  readonly target: ResourceRef;
  readonly predicate: Predicate;
  readonly expected: string;
}

/**
 * A statement, made before the tool runs, of what it intends and which resources it may change. An empty `impactScope`
 * means unknown scope: it may touch anything.
 */
export interface EffectClaim {
  readonly effectId: string;
  readonly runId: string;
  readonly actionId: string;
  /** The place in the log's single order, shared by claims, outcomes and observations. */
  readonly sequence: number;
  readonly operation: ActionRef;
  readonly impactScope: readonly ResourceRef[];
  readonly dependencies: readonly ResourceRef[];
  readonly obligations: readonly Postcondition[];
  readonly parentRunId: string;
  readonly external: boolean;
}

export interface OutcomeFacts {
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly outputTruncated: boolean;
  readonly failureKind: string;
  readonly jobState: string;
  readonly remoteAcknowledged: boolean;
  readonly external: boolean;
  readonly mutationAttempted: boolean;
}

/** What the executor reported about one claim. */
export interface EffectOutcome {
  readonly effectId: string;
  readonly sequence: number;
  readonly execution: RecordedExecution;
  readonly impact: Impact;
  readonly facts: OutcomeFacts;
  readonly cleanup: Cleanup;
  readonly executionId: string;
  /** True when recovery wrote it after a restart. */
  readonly replayed: boolean;
}

/** What a reading saw of one exact resource at one time. `exists` is null when that was not seen. */
export interface EffectObservation {
  readonly observationId: string;
  readonly sequence: number;
  readonly resource: ResourceRef;
  readonly mechanism: Mechanism;
  readonly coverage: Coverage;
  readonly sourceActionId: string;
  readonly sourceExecutionId: string;
  readonly exists: boolean | null;
  readonly contentSha256: string;
  readonly evidenceEventId: string;
}

/** The derived answer for one claim. It is worked out each time it is asked and never stored. */
export interface Assessment {
  readonly effectId: string;
  readonly actionId: string;
  readonly execution: Execution;
  readonly impact: Impact | null;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly cleanup: Cleanup;
  readonly observationIds: readonly string[];
  readonly targets: readonly ResourceRef[];
}

/** One record of a log, as a line of the journal or a row of the ledger. */
export type EffectRecord =
  | { readonly type: 'claim'; readonly record: EffectClaim }
  | { readonly type: 'outcome'; readonly record: EffectOutcome }
  | { readonly type: 'observation'; readonly record: EffectObservation };

/** What a caller gives for a claim; the log adds the position. Defaults: empty lists and texts, `external` false. */
export interface ClaimInput {
  readonly effectId: string;
  readonly actionId: string;
  readonly operation: Omit<ActionRef, 'requestId'> & { readonly requestId?: string };
  readonly impactScope?: readonly ResourceRef[];
  readonly dependencies?: readonly ResourceRef[];
  readonly obligations?: readonly PostconditionInput[];
  readonly parentRunId?: string;
  readonly external?: boolean;
  /** Defaults to the log's run: another one only for a nested run that writes into its root run's log. */
  readonly runId?: string;
}

export type PostconditionInput = Omit<Postcondition, 'expected'> & { readonly expected?: string };

export interface OutcomeInput {
  readonly effectId: string;
  readonly execution: RecordedExecution;
  readonly impact: Impact;
  readonly facts?: Partial<OutcomeFacts>;
  readonly cleanup?: Cleanup;
  readonly executionId?: string;
  readonly replayed?: boolean;
}

export interface ObservationInput {
  readonly observationId: string;
  readonly resource: ResourceRef;
  readonly mechanism: Mechanism;
  readonly coverage: Coverage;
  readonly sourceActionId?: string;
  readonly sourceExecutionId?: string;
  readonly exists?: boolean | null;
  readonly contentSha256?: string;
  readonly evidenceEventId?: string;
}
