import type { JsonObject } from '../core/index.ts';

/** Who may decide: someone in one of the roles, or one of the subjects. Bound into the request. */
export interface ApproverRule {
  readonly roles: readonly string[];
  readonly subjects: readonly string[];
  /** Whether whoever asked may decide it. Off unless configured. */
  readonly requesterMayDecide: boolean;
}

/** One exact action that waits for a person. None of it ever changes: an edit makes a new one. Times are epoch ms. */
export interface RequestedAction {
  readonly requestId: string;
  readonly tenantId: string;
  readonly rootFrameId: string;
  readonly frameId: string;
  readonly projectId: string | null;
  readonly branchId: string;
  readonly turnId: string;
  readonly groupId: string;
  readonly actionId: string;
  readonly toolCallId: string | null;
  /** The run that asked; null for an action outside any run. */
  readonly runId: string | null;
  readonly tool: string;
  /** The tool's policy revision: a changed tool asks again. */
  readonly toolRevision: string;
  /** What the action is aimed at, as rules match it: a path, an address; empty when the tool has none. */
  readonly target: string;
  readonly sideEffectClass: string;
  readonly resourceKeys: readonly string[];
  readonly dangerous: boolean;
  /** The one text that is shown, digested and executed: canonical JSON. */
  readonly canonicalArguments: string;
  readonly argumentsSha256: string;
  readonly actionDigest: string;
  /** Digest of all that is shown; a decision sends it back. */
  readonly requestSha256: string;
  readonly policyRevision: string;
  readonly requestedBy: string;
  readonly approver: ApproverRule;
  readonly editable: readonly string[];
  /** Why a person is asked. */
  readonly reason: string;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  /** The request whose edit made this one. */
  readonly supersedes: string | null;
}

/** What a person, or the clock, said. `allowed` lives on: unused, used, or taken back. */
export type RequestState =
  | { readonly state: 'pending' }
  | { readonly state: 'allowed'; readonly decision: Decision; readonly use: Use }
  | { readonly state: 'denied'; readonly decision: Decision }
  | { readonly state: 'timed_out'; readonly at: number }
  | {
      readonly state: 'cancelled';
      readonly at: number;
      readonly message: string;
      readonly supersededBy: string | null;
    };

export interface Decision {
  readonly by: string;
  readonly at: number;
  readonly message: string | null;
  /** How far an allow reaches, as the contracts spell it. Only `once` gives authority to execute here. */
  readonly scope: string;
}

export type Use =
  | { readonly use: 'none' }
  | { readonly use: 'consumed'; readonly at: number; readonly by: string }
  | { readonly use: 'revoked'; readonly at: number; readonly reason: string };

export interface PermissionRequest {
  readonly action: RequestedAction;
  readonly status: RequestState;
}

/** What the host says about the call that is about to be executed; every part must be what was approved. */
export interface CallBinding {
  readonly runId: string | null;
  readonly groupId: string;
  readonly toolCallId: string | null;
  readonly tool: string;
  readonly toolRevision: string;
  readonly argumentsSha256: string;
  readonly policyRevision: string;
}

/** Who says that a call may be executed, for the record of the operation. */
export type Authority =
  | {
      readonly kind: 'decision';
      readonly requestId: string;
      readonly approver: string;
      readonly decidedAt: number;
      readonly expiresAt: number | null;
      readonly canonicalArguments: string;
      readonly argumentsSha256: string;
    }
  /** A write that needs nobody: `approver` is `policy:<name>@<revision>`, and is shown as such. */
  | { readonly kind: 'policy'; readonly approver: string; readonly reason: string };

/** The proof handed to the tool registry for one execution, with the contracts' names. Built, never stored. */
export interface Grant extends JsonObject {
  batch_id: string;
  trace_id: string;
  tool_call_id: string;
  tool_name: string;
  argument_hash: string;
  decision: 'approved';
}

export type RuleScope = 'global' | 'project' | 'conversation';
export type RuleDecision = 'allow' | 'ask' | 'deny';

/** A standing rule. `tool` and `pattern` may hold `*` (anything but `/`) and `**` (anything). */
export interface PermissionRule {
  readonly ruleId: string;
  readonly tenantId: string;
  readonly scope: RuleScope;
  /** The project, the session, or empty for global. */
  readonly scopeId: string;
  readonly tool: string;
  readonly pattern: string;
  readonly decision: RuleDecision;
  /** Only a person's allow lowers what a tool itself asks for. */
  readonly madeBy: { readonly kind: 'person'; readonly subject: string } | { readonly kind: 'import' };
  readonly createdAt: number;
  readonly updatedAt: number;
}
