import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';

type Part = Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

const USAGE = {
  inputTokens: { total: 7, noCache: 7, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
} as const;

export const finish = (unified: 'stop' | 'tool-calls' | 'length'): Part => ({
  type: 'finish',
  usage: USAGE,
  finishReason: { unified, raw: unified },
});

/** A model of the SDK that streams these replies one after the other, whatever it is asked. */
export const reasoningModel = (replies: readonly (readonly Part[])[], modelId = 'thinker'): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    provider: 'p',
    modelId,
    doStream: replies.map((parts) => ({ stream: convertArrayToReadableStream([...parts]) })),
  });

/** What providers that sign or seal what a model thought stream before and between two calls. */
export const THINKING: readonly Part[] = [
  { type: 'reasoning-start', id: '0' },
  { type: 'reasoning-delta', id: '0', delta: 'Milk ' },
  { type: 'reasoning-delta', id: '0', delta: 'first.' },
  { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { p: { signature: 'sig-0' } } },
  { type: 'reasoning-end', id: '0' },
  { type: 'text-start', id: '1', providerMetadata: { p: { item: 'msg-1' } } },
  { type: 'text-delta', id: '1', delta: 'I take ' },
  { type: 'text-delta', id: '1', delta: 'notes.' },
  { type: 'text-end', id: '1' },
  {
    type: 'tool-call',
    toolCallId: 'call-a',
    toolName: 'take_note',
    input: '{ "note": "milk" }',
    providerMetadata: { p: { thoughtSignature: 'sig-a' } },
  },
  { type: 'reasoning-start', id: '2', providerMetadata: { p: { redacted: 'sealed-2' } } },
  { type: 'reasoning-end', id: '2' },
  { type: 'tool-call', toolCallId: 'call-b', toolName: 'take_note', input: '{"note":"tea"}' },
  finish('tool-calls'),
];

export const DONE: readonly Part[] = [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: 'Done.' },
  { type: 'text-end', id: '1' },
  finish('stop'),
];

/** `THINKING` as the model that said it is given it back. */
export const GIVEN_BACK = [
  { type: 'reasoning', text: 'Milk first.', providerOptions: { p: { signature: 'sig-0' } } },
  { type: 'text', text: 'I take notes.', providerOptions: { p: { item: 'msg-1' } } },
  {
    type: 'tool-call',
    toolCallId: 'call-a',
    toolName: 'take_note',
    input: { note: 'milk' },
    providerOptions: { p: { thoughtSignature: 'sig-a' } },
  },
  { type: 'reasoning', text: '', providerOptions: { p: { redacted: 'sealed-2' } } },
  { type: 'tool-call', toolCallId: 'call-b', toolName: 'take_note', input: { note: 'tea' } },
];

/** The same for any other model: what was said and called, and nothing of another provider. */
export const PLAIN = [
  { type: 'text', text: 'I take notes.' },
  { type: 'tool-call', toolCallId: 'call-a', toolName: 'take_note', input: { note: 'milk' } },
  { type: 'tool-call', toolCallId: 'call-b', toolName: 'take_note', input: { note: 'tea' } },
];

/** What a request of the model holds of replies, in their order. */
export function repliesAsked(model: MockLanguageModelV4, request = model.doStreamCalls.length - 1): unknown[] {
  const prompt: LanguageModelV4Prompt = model.doStreamCalls[request]?.prompt ?? [];
  return prompt.filter(({ role }) => role === 'assistant').map(({ content }) => content);
}
