/**
 * The part of the AI SDK's language model interface that Holdfast uses, as a structural type of our own: models of
 * specification v3 and v4 fit it, and no package of the SDK is needed to compile or run against it.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: AiSdkStream }>;
}

export interface AiSdkStream {
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: AiSdkStreamPart | undefined }>;
    cancel(reason?: unknown): Promise<void>;
  };
}

/** One part of a reply; which fields there are follows from `type`, and each is checked where it is read. */
export interface AiSdkStreamPart {
  readonly type: string;
}

type JsonLike = null | string | number | boolean | { [key: string]: JsonLike | undefined } | JsonLike[];
type ProviderOptions = Record<string, { [key: string]: JsonLike | undefined }>;

interface AiSdkText {
  type: 'text';
  text: string;
}

interface AiSdkReasoning {
  type: 'reasoning';
  text: string;
  providerOptions?: ProviderOptions;
}

interface AiSdkToolCall {
  type: 'tool-call';
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerOptions?: ProviderOptions;
}

export interface AiSdkToolResult {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: { type: 'text'; value: string } | { type: 'error-text'; value: string };
}

export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: AiSdkText[] }
  | { role: 'assistant'; content: (AiSdkText | AiSdkReasoning | AiSdkToolCall)[] }
  | { role: 'tool'; content: AiSdkToolResult[] };

export interface AiSdkCallOptions {
  prompt: AiSdkMessage[];
  tools?: { type: 'function'; name: string; description?: string; inputSchema: { [keyword: string]: unknown } }[];
  toolChoice?: { type: 'auto' };
  temperature?: number;
  topP?: number;
  maxOutputTokens?: number;
  seed?: number;
  providerOptions?: ProviderOptions;
  abortSignal?: AbortSignal;
}
