import { fail } from '../core/index.ts';
import type { FinishReason, Model, ModelEvent, ModelRequest, ModelUsage } from './model.ts';

/** What a function that plays a model may return; a bare text is a reply without calls. */
export type FunctionReply =
  | string
  | {
      readonly text?: string;
      readonly calls?: readonly FunctionCall[];
      readonly finishReason?: FinishReason;
      readonly usage?: ModelUsage;
    };

export interface FunctionCall {
  /** Without one the call is named after its place in the conversation, the same each time it is asked. */
  readonly callId?: string;
  readonly toolName: string;
  /** Raw text is passed on as it is; an object is written as JSON. */
  readonly arguments: string | Readonly<Record<string, unknown>>;
}

export type ModelFunction = (request: ModelRequest) => FunctionReply | Promise<FunctionReply>;

/** A model that is a function of the conversation: for tests, for rules, and for anything that is not an AI SDK model. */
export function functionModel(answer: ModelFunction, id = 'function'): Model {
  return Object.freeze({
    id,
    async *turn(request: ModelRequest): AsyncGenerator<ModelEvent> {
      const reply = await answer(request);
      yield* eventsOf(typeof reply === 'string' ? { text: reply } : reply, request.messages.length);
    },
  });
}

function* eventsOf(reply: Exclude<FunctionReply, string>, place: number): Generator<ModelEvent> {
  if (typeof reply !== 'object' || reply === null)
    throw fail('MODEL_REPLY_INVALID', 'The function that plays the model returned no reply.');
  if (reply.text !== undefined && reply.text !== '') yield { type: 'text', text: reply.text };
  const calls = reply.calls ?? [];
  if (!Array.isArray(calls)) throw fail('MODEL_REPLY_INVALID', 'The `calls` of a reply must be a list.');
  for (const [i, call] of (calls as readonly FunctionCall[]).entries()) {
    const argumentsText = argumentsOf(call);
    yield {
      type: 'call',
      call: { callId: call.callId ?? `call_${place}_${i}`, toolName: call.toolName, argumentsText },
    };
  }
  const reason = reply.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  yield { type: 'finish', reason, usage: reply.usage ?? { inputTokens: null, outputTokens: null } };
}

/** The text of a call's arguments; what JSON cannot say is refused as the reply that it came in. */
function argumentsOf(call: FunctionCall | null | undefined): string {
  const given: unknown = call?.arguments;
  if (typeof given === 'string') return given;
  let text: string | undefined;
  try {
    text = JSON.stringify(given);
  } catch {
    // A cycle, or a value that JSON has no word for.
  }
  if (text === undefined) throw fail('MODEL_REPLY_INVALID', 'A call of a reply has arguments that are not JSON.');
  return text;
}
