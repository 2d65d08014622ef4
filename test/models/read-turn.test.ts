import { getEventListeners } from 'node:events';
import type { HoldfastError } from '../../src/core/index.ts';
import { functionModel, type FunctionReply, type Model, type ModelEvent, readTurn } from '../../src/models/index.ts';
import { assert, check } from '../support/index.ts';

const request = (signal = new AbortController().signal) => ({
  messages: [{ role: 'user', text: 'go' } as const],
  tools: [],
  signal,
});
const FINISH = { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 2 } } as const;
const streaming = (...events: unknown[]): Model => ({
  id: 'streaming',
  async *turn() {
    yield* events as ModelEvent[];
  },
});
const call = (callId: unknown, argumentsText: unknown = '{}', toolName: unknown = 't') => ({
  type: 'call',
  call: { callId, toolName, argumentsText },
});

async function codeOf(model: Model, signal?: AbortSignal): Promise<string> {
  try {
    await readTurn(model, request(signal));
  } catch (error) {
    const { code, details } = error as HoldfastError;
    return details?.['limit'] === undefined ? code : `${code} ${details['limit']}`;
  }
  return 'read';
}

check('a turn is read whole, in order, with its raw arguments, and shown as it comes', async () => {
  const seen: string[] = [];
  const model = streaming(
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    call('1', '{"n": 1.0, broken'),
    FINISH,
  );
  const reply = await readTurn(model, request(), { onEvent: (event) => seen.push(event.type) });
  assert.deepEqual(reply, {
    text: 'ab',
    reasoning: [],
    calls: [{ callId: '1', toolName: 't', argumentsText: '{"n": 1.0, broken' }],
    parts: [
      { type: 'text', text: 'ab' },
      { type: 'call', callId: '1' },
    ],
    finishReason: 'stop',
    usage: { inputTokens: 1, outputTokens: 2 },
  });
  assert.deepEqual(seen, ['text', 'text', 'call', 'finish']);
});

check('calls are counted before they are kept: 128 pass, 129 and five hundred do not', async () => {
  const calls = (count: number) => Array.from({ length: count }, (_, i) => call(`c${i}`));
  assert.equal(await codeOf(streaming(...calls(128), FINISH)), 'read');
  assert.equal(await codeOf(streaming(...calls(129), FINISH)), 'MODEL_REPLY_TOO_LARGE modelCallsInReply');
  assert.equal(await codeOf(streaming(...calls(500), FINISH)), 'MODEL_REPLY_TOO_LARGE modelCallsInReply');
});

check('arguments of a mebibyte pass on to be refused by the tool, more of them or 10 MB do not', async () => {
  const mebibyte = 'x'.repeat(1_048_576);
  assert.equal(await codeOf(streaming(call('1', mebibyte), FINISH)), 'read');
  assert.equal(
    await codeOf(streaming(call('1', `${mebibyte}x`), FINISH)),
    'MODEL_REPLY_TOO_LARGE modelArgumentsCodeUnits',
  );
  const several = [1, 2, 3, 4, 5].map((id) => call(String(id), mebibyte));
  assert.equal(await codeOf(streaming(...several, FINISH)), 'MODEL_REPLY_TOO_LARGE modelReplyCodeUnits');
  const deltas = Array.from({ length: 10 }, () => ({ type: 'arguments_delta', length: 1_000_000 }));
  assert.equal(await codeOf(streaming(...deltas, FINISH)), 'MODEL_REPLY_TOO_LARGE modelReplyCodeUnits');
  const text = Array.from({ length: 5 }, () => ({ type: 'text', text: mebibyte }));
  assert.equal(await codeOf(streaming(...text, FINISH)), 'MODEL_REPLY_TOO_LARGE modelReplyCodeUnits');
});

check('an endless stream of empty events is ended', async () => {
  const endless: Model = {
    id: 'endless',
    async *turn() {
      while (true) yield { type: 'text', text: '' };
    },
  };
  assert.equal(await codeOf(endless), 'MODEL_REPLY_TOO_LARGE modelEventsInReply');
});

