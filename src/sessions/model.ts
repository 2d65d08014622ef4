import type { JsonValue } from '../core/index.ts';
import type { ToolPrincipal } from '../tools/index.ts';

/** `quarantined_import`: it came as a package and nobody has confirmed it; nothing may run in it. */
export type TrustState = 'local' | 'quarantined_import';

/** A conversation. Its id is its root frame's id, and its main branch has the same id. Times are epoch milliseconds. */
export interface Session {
  readonly rootFrameId: string;
  readonly tenantId: string;
  readonly projectId: string;
  /** What opened it: `turn` for a conversation, `guard` for the MCP guard. */
  readonly kind: string;
  readonly origin: 'local' | 'import';
  readonly trustState: TrustState;
  readonly name: string | null;
  readonly taskSummary: string | null;
  /** Settings that travel with the session and that nothing here interprets. */
  readonly attributes: JsonValue;
  readonly activeBranchId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A line of history. Only the main branch has neither parent nor base. */
export interface SessionBranch {
  readonly branchId: string;
  readonly rootFrameId: string;
  readonly parentBranchId: string | null;
  readonly baseCheckpointId: string | null;
  readonly headCheckpointId: string | null;
  readonly name: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Kinds of action groups that the house itself writes. Other contexts may add their own words. */
export type ActionGroupKind =
  | 'user'
  | 'native_tools'
  | 'finalize'
  | 'code'
  | 'cell'
  | 'compaction'
  | 'session_import'
  | 'session_import_trust'
  | (string & {});

/** The calls of one model reply, or one user's request (kind `user`), as it was written. */
export interface ActionGroup {
  readonly groupId: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  readonly turnId: string;
  /** Place on its branch, from 0. */
  readonly ordinal: number;
  /** Place in the whole session's ledger, from 1; groups and events share one count. A checkpoint's action cursor. */
  readonly position: number;
  readonly kind: ActionGroupKind;
  readonly provider: string | null;
  readonly model: string | null;
  readonly wireState: JsonValue;
  readonly assistantContent: string | null;
  readonly assistantMessage: JsonValue;
  readonly usage: JsonValue;
  readonly costUsd: number | null;
  readonly sealedAt: number | null;
  readonly createdAt: number;
}

/** Event types that the house itself writes. Other contexts may add their own words. */
export type ActionEventType =
  | 'proposed'
  | 'permission_pending'
  | 'permission_resolved'
  | 'permission_revoked'
  | 'permission_shadow'
  | 'started'
  | 'result'
  | 'observation'
  | 'completed'
  | 'failed'
  | 'denied'
  | 'timed_out'
  | 'cancelled'
  | (string & {});

/** One appended line about a call. */
export interface ActionEvent {
  readonly eventId: string;
  readonly groupId: string;
  readonly rootFrameId: string;
  /** Place in its group, from 0. */
  readonly sequence: number;
  readonly position: number;
  readonly type: ActionEventType;
  readonly actionId: string | null;
  readonly toolCallId: string | null;
  readonly wireId: string | null;
  readonly canonicalArguments: JsonValue;
  readonly rawArguments: string | null;
  readonly result: JsonValue;
  readonly sideEffectClass: string | null;
  readonly resourceKeys: readonly string[];
  readonly createdAt: number;
}

/** Tenant, subject and current roles of whoever asks; given by the host, never taken from model output. */
export type Principal = ToolPrincipal;

export type MessageRole = 'user' | 'assistant' | 'tool' | 'system';

/** What people read. One that shows the ledger names the group or event it was written with. */
export interface Message {
  readonly messageId: string;
  readonly rootFrameId: string;
  readonly branchId: string;
  /** Place in the whole session, from 1. A checkpoint's message cursor. */
  readonly seq: number;
  readonly role: MessageRole;
  readonly content: string;
  readonly metadata: JsonValue;
  readonly groupId: string | null;
  readonly eventId: string | null;
  readonly createdAt: number;
}

/** A turn is what the groups of one turn id say: a turn exists once a group names it. */
export interface Turn {
  readonly turnId: string;
  readonly branchId: string;
  readonly groups: number;
  readonly firstPosition: number;
  readonly lastPosition: number;
  readonly startedAt: number;
}

/** A place in the queue for a session's pen. Whoever holds ticket `number` writes; numbers only rise. */
export interface SessionTicket {
  readonly ticketId: string;
  readonly rootFrameId: string;
  readonly number: number;
  readonly owner: string;
  readonly reason: string;
  readonly state: 'queued' | 'held';
  readonly queuedAt: number;
  readonly heldAt: number | null;
  readonly leaseUntil: number;
}

/** One page of a list, oldest or newest first as its function says. `next` is the `after` of the page that follows. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export const SESSION_PAGE_DEFAULT = 100;
