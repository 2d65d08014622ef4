import type { ModelToolSchema } from '../tools/index.ts';

/** What a provider wants to see again with a message, such as a signature of its reasoning. Carried, never read. */
export type ProviderMetadata = Readonly<Record<string, unknown>>;

/** A call as a model proposed it. The arguments are the raw text; `tools/` reads it strictly before anything else. */
export interface ProposedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly argumentsText: string;
  readonly providerMetadata?: ProviderMetadata;
}

export interface ModelReasoning {
  readonly text: string;
  readonly providerMetadata?: ProviderMetadata;
}

/** A part of a reply, in its place among the others. A call is named; what it says stands among the reply's calls. */
export type ReplyPart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly providerMetadata?: ProviderMetadata }
  | { readonly type: 'call'; readonly callId: string };

export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly ProposedCall[];
      readonly reasoning?: readonly ModelReasoning[];
      /** Everything that the reply was made of, in its order: only for the model that made it. Then `reasoning` is in it. */
      readonly parts?: readonly ReplyPart[];
    }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly toolName: string;
      readonly text: string;
      /** True for a denial, a failure and an unknown outcome: whatever is not a result. */
      readonly isError: boolean;
    };

export interface ModelSettings {
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxOutputTokens?: number;
  readonly seed?: number;
  /** Provider-specific options, by the provider's name. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** One turn as it is asked of a model. */
export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelToolSchema[];
  readonly settings?: ModelSettings;
  readonly signal: AbortSignal;
}

export const FINISH_REASONS = ['stop', 'tool_calls', 'length', 'content_filter', 'other'] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/** Tokens as the provider counted them; null where it did not say. */
export interface ModelUsage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** Text or reasoning as it comes. */
export interface ModelDelta {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
  /**
   * A number for the part of the reply that it belongs to: the first with a number begins the part, and the last metadata
   * of a part counts. Without a number it goes on with what came before it, if that is of its kind; metadata closes it.
   */
  readonly part?: number;
  readonly providerMetadata?: ProviderMetadata;
}

/** What a turn brings, in order. Deltas of a call are only counted; the call itself comes whole. */
export type ModelEvent =
  | ModelDelta
  | { readonly type: 'arguments_delta'; readonly length: number }
  | { readonly type: 'call'; readonly call: ProposedCall }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly usage: ModelUsage };

/**
 * A model. `turn` streams one reply and ends with exactly one `finish`; it throws `MODEL_FAILED` when the provider
 * fails and stops when `signal` is aborted. A turn has no effects outside, so it may be asked again.
 */
export interface Model {
  /** Stable name for records and snapshots, such as `openai:gpt-5`. */
  readonly id: string;
  turn(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** A whole turn, read within bounds. */
export interface ModelReply {
  readonly text: string;
  readonly reasoning: readonly ModelReasoning[];
  readonly calls: readonly ProposedCall[];
  /** All of it in its order: text, reasoning and calls. */
  readonly parts: readonly ReplyPart[];
  readonly finishReason: FinishReason;
  readonly usage: ModelUsage;
}
