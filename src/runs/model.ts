import type { JsonObject } from '../core/index.ts';
import type { Principal } from '../sessions/index.ts';

/** Where a run stands on a branch of a session. */
export interface RunPlace {
  readonly projectId: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
}

/** How a run stands. `running` without an owner is one that was interrupted and can be resumed. */
export type RunStatus =
  | { readonly status: 'running'; readonly ownerInstanceId: string | null }
  | { readonly status: 'waiting_confirmation' }
  | { readonly status: 'completed'; readonly text: string; readonly finishedAt: number }
  | { readonly status: 'failed'; readonly code: string; readonly message: string }
  | { readonly status: 'stopped'; readonly finishedAt: number };

/** One execution of an agent on a branch for a turn, as its stored row says. Times are epoch milliseconds. */
export interface RunRecord {
  readonly runId: string;
  readonly principal: Principal;
  readonly place: RunPlace;
  readonly agent: string;
  readonly task: string;
  readonly model: string;
  readonly context: JsonObject;
  /** The run whose call began this one; null for a run of its own. */
  readonly parent: { readonly runId: string; readonly call: string } | null;
  readonly state: RunStatus;
  readonly turnsUsed: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** In the host's currency, by the host's price function; 0 without one. */
  readonly cost: number;
  readonly stopRequested: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A call of a run that is carried out by the run of another agent. */
export interface ChildCall {
  readonly groupId: string;
  readonly callId: string;
  readonly agent: string;
  readonly task: string;
}
