import { fail, type HoldfastError } from '../core/index.ts';
import { callOptions } from './ai-sdk-prompt.ts';
import type { AiSdkLanguageModel, AiSdkStream, AiSdkStreamPart } from './ai-sdk-types.ts';
import type {
  FinishReason,
  Model,
  ModelDelta,
  ModelEvent,
  ModelRequest,
  ModelUsage,
  ProviderMetadata,
} from './model.ts';

/**
 * Any AI SDK language model of specification v3 or v4 as a `Model`. Only tools that Holdfast runs are offered; a reply
 * in which the provider ran a tool itself is refused, since nothing about it was written down or approved.
 */
export function aiSdkModel(model: AiSdkLanguageModel): Model {
  return Object.freeze({
    id: `${model.provider}:${model.modelId}`,
    async *turn(request: ModelRequest): AsyncGenerator<ModelEvent> {
      const { stream } = await started(model, request);
      const begun: BegunParts = { open: new Map(), last: 0 };
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
  // One that failed after a good head broke off: its status says nothing of that.
  const text = typeof status === 'number' && status >= 400 ? ` with HTTP status ${status}` : '';
  return fail('MODEL_FAILED', `The model provider failed${text}.`, { cause });
}

function refused(reason: string): HoldfastError {
  return fail('MODEL_REPLY_INVALID', `The reply of the model cannot be used: ${reason}.`);
}

type Fields = Readonly<Record<string, unknown>>;

/** The parts of text and reasoning that have begun and not ended, by their ids, which a provider may use again. */
interface BegunParts {
  readonly open: Map<string, number>;
  last: number;
}

/** Parts that carry nothing Holdfast keeps (sources, files, metadata, raw chunks) are passed over. */
function* eventsOf(part: AiSdkStreamPart, begun: BegunParts): Generator<ModelEvent> {
  const fields = part as AiSdkStreamPart & Fields;
  switch (part.type) {
    case 'text-start':
    case 'text-delta':
    case 'text-end':
      yield* deltaOf('text', fields, begun);
      return;
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
      yield* deltaOf('reasoning', fields, begun);
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

/** A part has its place where it begins, and what its provider said of it last. */
function* deltaOf(
  type: ModelDelta['type'],
  fields: AiSdkStreamPart & Fields,
  begun: BegunParts,
): Generator<ModelEvent> {
  const id = `${type} ${String(fields['id'])}`;
  const isStart = fields.type === `${type}-start`;
  const isEnd = fields.type === `${type}-end`;
  const part = (isStart ? undefined : begun.open.get(id)) ?? (begun.last += 1);
  if (isEnd) begun.open.delete(id);
  else begun.open.set(id, part);
  const text = isStart || isEnd ? '' : textOf(fields, 'delta');
  const metadata = metadataOf(fields);
  if (isStart || text !== '' || metadata.providerMetadata !== undefined) yield { type, text, part, ...metadata };
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
