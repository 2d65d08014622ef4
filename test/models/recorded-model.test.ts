import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ModelMessage,
  parseTranscript,
  readTurn,
  recordedModel,
  recordedModelFromFile,
} from '../../src/models/index.ts';
import { assert, check } from '../support/index.ts';

const DOCUMENT = {
  format: 'holdfast-transcript',
  version: 1,
  model: 'demo',
  turns: [
    {
      expect: { messages: 1, last_role: 'user', last_text: 'twice', tools: ['b', 'a'] },
      text: 'I look.',
      tool_calls: [
        { id: 'c1', name: 'a', arguments: { order: 'X-1' } },
        { id: 'c2', name: 'b', arguments: '{broken' },
      ],
      usage: { input_tokens: 10, output_tokens: 3 },
    },
    { text: 'done' },
  ],
};

const offered = (...names: string[]) =>
  names.map((name) => ({ type: 'function', function: { name, description: '', parameters: {} } }) as const);
const user: ModelMessage = { role: 'user', text: 'charged twice' };
const request = (messages: ModelMessage[] = [user], names = ['a', 'b']) => ({
  messages,
  tools: offered(...names),
  signal: new AbortController().signal,
});
const changed = (path: readonly (string | number)[], value: unknown): string => {
  const copy = structuredClone(DOCUMENT) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete at[last];
  else at[last] = value;
  return JSON.stringify(copy);
};

check(
  'turns are played by their place in the conversation, so a second process goes on where the first was',
  async () => {
    const first = await readTurn(recordedModel(parseTranscript(JSON.stringify(DOCUMENT))), request());
    assert.deepEqual(
      first.calls.map((each) => [each.callId, each.toolName, each.argumentsText]),
      [
        ['c1', 'a', '{"order":"X-1"}'],
        ['c2', 'b', '{broken'],
      ],
    );
    assert.deepEqual([first.text, first.finishReason, first.usage.inputTokens], ['I look.', 'tool_calls', 10]);
    const again = recordedModel(parseTranscript(JSON.stringify(DOCUMENT)));
    const reply: ModelMessage = { role: 'assistant', text: first.text, calls: first.calls };
    const second = await readTurn(again, request([user, reply]));
    assert.deepEqual([second.text, second.finishReason, second.calls], ['done', 'stop', []]);
    await assert.rejects(readTurn(again, request([user, reply, { ...reply, calls: [] }])), {
      code: 'TRANSCRIPT_ENDED',
    });
  },
);

check('what was not expected is not answered', async () => {
  const model = recordedModel(parseTranscript(JSON.stringify(DOCUMENT)));
  const mismatches = [
    request([user, user]),
    request([{ role: 'system', text: 'twice' }]),
    request([{ role: 'user', text: 'once' }]),
    request([user], ['a']),
    request([user], ['a', 'c']),
    request([]),
  ];
  for (const each of mismatches) await assert.rejects(readTurn(model, each), { code: 'TRANSCRIPT_MISMATCH' });
});

check('a transcript is read strictly, each wrong field by its place', () => {
  const wrong: [readonly (string | number)[], unknown, RegExp][] = [
    [['format'], 'other', /format/],
    [['version'], 2, /version/],
    [['model'], undefined, /model is missing/],
    [['more'], 1, /more is not known/],
    [['turns'], {}, /turns must be a list/],
    [['turns', 0], 'text', /turns\/0/],
    [['turns', 0, 'reply'], 'x', /turns\/0\/reply is not known/],
    [['turns', 0, 'text'], 7, /turns\/0\/text/],
    [['turns', 0, 'finish_reason'], 'tool-calls', /finish_reason/],
    [['turns', 0, 'expect', 'role'], 'user', /expect\/role is not known/],
    [['turns', 0, 'expect', 'messages'], -1, /messages/],
    [['turns', 0, 'expect', 'last_role'], 'model', /last_role/],
    [['turns', 0, 'expect', 'tools', 1], 1, /tools\/1/],
    [['turns', 0, 'tool_calls', 1, 'id'], undefined, /tool_calls\/1\/id is missing/],
    [['turns', 0, 'tool_calls', 1, 'arguments'], [], /tool_calls\/1\/arguments/],
    [['turns', 0, 'tool_calls', 1, 'args'], '{}', /args is not known/],
    [['turns', 0, 'usage', 'input_tokens'], 1.5, /input_tokens/],
    [['turns'], Array.from({ length: 1_001 }, () => ({})), /more than 1000 turns/],
  ];
  for (const [path, value, message] of wrong)
    assert.throws(() => parseTranscript(changed(path, value)), { code: 'TRANSCRIPT_INVALID', message });
  assert.equal(
    parseTranscript(
      changed(
        ['turns'],
        Array.from({ length: 1_000 }, () => ({})),
      ),
    ).turns.length,
    1_000,
  );
  for (const text of ['', '{', '[]', '{"format":"a","format":"b"}', JSON.stringify(DOCUMENT).slice(0, -1)])
    assert.throws(() => parseTranscript(text), { code: 'TRANSCRIPT_INVALID' });
});

check('a file is played; one that is missing, or larger than a transcript may be, is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transcript-'));
  try {
    const path = join(folder, 'demo.json');
    writeFileSync(path, JSON.stringify(DOCUMENT));
    const model = recordedModelFromFile(path);
    assert.equal(model.id, 'recorded:demo');
    assert.equal((await readTurn(model, request())).text, 'I look.');
    writeFileSync(path, Buffer.alloc(16 * 1024 * 1024 + 1, 32));
    assert.throws(() => recordedModelFromFile(path), { code: 'TRANSCRIPT_INVALID' });
    assert.throws(() => recordedModelFromFile(join(folder, 'none.json')));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
