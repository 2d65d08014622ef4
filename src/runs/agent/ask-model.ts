import type { JsonObject } from '../../core/index.ts';
import { type ModelMessage, type ModelReply, type ModelSettings, readTurn } from '../../models/index.ts';
import { modelToolSchemas } from '../../tools/index.ts';
import type { RunConfig } from '../config/model.ts';
import { replyContent } from './conversation.ts';
import type { Driving } from './driving.ts';

/** Asks the model for one reply. It changes nothing. Throws the codes of `readTurn`. */
export function askModel(driving: Driving, messages: readonly ModelMessage[], withTools: boolean): Promise<ModelReply> {
  const { context, config, allowed, signal } = driving;
  const tools = withTools ? modelToolSchemas(context.tools, allowed) : [];
  return readTurn(context.model, { messages, tools, settings: settingsOf(config), signal });
}

/** `temperature`, and of the extra parameters `top_p`, `max_output_tokens`, `seed` and `provider_options`. */
function settingsOf({ temperature, extraLlmParams }: RunConfig): ModelSettings {
  const numbers = { topP: 'top_p', maxOutputTokens: 'max_output_tokens', seed: 'seed' } as const;
  const given = Object.entries(numbers).flatMap(([key, name]) => {
    const value = extraLlmParams[name];
    return typeof value === 'number' ? [[key, value] as const] : [];
  });
  const options = extraLlmParams['provider_options'] as Record<string, JsonObject> | undefined;
  return {
    ...(temperature === null ? {} : { temperature }),
    ...Object.fromEntries(given),
    ...(options === undefined ? {} : { providerOptions: options }),
  };
}

/** A reply as the message that is stored of it. */
export function replyMessage({ context: { model } }: Driving, reply: ModelReply) {
  return {
    role: 'assistant',
    content: replyContent(reply, model.id),
    promptTokens: reply.usage.inputTokens,
    completionTokens: reply.usage.outputTokens,
  } as const;
}
