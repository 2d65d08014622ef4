import { canonicalJson, fail, type JsonValue } from '../core/index.ts';
import type { ResultEnvelope } from './envelope.ts';
import { type EnvelopeClaim, envelopeFindings } from './envelope-check.ts';

/** What one provider's protocol calls a tool's result. Only the part that a model may see is in it. */
export type ProviderPayload =
  | { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string }
  | {
      readonly type: 'tool_result';
      readonly tool_use_id: string;
      readonly content: readonly { readonly type: 'text'; readonly text: string }[];
      readonly is_error: boolean;
    }
  | {
      readonly previous_interaction_id: string;
      readonly input: readonly {
        readonly type: 'function_result';
        readonly name: string;
        readonly call_id: string;
        readonly result: readonly { readonly type: 'text'; readonly text: string }[];
      }[];
    };

const broken = (why: string) => fail('RESULT_CONTRACT_BROKEN', `The result cannot be handed to the provider: ${why}.`);

/**
 * The answer in a provider's own form. Throws RESULT_CONTRACT_BROKEN where the answer is not whole, is not for this
 * call, or the call was made under another provider.
 */
export async function providerPayload(
  provider: string,
  envelope: ResultEnvelope,
  claim: EnvelopeClaim,
): Promise<ProviderPayload> {
  const { call } = claim;
  if (provider !== call.provider) throw broken('the call was made under another provider');
  const [finding] = await envelopeFindings(envelope, claim);
  if (finding !== undefined) throw broken(finding);
  const text = canonicalJson(envelope.model_result as unknown as JsonValue);
  const content = [{ type: 'text', text }] as const;
  if (provider === 'openai') return { type: 'function_call_output', call_id: call.callId, output: text };
  if (provider === 'anthropic')
    return { type: 'tool_result', tool_use_id: call.callId, content, is_error: envelope.model_result.error !== null };
  if (provider !== 'google') throw broken('the provider has no form of its own');
  const result = { type: 'function_result', name: call.name, call_id: call.callId, result: content } as const;
  return { previous_interaction_id: call.responseId, input: [result] };
}
