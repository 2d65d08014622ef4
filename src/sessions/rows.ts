import { canonicalJson, fail, JSON_PROFILES, type JsonValue, readStrictJson } from '../core/index.ts';
import type { Row, SqlValue } from '../store/index.ts';
import type {
  ActionEvent,
  ActionGroup,
  Message,
  MessageRole,
  Session,
  SessionBranch,
  SessionTicket,
  Turn,
} from './model.ts';

/** A column as text, or null. */
export const textOrNull = (value: SqlValue | undefined): string | null => (value == null ? null : String(value));
export const numberOrNull = (value: SqlValue | undefined): number | null => (value == null ? null : Number(value));

/** A JSON column as a value; an absent one is null. What is stored and does not read back is corruption. */
export function jsonColumn(value: SqlValue | undefined): JsonValue {
  if (value == null) return null;
  try {
    return readStrictJson(String(value), JSON_PROFILES.packages);
  } catch (cause) {
    throw fail('SESSION_CORRUPT', 'A stored JSON value of the session cannot be read.', { cause });
  }
}

/** A value as it is stored: canonical JSON, or NULL for null. */
export const jsonOrNull = (value: JsonValue | undefined): string | null =>
  value == null ? null : canonicalJson(value);

function textList(value: JsonValue): readonly string[] {
  if (value === null) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
  throw fail('SESSION_CORRUPT', 'A stored list of the session is not a list of texts.');
}

/** Numbers as they are stored: read as numbers, one beyond 2^53 would be the end of all that is read with it. */
export const exact = (text: string) => ({ text, integers: 'bigint' }) as const;

/** What `of` reads of a row that was read exactly: SESSION_CORRUPT for a number beyond 2^53. */
export function readExact<T>(row: Row, of: (row: Row) => T): T {
  if (Object.values(row).some((value) => typeof value === 'bigint' && !Number.isSafeInteger(Number(value))))
    throw fail('SESSION_CORRUPT', 'A stored number of the session is beyond 2^53.');
  return of(row);
}

export function sessionOf(row: Row): Session {
  return {
    rootFrameId: String(row['root_frame_id']),
    tenantId: String(row['tenant_id']),
    projectId: String(row['project_id']),
    kind: String(row['kind']),
    origin: row['origin'] === 'import' ? 'import' : 'local',
    trustState: Number(row['quarantined']) === 0 ? 'local' : 'quarantined_import',
    name: textOrNull(row['name']),
    taskSummary: textOrNull(row['task_summary']),
    attributes: jsonColumn(row['attributes']),
    activeBranchId: String(row['active_branch_id']),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
  };
}

export function branchOf(row: Row): SessionBranch {
  return {
    branchId: String(row['branch_id']),
    rootFrameId: String(row['root_frame_id']),
    parentBranchId: textOrNull(row['parent_branch_id']),
    baseCheckpointId: textOrNull(row['base_checkpoint_id']),
    headCheckpointId: textOrNull(row['head_checkpoint_id']),
    name: textOrNull(row['name']),
    createdAt: Number(row['created_at']),
    updatedAt: Number(row['updated_at']),
  };
}

export function groupOf(row: Row): ActionGroup {
  return {
    groupId: String(row['group_id']),
    rootFrameId: String(row['root_frame_id']),
    branchId: String(row['branch_id']),
    turnId: String(row['turn_id']),
    ordinal: Number(row['ordinal']),
    position: Number(row['position']),
    kind: String(row['kind']),
    provider: textOrNull(row['provider']),
    model: textOrNull(row['model']),
    wireState: jsonColumn(row['wire_state']),
    assistantContent: textOrNull(row['assistant_content']),
    assistantMessage: jsonColumn(row['assistant_message']),
    usage: jsonColumn(row['usage']),
    costUsd: numberOrNull(row['cost_usd']),
    sealedAt: numberOrNull(row['sealed_at']),
    createdAt: Number(row['created_at']),
  };
}

export function eventOf(row: Row): ActionEvent {
  return {
    eventId: String(row['event_id']),
    groupId: String(row['group_id']),
    rootFrameId: String(row['root_frame_id']),
    sequence: Number(row['sequence']),
    position: Number(row['position']),
    type: String(row['type']),
    actionId: textOrNull(row['action_id']),
    toolCallId: textOrNull(row['tool_call_id']),
    wireId: textOrNull(row['wire_id']),
    canonicalArguments: jsonColumn(row['canonical_arguments']),
    rawArguments: textOrNull(row['raw_arguments']),
    result: jsonColumn(row['result']),
    sideEffectClass: textOrNull(row['side_effect_class']),
    resourceKeys: textList(jsonColumn(row['resource_keys'])),
    createdAt: Number(row['created_at']),
  };
}

/** What a call was given and what came of it, as the canonical texts in which they are stored; null for none. */
type EventTexts = Readonly<Record<'canonicalArguments' | 'result', string | null>>;
type EventPlace = 'groupId' | 'rootFrameId' | 'position';
/** An event as it stands in its group. */
export type StoredEvent = Omit<ActionEvent, keyof EventTexts | EventPlace> & EventTexts;

/**
 * An event whose JSON stays text. The row says itself whether each text is one JSON value (`is_json`), so that nothing
 * of it can reach beyond its place: SESSION_CORRUPT where it is not.
 */
export function storedEventOf(row: Row): StoredEvent {
  if (Number(row['is_json']) !== 1) throw fail('SESSION_CORRUPT', 'A stored JSON value of the session cannot be read.');
  return {
    eventId: String(row['event_id']),
    sequence: Number(row['sequence']),
    type: String(row['type']),
    actionId: textOrNull(row['action_id']),
    toolCallId: textOrNull(row['tool_call_id']),
    wireId: textOrNull(row['wire_id']),
    canonicalArguments: textOrNull(row['canonical_arguments']),
    rawArguments: textOrNull(row['raw_arguments']),
    result: textOrNull(row['result']),
    sideEffectClass: textOrNull(row['side_effect_class']),
    resourceKeys: textList(jsonColumn(row['resource_keys'])),
    createdAt: Number(row['created_at']),
  };
}

export function messageOf(row: Row): Message {
  return {
    messageId: String(row['message_id']),
    rootFrameId: String(row['root_frame_id']),
    branchId: String(row['branch_id']),
    seq: Number(row['seq']),
    role: String(row['role']) as MessageRole,
    content: String(row['content']),
    metadata: jsonColumn(row['metadata']),
    groupId: textOrNull(row['group_id']),
    eventId: textOrNull(row['event_id']),
    createdAt: Number(row['created_at']),
  };
}

export function turnOf(row: Row): Turn {
  return {
    turnId: String(row['turn_id']),
    branchId: String(row['branch_id']),
    groups: Number(row['groups']),
    firstPosition: Number(row['first_position']),
    lastPosition: Number(row['last_position']),
    startedAt: Number(row['started_at']),
  };
}

export function ticketOf(row: Row): SessionTicket {
  return {
    ticketId: String(row['ticket_id']),
    rootFrameId: String(row['root_frame_id']),
    number: Number(row['number']),
    owner: String(row['owner']),
    reason: String(row['reason']),
    state: row['state'] === 'held' ? 'held' : 'queued',
    queuedAt: Number(row['queued_at']),
    heldAt: numberOrNull(row['held_at']),
    leaseUntil: Number(row['lease_until']),
  };
}
