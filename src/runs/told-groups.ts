import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import { type ActionEvent, type ActionGroup, listGroupEvents, type Principal } from '../sessions/index.ts';
import type { ReadTx } from '../store/index.ts';

/** One entry of the conversation that a provider would be shown, in the names of the package contract. */
export interface HistoryItem {
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly content: string;
  /** The calls of an assistant's reply: at least `id`, `wire_id`, `name` and `raw_arguments` of each. */
  readonly tool_calls?: readonly JsonObject[];
  readonly tool_call_id?: string;
  readonly wire_id?: string | null;
  readonly is_error?: boolean;
  /** True for the note that stands for what a compaction covers. */
  readonly compaction_handoff?: true;
}

/** Whether a group is a reply of the model. */
export const isReply = ({ kind }: Pick<ActionGroup, 'kind'>): boolean => kind === 'native_tools' || kind === 'finalize';

/** What a group says: the text of its message. */
export function contentOf(group: ActionGroup): string {
  const message = group.assistantMessage;
  const content = isJsonObject(message) ? message['content'] : undefined;
  return typeof content === 'string' ? content : (group.assistantContent ?? '');
}

/** A group that came with a session from elsewhere: its calls stand in its message, or it ran a cell. */
export const cameFromElsewhere = (group: ActionGroup): boolean =>
  group.kind === 'code' || (isReply(group) && declaredCalls(group).length > 0);

/** Every line of a group. */
export async function eventsOf(tx: ReadTx, principal: Principal, groupId: string): Promise<ActionEvent[]> {
  const events: ActionEvent[] = [];
  for (let after: string | undefined; ; ) {
    const page = await listGroupEvents(tx, principal, groupId, after === undefined ? {} : { after });
    events.push(...page.items);
    if (page.next === null) return events;
    after = page.next;
  }
}

export const reply = (group: ActionGroup, calls: readonly JsonObject[]): HistoryItem => ({
  role: 'assistant',
  content: contentOf(group),
  ...(calls.length === 0 ? {} : { tool_calls: calls }),
});

/** The calls that a reply from elsewhere names in its message. */
function declaredCalls({ assistantMessage }: Pick<ActionGroup, 'assistantMessage'>): readonly JsonObject[] {
  const calls = isJsonObject(assistantMessage) ? assistantMessage['tool_calls'] : undefined;
  return Array.isArray(calls) ? calls.filter(isJsonObject) : [];
}

/**
 * A group as entries, from its message and its lines. Nothing but requests, replies and what cells showed: a group of
 * another kind speaks to people.
 */
export function itemsOf(group: ActionGroup, events: readonly ActionEvent[]): HistoryItem[] {
  if (group.kind === 'user') return [{ role: 'user', content: contentOf(group) }];
  if (group.kind === 'code') return [reply(group, []), ...observations(events)];
  if (!isReply(group)) return [];
  const calls = declaredCalls(group);
  return [reply(group, calls), ...calls.map((call) => answerTo(call, events))];
}

function observations(events: readonly ActionEvent[]): HistoryItem[] {
  return events.flatMap(({ type, result }) => {
    if (type !== 'observation' || !isJsonObject(result)) return [];
    const messages = result['messages'];
    const said = Array.isArray(messages) ? messages.filter(isJsonObject).map(({ content }) => content) : [];
    return said.filter((text) => typeof text === 'string').map((content) => ({ role: 'user' as const, content }));
  });
}

function answerTo(call: JsonObject, events: readonly ActionEvent[]): HistoryItem {
  const id = textOf(call['id']);
  const result = events.findLast((event) => event.type === 'result' && event.toolCallId === id);
  const said = result?.result ?? null;
  const content = isJsonObject(said) ? said['content'] : said;
  return {
    role: 'tool',
    tool_call_id: id,
    wire_id: result?.wireId ?? (textOf(call['wire_id']) || null),
    content: result === undefined ? UNANSWERED : typeof content === 'string' ? content : canonicalJson(content ?? null),
    is_error: result === undefined || (isJsonObject(said) && said['is_error'] === true),
  };
}

const UNANSWERED = 'OUTCOME UNKNOWN: it has no result in the history that came with the session.';
const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
