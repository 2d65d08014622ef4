import type { Clock } from '../../core/index.ts';
import type { Model, ModelUsage } from '../../models/index.ts';
import type { AllowedTools, ToolPrincipal, ToolProgress, ToolRegistry } from '../../tools/index.ts';
import type { RunConfig } from '../config/model.ts';
import type { CutReason } from '../cut-reply.ts';
import type { SideBranchKind } from '../side-branch/model.ts';
import type { TraceStatus } from '../trace/model.ts';
import type { Conversation } from './conversation.ts';
import type { RunHome } from './home.ts';

/** What the loop needs of the world; made once for a runner. */
export interface AgentContext {
  readonly home: RunHome;
  readonly tools: ToolRegistry;
  readonly model: Model;
  readonly principal: ToolPrincipal;
  readonly clock: Clock;
  readonly sideBranches: ReadonlyMap<string, SideBranchKind>;
  readonly pageUrl: (traceId: string) => string | undefined;
  /** Millionths of the host's currency for a turn; null where the host sets no prices. */
  readonly costOf: ((usage: ModelUsage) => number) | null;
  readonly onProgress: (traceId: string, callId: string, update: ToolProgress) => void;
}

/** One run that this process carries out now. */
export interface Driving {
  readonly context: AgentContext;
  readonly traceId: string;
  readonly config: RunConfig;
  readonly allowed: AllowedTools;
  readonly conversation: Conversation;
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal;
}

/** What carrying out the calls of one reply came to. */
export type GroupEnd =
  /** Every call has its result. */
  | { readonly end: 'answered' }
  /** A person has to decide. */
  | { readonly end: 'waiting' }
  /** A call's outcome is unknown; those behind it were not started. */
  | { readonly end: 'unknown'; readonly reason: string }
  | { readonly end: 'stopped' };

/** How a run stands when this process leaves it. */
export interface RunResult {
  readonly traceId: string;
  readonly status: TraceStatus;
  /** The last reply of a completed run. */
  readonly text: string | null;
  /** Why that reply ended, where it did not come to its end by itself: its text may not be whole. Null otherwise. */
  readonly cut: CutReason | null;
  readonly errorMessage: string | null;
}

/** Whether the run is to stop: asked here, or by another process, which sets the stored status. */
export async function isStopped({ context, signal, traceId }: Driving): Promise<boolean> {
  if (signal.aborted) return true;
  return (await context.home.traces.getTrace(traceId))?.status === 'stopped';
}

/** Writes down how the run stands. A run that was stopped stays so, unless something in it is unknown. */
export async function standAt(
  { context, conversation, traceId }: Driving,
  status: TraceStatus,
  told: { readonly text?: string; readonly cut?: CutReason | null; readonly errorMessage?: string } = {},
): Promise<RunResult> {
  const errorMessage = told.errorMessage ?? null;
  const headSequence = conversation.head;
  const trace = await context.home.traces.updateTrace(traceId, (now) =>
    now.status === 'stopped' && status !== 'failed' ? { headSequence } : { status, errorMessage, headSequence },
  );
  const { text = null, cut = null } = trace.status === 'completed' ? told : {};
  return { traceId, status: trace.status, text, cut, errorMessage: trace.errorMessage };
}