check('a reply without end, after its end, or with unusable calls is invalid', async () => {
  for (const events of [
    [],
    [{ type: 'text', text: 'x' }],
    [FINISH, FINISH],
    [FINISH, call('late')],
    [call('same'), call('same'), FINISH],
    [call(''), FINISH],
    [call(7), FINISH],
    [call('a\0b'), FINISH],
    [call('x'.repeat(256)), FINISH],
    [call('1', '{}', ' '), FINISH],
    [call('1', '{}', 'x'.repeat(129)), FINISH],
    [{ type: 'text', text: 'a\ud800' }, FINISH],
    [{ type: 'text', text: 'a\0' }, FINISH],
    [{ type: 'reasoning', text: '\udfff' }, FINISH],
    [{ type: 'text', text: 7 }, FINISH],
    [{ type: 'reasoning' }, FINISH],
    [call('1', {}), FINISH],
    [{ ...FINISH, reason: 'tired' }],
  ])
    assert.equal(await codeOf(streaming(...events)), 'MODEL_REPLY_INVALID', JSON.stringify(events));
  assert.equal(await codeOf(streaming(call('x'.repeat(255), '{}', 'x'.repeat(128)), FINISH)), 'read');
  const halves = [{ type: 'text', text: 'a\ud83d' }, { type: 'text', text: '\ude00' }, FINISH];
  assert.equal(await codeOf(streaming(...halves)), 'read', 'a stream may cut a pair in two');
});

check('a count of tokens that is none is left out', async () => {
  for (const [usage, counted] of [
    [{ inputTokens: -1, outputTokens: 1e99 }, [null, null]],
    [{ inputTokens: Number.NaN, outputTokens: 2 }, [null, 2]],
    [{ inputTokens: 1_000_000_001, outputTokens: 1_000_000_000 }, [null, 1_000_000_000]],
    [{ inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: 0 }, [null, 0]],
    [{ inputTokens: 1.5, outputTokens: '2' }, [null, null]],
    [undefined, [null, null]],
  ] as const) {
    const { inputTokens, outputTokens } = (await readTurn(streaming({ ...FINISH, usage }), request())).usage;
    assert.deepEqual([inputTokens, outputTokens], counted);
  }
});

check('a function that plays a model and returns what is no reply is refused, not asked again', async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['itself'] = cyclic;
  for (const reply of [
    7,
    { text: 7 },
    { calls: {} },
    { calls: [null] },
    { calls: [{ toolName: 't' }] },
    { calls: [{ toolName: 't', arguments: { n: 1n } }] },
    { calls: [{ toolName: 't', arguments: cyclic }] },
  ])
    assert.equal(await codeOf(functionModel(() => reply as unknown as FunctionReply)), 'MODEL_REPLY_INVALID');
});

check('the parts of a reply are kept in the order in which they began, whatever comes between', async () => {
  const said = (given: object) => ({ providerMetadata: { p: given } });
  const { text, reasoning, parts } = await readTurn(
    streaming(
      { type: 'reasoning', text: 'a', part: 1, ...said({ item: 'r' }) },
      { type: 'text', text: 'one ', part: 2 },
      { type: 'reasoning', text: 'b', part: 1, ...said({ item: 'r', sealed: undefined, seal: 's' }) },
      call('1'),
      { type: 'text', text: 'two', part: 3 },
      { type: 'text', text: '', part: 4 },
      { type: 'reasoning', text: 'c' },
      { type: 'reasoning', text: 'd', ...said({ seal: 't' }) },
      { type: 'reasoning', text: 'e' },
      { type: 'text', text: '', ...said({ seal: 'u' }) },
      FINISH,
    ),
    request(),
  );
  assert.equal(text, 'one two');
  assert.deepEqual(
    reasoning.map((one) => one.text),
    ['ab', 'cd', 'e'],
  );
  assert.deepEqual(parts, [
    { type: 'reasoning', text: 'ab', ...said({ item: 'r', seal: 's' }) },
    { type: 'text', text: 'one ' },
    { type: 'call', callId: '1' },
    { type: 'text', text: 'two' },
    { type: 'reasoning', text: 'cd', ...said({ seal: 't' }) },
    { type: 'reasoning', text: 'e' },
    { type: 'text', text: '', ...said({ seal: 'u' }) },
  ]);
});

check('the parts of a reply are bounded, and none is both text and reasoning', async () => {
  const parts = (count: number) => Array.from({ length: count }, (_, part) => ({ type: 'text', text: 'x', part }));
  assert.equal(await codeOf(streaming(...parts(4096), FINISH)), 'read');
  assert.equal(await codeOf(streaming(...parts(4097), FINISH)), 'MODEL_REPLY_TOO_LARGE modelPartsInReply');
  assert.equal(await codeOf(streaming(...parts(4096), call('1'), FINISH)), 'MODEL_REPLY_TOO_LARGE modelPartsInReply');
  const both = [{ type: 'text', text: 'x', part: 1 }, { type: 'reasoning', text: 'y', part: 1 }, FINISH];
  assert.equal(await codeOf(streaming(...both)), 'MODEL_REPLY_INVALID');
});

