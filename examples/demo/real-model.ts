import type { ModelLike } from '../../src/index.ts';

/**
 * A real provider's model when DEMO_MODEL_API_KEY is set (any service that speaks the OpenAI chat format, see
 * DEMO_MODEL_BASE_URL and DEMO_MODEL_NAME); undefined otherwise.
 */
export async function realModel(): Promise<ModelLike | undefined> {
  const apiKey = process.env['DEMO_MODEL_API_KEY'];
  if (apiKey === undefined) return undefined;
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const baseURL = process.env['DEMO_MODEL_BASE_URL'] ?? 'https://api.openai.com/v1';
  const provider = createOpenAICompatible({ name: 'demo', baseURL, apiKey });
  return provider.chatModel(process.env['DEMO_MODEL_NAME'] ?? 'gpt-5-mini');
}
