import { outcomeDocument, outcomeForModel, type CallOutcome } from '../../calls/index.ts';
import {
  canonicalJson,
  type Clock,
  fail,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LIMITS,
} from '../../core/index.ts';
import type { ModelMessage, ModelReply, ProposedCall } from '../../models/index.ts';
import { cutNote } from '../cut-reply.ts';
import { replyAsSaid, replyState } from '../reply-state.ts';
import { messagesOfBranch, type SideBranch } from '../side-branch/model.ts';
import type { TraceMessage } from '../trace/model.ts';
import type { TraceStore } from '../trace/port.ts';
import { type MessageParts, newMessage } from '../trace/records.ts';

/** The stored conversation of a run, read once, and what is added to it. Messages are stored before they count. */
export class Conversation {
  readonly traceId: string;
  readonly #traces: TraceStore;
  readonly #clock: Clock;
  readonly #messages: TraceMessage[];

  private constructor(traceId: string, traces: TraceStore, clock: Clock, messages: readonly TraceMessage[]) {
    this.traceId = traceId;
    this.#traces = traces;
    this.#clock = clock;
    this.#messages = [...messages];
  }

  static async load(traceId: string, traces: TraceStore, clock: Clock): Promise<Conversation> {
    return new Conversation(traceId, traces, clock, await traces.getTraceMessages(traceId));
  }

  get messages(): readonly TraceMessage[] {
    return this.#messages;
  }

  /** Messages of no side branch, in order. */
  get mainLine(): readonly TraceMessage[] {
    return this.#messages.filter((one) => one.branchType === null);
  }

  get head(): number {
    return this.mainLine.at(-1)?.sequence ?? 0;
  }

  /** Stores a message above the highest sequence that there is. */
  async add(parts: Omit<MessageParts, 'traceId' | 'sequence'>): Promise<TraceMessage> {
    const sequence = (this.#messages.at(-1)?.sequence ?? 0) + 1;
    const made = newMessage({ ...parts, traceId: this.traceId, sequence }, this.#clock);
    await this.#traces.addMessage(made);
    this.#messages.push(made);
    return made;
  }

  /** The newest reply of the main line that proposed calls. */
  lastReply(): AssistantTurn | null {
    const message = this.mainLine.findLast((one) => one.role === 'assistant');
    if (message === undefined) return null;
    const later = this.mainLine.filter((one) => one.sequence > message.sequence && one.role !== 'tool');
    return later.length > 0 ? null : { message, calls: callsOf(message) };
  }

  /** Ids of calls of a reply whose result is stored. */
  answered(reply: TraceMessage): ReadonlySet<string> {
    const results = this.#messages.filter((one) => one.role === 'tool' && one.parentSequence === reply.sequence);
    return new Set(results.map((one) => textMember(one.content, 'tool_call_id')));
  }
}

/** A stored reply with the calls that it proposed. */
export interface AssistantTurn {
  readonly message: TraceMessage;
  readonly calls: readonly ProposedCall[];
}

/** What the model of that name is shown of the main line. */
export function mainPrompt(system: string, conversation: Conversation, model: string): readonly ModelMessage[] {
  return [...systemMessage(system), ...conversation.mainLine.map((one) => shown(one, model))];
}

/** What a model is shown in a side branch: the main line up to where it began, and the branch's own messages. */
export function branchPrompt(
  system: string,
  conversation: Conversation,
  branch: SideBranch,
  model: string,
): readonly ModelMessage[] {
  const before = conversation.mainLine.filter((one) => one.sequence <= branch.startHeadSequence);
  const own = messagesOfBranch(branch, conversation.messages);
  return [...systemMessage(system), ...[...before, ...own].map((one) => shown(one, model))];
}

function systemMessage(text: string): ModelMessage[] {
  return text === '' ? [] : [{ role: 'system', text }];
}

function shown(message: TraceMessage, model: string): ModelMessage {
  const { content, role } = message;
  if (role === 'user') return { role, text: typeof content === 'string' ? content : canonicalJson(content) };
  const text = textMember(content, 'text');
  if (role === 'assistant') {
    const said = { text, calls: callsOf(message) };
    const state = isJsonObject(content) ? (content['wire_state'] ?? null) : null;
    return { role, ...said, ...replyAsSaid(state, model, said) };
  }
  const isError = isJsonObject(content) && content['is_error'] === true;
  const of = { callId: textMember(content, 'tool_call_id'), toolName: textMember(content, 'tool_name') };
  return { role, ...of, text, isError };
}

/** A text member of a stored content. Throws `TRACE_CORRUPT`. */
export function textMember(content: JsonValue, key: string): string {
  const value = isJsonObject(content) ? content[key] : undefined;
  if (typeof value === 'string') return value;
  throw fail('TRACE_CORRUPT', `The stored trace cannot be trusted: a message without ${key}.`);
}

/** The stored content of a reply of a model, in the shape of the chat formats; `wire_state` is for that model alone. */
export function replyContent(
  reply: Pick<ModelReply, 'text' | 'calls' | 'parts' | 'finishReason'>,
  model: string,
): JsonObject {
  const state = replyState(model, reply);
  return {
    ...(state === null ? {} : { wire_state: state }),
    text: reply.text,
    ...cutNote(reply),
    tool_calls: reply.calls.map(({ callId, toolName, argumentsText }) => ({
      id: callId,
      type: 'function',
      function: { name: toolName, arguments: argumentsText },
    })),
  };
}

function callsOf({ content }: TraceMessage): readonly ProposedCall[] {
  const stored = isJsonObject(content) ? (content['tool_calls'] ?? []) : [];
  if (!Array.isArray(stored) || stored.length > LIMITS.modelCallsInReply)
    throw fail('TRACE_CORRUPT', 'The stored trace cannot be trusted: the calls of a reply.');
  return stored.map((call) => {
    const named = isJsonObject(call) ? (call['function'] ?? null) : null;
    return {
      callId: textMember(call, 'id'),
      toolName: textMember(named, 'name'),
      argumentsText: textMember(named, 'arguments'),
    };
  });
}

/** The stored content of a call's result. `edited` is what an approver put in the place of the proposed arguments. */
export function resultContent(
  call: Pick<ProposedCall, 'callId' | 'toolName'>,
  outcome: CallOutcome,
  edited: JsonValue | null = null,
): JsonObject {
  const told = outcomeForModel(outcome);
  const note = edited === null ? '' : `[The approver changed the arguments to ${canonicalJson(edited)}]\n`;
  return {
    tool_call_id: call.callId,
    tool_name: call.toolName,
    text: note + told,
    is_error: outcome.state !== 'done',
    outcome: outcomeDocument(outcome),
  };
}
