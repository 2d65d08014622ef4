import { canonicalJson, isJsonObject, type JsonValue } from '../core/index.ts';
import type { ActionEvent, ActionGroup, MessageRole } from './model.ts';

/** What a group or event shows to a person. The message is written from this and compared with it again by the audit. */
export interface Rendering {
  readonly role: MessageRole;
  readonly content: string;
  readonly metadata: JsonValue;
}

type ShownGroup = Pick<ActionGroup, 'kind' | 'assistantContent' | 'assistantMessage' | 'turnId'>;
type ShownEvent = Pick<ActionEvent, 'type' | 'toolCallId' | 'result'>;

const member = (value: JsonValue, key: string): JsonValue | undefined => (isJsonObject(value) ? value[key] : undefined);

const ROLES: ReadonlySet<JsonValue | undefined> = new Set(['user', 'assistant', 'system']);

/** A group shows its assistant text, or the `content` of its message. Compactions and import notes show nothing. */
export function renderGroup(group: ShownGroup): Rendering | undefined {
  const said = member(group.assistantMessage, 'content');
  const content = group.assistantContent ?? (typeof said === 'string' ? said : undefined);
  if (content === undefined) return undefined;
  const role = member(group.assistantMessage, 'role');
  return {
    role: ROLES.has(role) ? (role as MessageRole) : group.kind === 'user' ? 'user' : 'assistant',
    content,
    metadata: { turn_id: group.turnId },
  };
}

/** A result of a tool call shows its `content`, or else the whole result as JSON. Nothing else shows. */
export function renderEvent(event: ShownEvent): Rendering | undefined {
  if (event.type !== 'result' || event.toolCallId === null) return undefined;
  const said = member(event.result, 'content');
  const content = typeof said === 'string' ? said : canonicalJson(event.result);
  return {
    role: 'tool',
    content,
    metadata: { tool_call_id: event.toolCallId, is_error: member(event.result, 'is_error') === true },
  };
}
