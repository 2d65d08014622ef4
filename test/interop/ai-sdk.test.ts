import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { convertArrayToReadableStream, MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test';
import type { HoldfastError } from '../../src/core/index.ts';
import {
  type AiSdkLanguageModel,
  aiSdkModel,
  asModel,
  type ModelLike,
  type ModelMessage,
  type ModelRequest,
  readTurn,
} from '../../src/models/index.ts';
import { modelToolSchemas, tool, ToolRegistry } from '../../src/tools/index.ts';
import { type ChatAnswer, type ChatServer, chatServer, chunk, toolCallChunks } from '../support/chat-server.ts';
import { assert, check } from '../support/index.ts';

type PartV4 = Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

const USAGE = {
  inputTokens: { total: 7, noCache: 7, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 3, text: 3, reasoning: undefined },
} as const;
const FINISH: PartV4 = { type: 'finish', usage: USAGE, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } };

const registry = new ToolRegistry();
registry.register(
  tool({
    name: 'look_up',
    description: 'Look up an order.',
    inputSchema: { type: 'object', properties: { ref: { type: 'string' } }, required: ['ref'] },
    effect: 'read',
    execute: () => 'x',
  }),
);
const tools = modelToolSchemas(registry, new Set(['look_up']));

const CONVERSATION: readonly ModelMessage[] = [
  { role: 'system', text: 'Be brief.' },
  { role: 'user', text: 'Two orders.' },
  {
    role: 'assistant',
    text: '',
    reasoning: [{ text: 'thinking', providerMetadata: { p: { signature: 's' } } }],
    calls: [
      { callId: 'a', toolName: 'look_up', argumentsText: '{"ref":"1"}', providerMetadata: { p: { mark: 'm' } } },
      { callId: 'b', toolName: 'look_up', argumentsText: '{broken' },
    ],
  },
  { role: 'tool', callId: 'a', toolName: 'look_up', text: 'found', isError: false },
  { role: 'tool', callId: 'b', toolName: 'look_up', text: 'arguments are no JSON', isError: true },
];

const request = (change: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: CONVERSATION,
  tools,
  signal: new AbortController().signal,
  ...change,
});
const mock = (...parts: PartV4[]): MockLanguageModelV4 =>
  new MockLanguageModelV4({ modelId: 'm', provider: 'p', doStream: { stream: convertArrayToReadableStream(parts) } });

const codeOf = async (model: AiSdkLanguageModel): Promise<string> => {
  try {
    await readTurn(aiSdkModel(model), request());
    return 'read';
  } catch (error) {
    return (error as HoldfastError).code;
  }
};

check('models of both specifications fit the type, and others are refused', () => {
  const both: [LanguageModelV3, LanguageModelV4] = [new MockLanguageModelV3(), mock()];
  const accepted: AiSdkLanguageModel[] = [...both];
  assert.equal(asModel(accepted[1] as AiSdkLanguageModel).id, 'p:m');
  assert.equal(asModel(() => 'x').id, 'function');
  const own = aiSdkModel(mock());
  assert.equal(asModel(own), own);
  const old = { provider: 'p', modelId: 'm', specificationVersion: 'v2', doStream: () => undefined };
  for (const bad of [old, 'openai/gpt', null, {}, { turn: 1 }])
    assert.throws(() => asModel(bad as unknown as ModelLike), { code: 'MODEL_INVALID' });
});

