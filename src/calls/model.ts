import type { PermissionRequest } from '../approvals/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { AllowedTools, Tool, ToolProgress } from '../tools/index.ts';
import type { CallOutcome } from './outcome.ts';

/** Where a call is made: the turn of a branch of a session, and the run that makes it. */
export interface CallPlace {
  readonly principal: Principal;
  readonly rootFrameId: string;
  readonly projectId: string;
  readonly branchId: string;
  readonly turnId: string;
  readonly runId: string;
}

/** What a model, or a host of the guard, proposed: a name and the raw text of its arguments. */
export interface ProposedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly argumentsText: string;
}

/** Under what terms proposals are judged. */
export interface ProposalTerms {
  readonly allowed: AllowedTools;
  readonly pageUrl?: string | undefined;
  /** Every call waits for a person, whatever its tool says. */
  readonly askForEach?: boolean;
}

/** A proposal that passed every check that needs no person; what is digested, shown and executed is `argumentsText`. */
export interface PreparedCall {
  readonly callId: string;
  readonly tool: Tool;
  /** Canonical JSON. */
  readonly argumentsText: string;
  readonly argumentsSha256: string;
  /** What the tool is given: the arguments as its schema lets them through. */
  readonly input: unknown;
  /** What the tool's own definition says about this input; null where it says nothing. */
  readonly toolAsks: boolean | null;
  readonly target: string;
  readonly resourceKeys: readonly string[];
  readonly pageUrl: string | null;
}

/** What a proposal came to. */
export type Checked =
  | { readonly kind: 'prepared'; readonly call: PreparedCall }
  | { readonly kind: 'refused'; readonly callId: string; readonly toolName: string; readonly outcome: CallOutcome };

/** Who says that a prepared call may run. */
export type CallAuthority =
  | { readonly by: 'policy'; readonly approver: string }
  | { readonly by: 'request'; readonly requestId: string };

/** Where a call of an action group stands. */
export type CallStanding =
  /** It may run under this authority. */
  | { readonly state: 'ready'; readonly call: PreparedCall; readonly authority: CallAuthority }
  /** A person has to decide. */
  | { readonly state: 'waiting'; readonly call: PreparedCall; readonly request: PermissionRequest }
  /** It has its outcome. */
  | { readonly state: 'ended'; readonly callId: string; readonly toolName: string; readonly outcome: CallOutcome };

/** What a host may hear while a call runs. */
export interface CallListener {
  onProgress?(callId: string, update: ToolProgress): void;
  /** The tool failed and is invoked again after a pause, as it declares; `retry` counts from 1. */
  onCallRetry?(callId: string, toolName: string, retry: number, pauseMs: number): void;
}