check('metadata is bounded and must be JSON', async () => {
  const withMetadata = (providerMetadata: unknown) =>
    streaming({ type: 'call', call: { callId: '1', toolName: 't', argumentsText: '', providerMetadata } }, FINISH);
  const most = 1_048_576 - JSON.stringify({ p: '' }).length;
  assert.equal(await codeOf(withMetadata({ p: 'x'.repeat(most) })), 'read');
  assert.equal(await codeOf(withMetadata({ p: 'x'.repeat(most + 1) })), 'MODEL_REPLY_TOO_LARGE modelMetadataBytes');
  const sealed = { type: 'reasoning', text: '', providerMetadata: { p: 'x'.repeat(most) } };
  assert.equal(await codeOf(streaming(sealed, sealed, sealed, sealed, FINISH)), 'read');
  const above = [sealed, sealed, sealed, sealed, { type: 'text', text: 'x' }, FINISH];
  assert.equal(await codeOf(streaming(...above)), 'MODEL_REPLY_TOO_LARGE modelReplyCodeUnits');
  assert.equal(await codeOf(withMetadata(null)), 'read');
  let deep: unknown = 1;
  for (let level = 0; level < 33; level += 1) deep = { deep };
  for (const unusable of [{ p: 1n }, { p: '\ud800' }, { p: 1e300 }, { p: deep }, 'text', [], () => 1])
    assert.equal(await codeOf(withMetadata(unusable)), 'MODEL_REPLY_INVALID');
});

check('a model that never answers is stopped by the signal and by the time-out, and told so', async () => {
  const hang = (): { readonly model: Model; readonly signal: () => AbortSignal | undefined } => {
    let seen: AbortSignal | undefined;
    return {
      model: {
        id: 'hang',
        async *turn({ signal }) {
          seen = signal;
          yield { type: 'text', text: 'first' };
          await new Promise(() => undefined);
        },
      },
      signal: () => seen,
    };
  };
  const stopped = hang();
  const controller = new AbortController();
  const ended = codeOf(stopped.model, controller.signal);
  await new Promise(setImmediate);
  controller.abort();
  assert.equal(await ended, 'MODEL_STOPPED');
  assert.equal(stopped.signal()?.aborted, true);
  await assert.rejects(readTurn(hang().model, request(), { timeoutMs: 5 }), { code: 'MODEL_STOPPED' });
  assert.equal(
    await codeOf(
      functionModel(() => 'never asked'),
      AbortSignal.abort(),
    ),
    'MODEL_STOPPED',
  );
});

check('a model that throws fails with its error as cause, and our own errors pass', async () => {
  const broken = new Error('with a key in it');
  await assert.rejects(
    readTurn(
      functionModel(() => Promise.reject(broken)),
      request(),
    ),
    (error: HoldfastError) => error.code === 'MODEL_FAILED' && error.cause === broken && !/key/.test(error.message),
  );
  assert.equal(await codeOf(functionModel(() => null as unknown as FunctionReply)), 'MODEL_REPLY_INVALID');
});

check('a function plays a model: text, calls with ids of their own or by their place, objects as JSON', async () => {
  assert.deepEqual(
    (
      await readTurn(
        functionModel(() => 'hello'),
        request(),
      )
    ).text,
    'hello',
  );
  const model = functionModel(async ({ messages }) => ({
    calls: [
      { toolName: 'a', arguments: { n: messages.length } },
      { callId: 'own', toolName: 'b', arguments: '{broken' },
    ],
  }));
  const reply = await readTurn(model, request());
  assert.equal(reply.finishReason, 'tool_calls');
  assert.deepEqual(reply.calls, [
    { callId: 'call_1_0', toolName: 'a', argumentsText: '{"n":1}' },
    { callId: 'own', toolName: 'b', argumentsText: '{broken' },
  ]);
});

check('a turn that is over, well or not, leaves no listener at the signal of its run', async () => {
  const { signal } = new AbortController();
  assert.equal(await codeOf(streaming(FINISH), signal), 'read');
  assert.equal(await codeOf(streaming(), signal), 'MODEL_REPLY_INVALID');
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

check(
  'a reply that was cut where its last call had no arguments yet is refused: nobody knows what they would be',
  async () => {
    const end = (reason: string) => ({ ...FINISH, reason });
    for (const reason of ['length', 'content_filter'])
      for (const none of ['', ' ', '{}', '{ }\n'])
        assert.equal(await codeOf(streaming(call('1'), call('2', none), end(reason))), 'MODEL_REPLY_INVALID', none);
    assert.equal(await codeOf(streaming(call('1', ''), call('2', '{"n":1}'), end('length'))), 'read');
    assert.equal(await codeOf(streaming(call('1', ''), { type: 'text', text: 'and so' }, end('length'))), 'read');
    for (const reason of ['stop', 'tool_calls', 'other'])
      assert.equal(await codeOf(streaming(call('1', ''), end(reason))), 'read');
  },
);