check('a conversation reaches the provider in its own words, and settings and the signal with it', async () => {
  const model = mock(FINISH);
  const settings = { temperature: 0, maxOutputTokens: 9, seed: 4, providerOptions: { p: { effort: 'low' } } };
  await readTurn(aiSdkModel(model), request({ settings }));
  const seen = model.doStreamCalls[0];
  assert.deepEqual(seen?.prompt, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Two orders.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'thinking', providerOptions: { p: { signature: 's' } } },
        {
          type: 'tool-call',
          toolCallId: 'a',
          toolName: 'look_up',
          input: { ref: '1' },
          providerOptions: { p: { mark: 'm' } },
        },
        { type: 'tool-call', toolCallId: 'b', toolName: 'look_up', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'a', toolName: 'look_up', output: { type: 'text', value: 'found' } },
        {
          type: 'tool-result',
          toolCallId: 'b',
          toolName: 'look_up',
          output: { type: 'error-text', value: 'arguments are no JSON' },
        },
      ],
    },
  ]);
  assert.deepEqual(seen?.tools, [
    {
      type: 'function',
      name: 'look_up',
      description: 'Look up an order.',
      inputSchema: { type: 'object', properties: { ref: { type: 'string' } }, required: ['ref'] },
    },
  ]);
  assert.deepEqual([seen?.temperature, seen?.maxOutputTokens, seen?.seed], [0, 9, 4]);
  assert.deepEqual(seen?.providerOptions, { p: { effort: 'low' } });
  assert.ok(seen?.abortSignal instanceof AbortSignal);
});

check(
  'a reply keeps text, reasoning with its signature, raw arguments, usage; what carries nothing is passed over',
  async () => {
    const model = mock(
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r' },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'let ' },
      { type: 'reasoning-delta', id: '0', delta: 'me see' },
      { type: 'reasoning-end', id: '0', providerMetadata: { p: { signature: 's' } } },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'I look.' },
      { type: 'text-end', id: '1' },
      { type: 'tool-input-start', id: 'c', toolName: 'look_up' },
      { type: 'tool-input-delta', id: 'c', delta: '{"ref": 1.0}' },
      { type: 'tool-input-end', id: 'c' },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'look_up',
        input: '{"ref": 1.0}',
        providerMetadata: { p: { m: 1 } },
      },
      { type: 'raw', rawValue: {} },
      FINISH,
    );
    assert.deepEqual(await readTurn(aiSdkModel(model), request()), {
      text: 'I look.',
      reasoning: [{ text: 'let me see', providerMetadata: { p: { signature: 's' } } }],
      calls: [{ callId: 'c', toolName: 'look_up', argumentsText: '{"ref": 1.0}', providerMetadata: { p: { m: 1 } } }],
      parts: [
        { type: 'reasoning', text: 'let me see', providerMetadata: { p: { signature: 's' } } },
        { type: 'text', text: 'I look.' },
        { type: 'call', callId: 'c' },
      ],
      finishReason: 'tool_calls',
      usage: { inputTokens: 7, outputTokens: 3 },
    });
  },
);

check('parts keep their places where a provider has several open at once, or uses a name again', async () => {
  const model = mock(
    { type: 'reasoning-start', id: '0', providerMetadata: { p: { item: 'a' } } },
    { type: 'reasoning-delta', id: '0', delta: 'first' },
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'said' },
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-delta', id: '1', delta: 'second' },
    { type: 'reasoning-end', id: '0', providerMetadata: { p: { item: 'a', sealed: 's' } } },
    { type: 'reasoning-end', id: '1' },
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'third' },
    { type: 'text-end', id: '0', providerMetadata: { p: { item: 'm' } } },
    FINISH,
  );
  const { parts } = await readTurn(aiSdkModel(model), request());
  assert.deepEqual(parts, [
    { type: 'reasoning', text: 'first', providerMetadata: { p: { item: 'a', sealed: 's' } } },
    { type: 'text', text: 'said', providerMetadata: { p: { item: 'm' } } },
    { type: 'reasoning', text: 'second' },
    { type: 'reasoning', text: 'third' },
  ]);
});

