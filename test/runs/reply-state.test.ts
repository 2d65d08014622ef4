import { canonicalJson, isJsonObject, JSON_PROFILES, type JsonObject, readStrictJson } from '../../src/core/index.ts';
import type { ProposedCall, ReplyPart } from '../../src/models/index.ts';
import { isReplyState, replyAsSaid, replyState } from '../../src/runs/reply-state.ts';
import { assert, check } from '../support/index.ts';

const signed = (signature: unknown) => ({ providerMetadata: { p: { signature } } });
const call = (callId: string, argumentsText: string): ProposedCall => ({ callId, toolName: 't', argumentsText });
const CALLS = [{ ...call('a', '{"b":1, "a":2}'), ...signed(0.5) }, call('b', '{}'), call('c', '{broken')];
const PARTS: readonly ReplyPart[] = [
  { type: 'text', text: 'one\u{1f95b}' },
  { type: 'reasoning', text: 'hm', ...signed('s') },
  { type: 'call', callId: 'a' },
  { type: 'text', text: '', ...signed('t') },
  { type: 'call', callId: 'b' },
  { type: 'text', text: 'two' },
  { type: 'call', callId: 'c' },
];
const REPLY = { text: 'one\u{1f95b}two', calls: CALLS, parts: PARTS };
/** As the ledger has it: arguments in their canonical spelling, or none where they could not be read. */
const STORED = { text: REPLY.text, calls: [call('a', '{"a":2,"b":1}'), call('b', '{}'), call('c', '{}')] };

const stored = (): JsonObject => {
  const text = canonicalJson(replyState('m', REPLY));
  const read = readStrictJson(text, JSON_PROFILES.packages);
  return isJsonObject(read) ? read : assert.fail('nothing is kept');
};

check('what a model said comes back from the store as it said it', () => {
  const state = stored();
  assert.ok(isReplyState(state));
  assert.deepEqual(replyAsSaid(state, 'm', STORED), { calls: CALLS, parts: PARTS });
  assert.ok(!canonicalJson(state).includes('one'), 'the text stands beside it once');
});

check('it is for the model that said it alone, and only where it fits what is stored beside it', () => {
  const [first, ...rest] = STORED.calls;
  assert.ok(first);
  for (const [why, state, model, beside] of [
    ['another model', stored(), 'other', STORED],
    ['no model', stored(), null, STORED],
    ['another text', stored(), 'm', { ...STORED, text: `${STORED.text}.` }],
    ['a shorter text', stored(), 'm', { ...STORED, text: 'one' }],
    ['a call less', stored(), 'm', { ...STORED, calls: rest }],
    ['a call more', stored(), 'm', { ...STORED, calls: [...STORED.calls, call('d', '{}')] }],
    ['another call', stored(), 'm', { ...STORED, calls: [{ ...first, callId: 'z' }, ...rest] }],
    ['another version', { ...stored(), version: 2 }, 'm', STORED],
    ['another format', { ...stored(), format: 'x' }, 'm', STORED],
    ['no parts', { ...stored(), parts: null }, 'm', STORED],
    ['parts that are none', { ...stored(), parts: ['x'] }, 'm', STORED],
    ['parts of no kind', { ...stored(), parts: [{ type: 'x' }] }, 'm', STORED],
    ['a length that is none', { ...stored(), parts: [{ type: 'text', length: -1 }] }, 'm', STORED],
    ['nothing', null, 'm', STORED],
  ] as const)
    assert.equal(replyAsSaid(state as JsonObject | null, model, beside), null, why);
});

check('text and then calls is kept as it ever was, and reasoning that led to nothing is not kept', () => {
  const kept = (parts: readonly ReplyPart[], calls = [call('a', '{ }')]) =>
    replyState('m', { text: 'x', calls, parts });
  const [text, thought, called] = [
    { type: 'text', text: 'x' },
    { type: 'reasoning', text: 'hm' },
    { type: 'call', callId: 'a' },
  ] as const;
  for (const parts of [[], [text], [called], [text, called], [thought], [text, thought], [text, called, thought]])
    assert.equal(kept(parts), null, canonicalJson(parts));
  for (const parts of [[called, text], [thought, text], [{ ...text, ...signed(1) }], [text, text]])
    assert.notEqual(kept(parts), null, canonicalJson(parts as never));
  assert.notEqual(kept([text, called], [{ ...call('a', '{}'), ...signed(1) }]), null);
});

check('arguments that no store takes are left as they are stored', () => {
  const calls = [{ ...call('a', '{"x":"\0"'), ...signed(1) }];
  const state = replyState('m', { text: '', calls, parts: [{ type: 'call', callId: 'a' }] });
  const said = replyAsSaid(state, 'm', { text: '', calls: [call('a', '{}')] });
  assert.equal(said?.calls[0]?.argumentsText, '{}');
});
