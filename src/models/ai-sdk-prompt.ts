import type { AiSdkCallOptions, AiSdkMessage, AiSdkToolResult } from './ai-sdk-types.ts';
import type { ModelMessage, ModelRequest, ProposedCall, ProviderMetadata, ReplyPart } from './model.ts';

type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;
type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** A turn in the words of the AI SDK. Results of one reply's calls go into one message, as providers want them. */
export function callOptions(request: ModelRequest): AiSdkCallOptions {
  const { providerOptions, ...settings } = request.settings ?? {};
  const options: AiSdkCallOptions = { ...settings, prompt: promptOf(request.messages), abortSignal: request.signal };
  if (providerOptions !== undefined) options.providerOptions = carried(providerOptions);
  if (request.tools.length === 0) return options;
  options.tools = request.tools.map(({ function: { name, description, parameters } }) => ({
    type: 'function',
    name,
    description,
    inputSchema: { ...parameters },
  }));
  options.toolChoice = { type: 'auto' };
  return options;
}

function promptOf(messages: readonly ModelMessage[]): AiSdkMessage[] {
  const prompt: AiSdkMessage[] = [];
  for (const message of messages) {
    const last = prompt.at(-1);
    if (message.role === 'tool' && last?.role === 'tool') last.content.push(toolResult(message));
    else prompt.push(promptMessage(message));
  }
  return prompt;
}

function promptMessage(message: ModelMessage): AiSdkMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text };
    case 'user':
      return { role: 'user', content: [{ type: 'text', text: message.text }] };
    case 'assistant':
      return assistantMessage(message);
    case 'tool':
      return { role: 'tool', content: [toolResult(message)] };
  }
}

function assistantMessage(message: AssistantMessage): AiSdkMessage {
  if (message.parts !== undefined) return { role: 'assistant', content: partsOf(message, message.parts) };
  const reasoning = (message.reasoning ?? []).map(({ text, providerMetadata }) => ({
    type: 'reasoning' as const,
    text,
    ...optionsOf(providerMetadata),
  }));
  const text = message.text === '' ? [] : [{ type: 'text' as const, text: message.text }];
  return { role: 'assistant', content: [...reasoning, ...text, ...message.calls.map(toolCall)] };
}

type AssistantContent = Extract<AiSdkMessage, { role: 'assistant' }>['content'];

/** A reply as it was said. A call that no part names comes last: its result needs it. */
function partsOf({ calls }: AssistantMessage, parts: readonly ReplyPart[]): AssistantContent {
  const left = new Map(calls.map((call) => [call.callId, call]));
  const content = parts.flatMap((part): AssistantContent => {
    if (part.type !== 'call') return [{ type: part.type, text: part.text, ...optionsOf(part.providerMetadata) }];
    const call = left.get(part.callId);
    left.delete(part.callId);
    return call === undefined ? [] : [toolCall(call)];
  });
  return [...content, ...[...left.values()].map(toolCall)];
}

function toolCall(call: ProposedCall): AssistantContent[number] {
  return {
    type: 'tool-call',
    toolCallId: call.callId,
    toolName: call.toolName,
    input: shownArguments(call),
    ...optionsOf(call.providerMetadata),
  };
}

/** Providers take arguments back as an object. Malformed ones were refused; the refusal says why, so `{}` is enough. */
function shownArguments(call: ProposedCall): unknown {
  try {
    const value: unknown = JSON.parse(call.argumentsText);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function toolResult(message: ToolMessage): AiSdkToolResult {
  return {
    type: 'tool-result',
    toolCallId: message.callId,
    toolName: message.toolName,
    output: { type: message.isError ? 'error-text' : 'text', value: message.text },
  };
}

type ProviderOptions = NonNullable<AiSdkCallOptions['providerOptions']>;

function optionsOf(metadata: ProviderMetadata | undefined): { providerOptions?: ProviderOptions } {
  return metadata === undefined ? {} : { providerOptions: carried(metadata) };
}

// What a provider gave or a user set for it goes through unread; it is JSON, as its size was taken as JSON.
function carried(metadata: ProviderMetadata): ProviderOptions {
  return metadata as ProviderOptions;
}