check('a reply is given to a provider part by part, and a call that no part names comes last', async () => {
  const model = mock(FINISH);
  const call = (callId: string) => ({ callId, toolName: 'look_up', argumentsText: '{}' });
  const parts = [
    { type: 'text', text: 'one' },
    { type: 'call', callId: 'b' },
    { type: 'reasoning', text: 'hm', providerMetadata: { p: { s: 1 } } },
    { type: 'call', callId: 'nobody' },
    { type: 'text', text: 'two' },
  ] as const;
  const said = { role: 'assistant', text: 'onetwo', calls: [call('a'), call('b')], parts } as const;
  await readTurn(aiSdkModel(model), request({ messages: [said] }));
  const asked = (toolCallId: string) => ({ type: 'tool-call', toolCallId, toolName: 'look_up', input: {} });
  assert.deepEqual(model.doStreamCalls[0]?.prompt[0]?.content, [
    { type: 'text', text: 'one' },
    asked('b'),
    { type: 'reasoning', text: 'hm', providerOptions: { p: { s: 1 } } },
    { type: 'text', text: 'two' },
    asked('a'),
  ]);
});

check('what a provider says at the beginning of its reasoning is kept where its end says nothing', async () => {
  const model = mock(
    { type: 'reasoning-start', id: '0', providerMetadata: { p: { redacted: 'r' } } },
    { type: 'reasoning-end', id: '0' },
    { type: 'reasoning-start', id: '1', providerMetadata: { p: { item: 'i', sealed: null } } },
    { type: 'reasoning-delta', id: '1', delta: 'hm' },
    { type: 'reasoning-end', id: '1', providerMetadata: { p: { item: 'i', sealed: 's' } } },
    { type: 'reasoning-start', id: '2', providerMetadata: { p: { item: 'j' } } },
    { type: 'reasoning-delta', id: '2', delta: 'so', providerMetadata: { p: { signature: 't' } } },
    { type: 'reasoning-end', id: '2' },
    FINISH,
  );
  const { reasoning } = await readTurn(aiSdkModel(model), request());
  assert.deepEqual(reasoning, [
    { text: '', providerMetadata: { p: { redacted: 'r' } } },
    { text: 'hm', providerMetadata: { p: { item: 'i', sealed: 's' } } },
    { text: 'so', providerMetadata: { p: { signature: 't' } } },
  ]);
});

check('each finish reason has its word, and a broken stream is no end', async () => {
  const finish = (unified: string): PartV4 =>
    ({ type: 'finish', usage: USAGE, finishReason: { unified, raw: undefined } }) as PartV4;
  const words = { stop: 'stop', length: 'length', 'content-filter': 'content_filter', other: 'other' };
  for (const [given, word] of Object.entries(words))
    assert.equal((await readTurn(aiSdkModel(mock(finish(given))), request())).finishReason, word);
  for (const broken of ['error', 'interrupted', 'new-word'])
    assert.equal(await codeOf(mock(finish(broken))), 'MODEL_FAILED');
  assert.equal(await codeOf(mock({ type: 'error', error: new Error('x') })), 'MODEL_FAILED');
  assert.equal(await codeOf(mock({ type: 'text-delta', id: '1', delta: 'x' })), 'MODEL_REPLY_INVALID');
});

check('tools that a provider ran itself, and parts of wrong types, are refused', async () => {
  const ran = { type: 'tool-call', toolCallId: 'c', toolName: 'web', input: '{}', providerExecuted: true } as const;
  assert.equal(await codeOf(mock(ran, FINISH)), 'MODEL_REPLY_INVALID');
  const result = { type: 'tool-result', toolCallId: 'c', toolName: 'web', result: {} } as const;
  assert.equal(await codeOf(mock(result, FINISH)), 'MODEL_REPLY_INVALID');
  const wrong = { type: 'tool-call', toolCallId: 'c', toolName: 'web', input: { a: 1 } };
  assert.equal(await codeOf(mock(wrong as unknown as PartV4, FINISH)), 'MODEL_REPLY_INVALID');
});

check('a model of the older specification is read the same way', async () => {
  const model = new MockLanguageModelV3({
    doStream: {
      stream: convertArrayToReadableStream([
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'hello' },
        { type: 'text-end', id: '1' },
        { type: 'finish', usage: USAGE, finishReason: { unified: 'stop', raw: 'stop' } },
      ]),
    },
  });
  const reply = await readTurn(aiSdkModel(model), request());
  assert.deepEqual([reply.text, reply.finishReason, reply.usage.outputTokens], ['hello', 'stop', 3]);
});

