import { join } from 'node:path';
import { z } from 'zod';
import { ERROR_TABLE, type ErrorCode, fail, sentence } from '../../src/core/index.ts';
import { Holdfast, HoldfastError, readTurn, tool } from '../../src/index.ts';
import { readPolicy } from '../../src/mcp/index.ts';
import { notExportable } from '../../src/packages/export/guard.ts';
import { callsThenDone } from '../calls/desk.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const DOUBLED = /[^\s./\\.][.!?…]\.(?!\.)/u;

check('whatever code an error has, a reason within it that is a sentence ends it once', () => {
  for (const code of Object.keys(ERROR_TABLE) as ErrorCode[])
    for (const reason of ['The disk is full.', 'Is it there?', 'Stop!', 'Nothing came…', 'The disk is full']) {
      const { message } = fail(code, `It cannot be done: ${reason}.`);
      assert.equal(message, `It cannot be done: ${reason.replace(/full$/, 'full.')}`, code);
    }
});

check('what is no doubled end stays: an ellipsis, a folder above, a full stop alone', () => {
  for (const text of [
    'And so on...',
    'It may not be ..',
    'It may not be a/..',
    "It may not be '..'.",
    'Done.',
    'no end',
    '',
  ])
    assert.equal(fail('INVALID_VALUE', text).message, text);
});

check('a reason in people’s own words becomes one sentence', () => {
  const table: readonly (readonly [string, string])[] = [
    ['no end', 'no end.'],
    ['An end.', 'An end.'],
    ['An end. \n', 'An end.'],
    ['Said: An end..', 'Said: An end.'],
    ['Is it?', 'Is it?'],
    ['and so on...', 'and so on...'],
    ['(in brackets.)', '(in brackets.).'],
  ];
  for (const [text, ended] of table) assert.equal(sentence(text), ended);
});

const INVALID = z.object({ sum: z.number({ error: 'A sum is a number.' }) });

check('what a schema says in sentences is told once ended: of a reading, of a writing, of an argument', async (t) => {
  const holdfast = await Holdfast.open({ dataDir: join(await temporaryFolder(t), 'data') });
  t.after(() => holdfast.close());
  const parts = {
    description: 'Sums.',
    inputSchema: z.object({}),
    outputSchema: INVALID,
    needsApproval: false,
  } as const;
  const wrong = { execute: () => ({ sum: 'x' }) as never };
  const tools = [
    tool({ ...parts, ...wrong, name: 'look', effect: 'read' }),
    tool({ ...parts, ...wrong, name: 'write', effect: 'once' }),
    tool({ ...parts, ...wrong, name: 'ask', inputSchema: INVALID, effect: 'read' }),
    tool({
      ...parts,
      name: 'throw',
      effect: 'read',
      retry: { most: 1, pauseMs: 0 },
      execute: () => {
        throw new Error('No luck');
      },
    }),
  ];
  const model = callsThenDone([{ name: 'look' }, { name: 'ask' }, { name: 'throw' }], [{ name: 'write' }]);
  const run = await holdfast.agent({ model, tools }).run('Sum it.');
  const reasons = run.view.calls.map(({ tool: name, outcome }) => {
    assert.ok(outcome && outcome.state !== 'done', name);
    return outcome.reason;
  });
  assert.equal(reasons.length, 4);
  for (const reason of [...reasons, run.view.reason, run.text]) assert.doesNotMatch(reason, DOUBLED);
  assert.match(reasons[0] ?? '', /A sum is a number\.$/);
  assert.match(reasons[2] ?? '', /No luck\. It was tried 2 times\.$/);
});

check('refusals that embed another refusal end once', async () => {
  const inner = fail('INVALID_VALUE', 'The name is blank.');
  const found: unknown[] = [notExportable(`the history does not hold together: ${inner.message}`, inner)];
  const collect = async (body: () => unknown) => {
    try {
      await body();
    } catch (error) {
      found.push(error);
    }
  };
  await collect(() => readPolicy('{"version": 1, "name": ""}'));
  const signal = new AbortController().signal;
  const nonsense = {
    id: 'n',
    turn: async function* () {
      yield { type: 'nonsense' } as never;
    },
  };
  await collect(() => readTurn(nonsense, { messages: [], tools: [], signal }));
  assert.equal(found.length, 3);
  for (const error of found) {
    assert.ok(error instanceof HoldfastError);
    assert.doesNotMatch(error.message, DOUBLED);
    assert.match(error.message, /[.!?…]$/);
  }
});
