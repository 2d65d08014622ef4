import { fail, type HoldfastError } from '../core/index.ts';
import { callOptions } from './ai-sdk-prompt.ts';
import type { AiSdkLanguageModel, AiSdkStream, AiSdkStreamPart } from './ai-sdk-types.ts';
import type { FinishReason, Model, ModelEvent, ModelRequest, ModelUsage, ProviderMetadata } from './model.ts';

/**
 * Any AI SDK language model of specification v3 or v4 as a `Model`. Only tools that Holdfast runs are offered; a reply
 * in which the provider ran a tool itself is refused, since nothing about it was written down or approved.
 */
export function aiSdkModel(model: AiSdkLanguageModel): Model {
  return Object.freeze({
    id: `${model.provider}:${model.modelId}`,
    async *turn(request: ModelRequest): AsyncGenerator<ModelEvent> {
      const { stream } = await started(model, request);
      const begun: BegunReasoning = new Map();
      for await (const part of partsOf(stream)) yield* eventsOf(part, begun);
    },
  });
}

async function started(model: AiSdkLanguageModel, request: ModelRequest): Promise<{ readonly stream: AiSdkStream }> {
  try {
    return await model.doStream(callOptions(request));
  } catch (cause) {
    throw providerFailed(cause);
  }
}

async function* partsOf(stream: AiSdkStream): AsyncGenerator<AiSdkStreamPart> {
  const reader = stream.getReader();
  let ended = false;
  try {
    while (!ended) {
      const next = await reader.read();
      ended = next.done;
      if (!next.done && next.value !== undefined) yield next.value;
    }
  } catch (cause) {
    ended = true;
    throw providerFailed(cause);
  } finally {
    if (!ended) await reader.cancel();
  }
}

/** The provider's own words may hold an address or a key, so they stay in the cause. */
function providerFailed(cause: unknown): HoldfastError {
  const status: unknown =
    typeof cause === 'object' && cause !== null && 'statusCode' in cause ? cause.statusCode : undefined;
  const text = typeof status === 'number' ? ` with HTTP status ${status}` : '';
  return fail('MODEL_FAILED', `The model provider failed${text}.`, { cause });
}

function refused(reason: string): HoldfastError {
  return fail('MODEL_REPLY_INVALID', `The reply of the model cannot be used: ${reason}.`);
}

type Fields = Readonly<Record<string, unknown>>;

/** What was said at the beginning of reasoning that has not ended, by its id: kept where nothing later says more. */
type BegunReasoning = Map<unknown, { providerMetadata?: ProviderMetadata }>;

/** Parts that carry nothing Holdfast keeps (sources, files, metadata, raw chunks) are passed over. */
function* eventsOf(part: AiSdkStreamPart, begun: BegunReasoning): Generator<ModelEvent> {
  const fields = part as AiSdkStreamPart & Fields;
  switch (part.type) {
    case 'text-delta':
      yield { type: 'text', text: textOf(fields, 'delta') };
      return;
    case 'reasoning-start':
      begun.set(fields['id'], metadataOf(fields));
      return;
    case 'reasoning-delta':
    case 'reasoning-end':
      yield* reasoningOf(fields, begun);
      return;
    case 'tool-input-delta':
      yield { type: 'arguments_delta', length: textOf(fields, 'delta').length };
      return;
    case 'tool-call':
      yield toolCall(fields);
      return;
    case 'tool-result':
    case 'tool-approval-request':
      throw refused('the provider ran a tool itself');
    case 'error':
      throw providerFailed(fields['error']);
    case 'finish':
      yield { type: 'finish', reason: finishReason(fields), usage: usageOf(fields) };
  }
}

function* reasoningOf(fields: AiSdkStreamPart & Fields, begun: BegunReasoning): Generator<ModelEvent> {
  const { type, id } = fields;
  const isEnd = type === 'reasoning-end';
  const text = isEnd ? '' : textOf(fields, 'delta');
  const said = metadataOf(fields);
  const isSaid = said.providerMetadata !== undefined;
  const metadata = isEnd && !isSaid ? (begun.get(id) ?? {}) : said;
  if (isEnd || isSaid) begun.delete(id);
  if (text !== '' || metadata.providerMetadata !== undefined) yield { type: 'reasoning', text, ...metadata };
}

function toolCall(fields: Fields): ModelEvent {
  if (fields['providerExecuted'] === true) throw refused('the provider ran a tool itself');
  const call = {
    callId: textOf(fields, 'toolCallId'),
    toolName: textOf(fields, 'toolName'),
    argumentsText: textOf(fields, 'input'),
    ...metadataOf(fields),
  };
  return { type: 'call', call };
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw refused(`\`${name}\` of a part is not text`);
  return value;
}

function metadataOf(fields: Fields): { providerMetadata?: ProviderMetadata } {
  const metadata = fields['providerMetadata'];
  return isFields(metadata) ? { providerMetadata: metadata } : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const REASONS: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content-filter', 'content_filter'],
  ['tool-calls', 'tool_calls'],
  ['other', 'other'],
]);

function finishReason(fields: Fields): FinishReason {
  const given = fields['finishReason'];
  const reason = REASONS.get(isFields(given) ? given['unified'] : given);
  if (reason === undefined) throw providerFailed(fields['finishReason']);
  return reason;
}

function usageOf(fields: Fields): ModelUsage {
  const usage = fields['usage'];
  const total = (name: string): number | null => {
    const tokens = isFields(usage) ? usage[name] : undefined;
    const count = isFields(tokens) ? tokens['total'] : tokens;
    return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
  };
  return { inputTokens: total('inputTokens'), outputTokens: total('outputTokens') };
}