check('a stream that never ends is given up at a bound, and its reader is cancelled', async () => {
  let cancelled = false;
  const stream = new ReadableStream<PartV4>({
    pull: (controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'x'.repeat(1_000_000) }),
    cancel: () => {
      cancelled = true;
    },
  });
  assert.equal(await codeOf(new MockLanguageModelV4({ doStream: { stream } })), 'MODEL_REPLY_TOO_LARGE');
  await new Promise(setImmediate);
  assert.ok(cancelled);
});

check('a stream that broke after a good head is not told as a failure of that status', async () => {
  const broken = Object.assign(new Error('terminated'), { statusCode: 200 });
  const told = readTurn(aiSdkModel(mock({ type: 'error', error: broken })), request());
  await assert.rejects(told, { code: 'MODEL_FAILED', message: 'The model provider failed.' });
});

async function withServer(
  answers: readonly ChatAnswer[],
  body: (server: ChatServer, model: AiSdkLanguageModel) => Promise<void>,
) {
  const server = await chatServer(answers);
  try {
    const provider = createOpenAICompatible({ name: 'local', baseURL: server.url, apiKey: 'key-of-a-test' });
    await body(server, provider('local-model'));
  } finally {
    await server.close();
  }
}

check('a real provider package streams text and calls from a server that speaks the chat format', async () => {
  const answer = {
    chunks: [
      chunk({ role: 'assistant', content: 'I ' }),
      chunk({ content: 'look.' }),
      ...toolCallChunks(0, 'call_a', 'look_up', ['{"re', 'f":"1"', '}']),
      ...toolCallChunks(1, 'call_b', 'look_up', ['{"ref":"2"}']),
      chunk({}, 'tool_calls', { prompt_tokens: 11, completion_tokens: 5, total_tokens: 16 }),
    ],
  };
  await withServer([answer], async (server, model) => {
    const reply = await readTurn(asModel(model), request());
    assert.equal(reply.text, 'I look.');
    assert.deepEqual(
      reply.calls.map((call) => [call.callId, call.argumentsText]),
      [
        ['call_a', '{"ref":"1"}'],
        ['call_b', '{"ref":"2"}'],
      ],
    );
    assert.deepEqual([reply.finishReason, reply.usage], ['tool_calls', { inputTokens: 11, outputTokens: 5 }]);
    const { body, authorization } = server.seen[0] ?? assert.fail('no request was seen');
    assert.equal(authorization, 'Bearer key-of-a-test');
    assert.equal(body['stream'], true);
    const messages = body['messages'] as { role: string; tool_call_id?: string }[];
    assert.deepEqual(
      messages.map((message) => message.tool_call_id ?? message.role),
      ['system', 'user', 'assistant', 'a', 'b'],
    );
    const offered = body['tools'] as { function: { name: string; parameters: { required: string[] } } }[];
    assert.deepEqual(offered[0]?.function.parameters.required, ['ref']);
  });
});

check(
  'a refusal of the server, a cut stream and one that never answers are told apart, without its words',
  async () => {
    const refusal = { status: 401, text: '{"error":{"message":"bad key-of-a-test"}}' };
    const cut = { chunks: [chunk({ content: 'half' }), chunk({ content: 'never' })], cutAfter: 1 };
    await withServer([refusal, cut, 'hang'], async (_server, model) => {
      await assert.rejects(readTurn(asModel(model), request()), (error: HoldfastError) => {
        assert.equal(error.code, 'MODEL_FAILED');
        assert.match(error.message, /401/);
        return !error.message.includes('key-of-a-test');
      });
      assert.match(await codeOf(model), /MODEL_FAILED|MODEL_REPLY_INVALID/);
      await assert.rejects(readTurn(asModel(model), request(), { timeoutMs: 50 }), { code: 'MODEL_STOPPED' });
    });
  },
);
