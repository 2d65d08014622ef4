import fc from 'fast-check';
import { z } from 'zod';
import { acceptArguments, inputOf, tool } from '../../src/tools/index.ts';
import { assert, check, judged } from '../support/index.ts';

const rest = { description: '', effect: 'read', execute: () => 1 } as const;
const plain = tool({ ...rest, name: 'plain', inputSchema: { type: 'object' } });

const issueOf = async (raw: string, of = plain): Promise<string> => {
  const verdict = await acceptArguments(of, raw);
  return verdict.ok ? 'accepted' : (verdict.issues[0]?.message ?? '');
};

check('what is accepted is the proposal in canonical form, numbers as they were spelled', async () => {
  const verdict = await acceptArguments(plain, ' {"b": 1.0, "a": {"z":"é","y":[true,null]}} ');
  assert.ok(verdict.ok);
  assert.equal(verdict.text, '{"a":{"y":[true,null],"z":"é"},"b":1.0}');
});

check('defaults and transforms of a schema are given to the tool and never change the text', async () => {
  const shaped = tool({
    ...rest,
    name: 'shaped',
    inputSchema: z.object({ n: z.string().transform(Number), more: z.boolean().default(true) }),
    jsonSchema: { type: 'object' },
  });
  const verdict = await acceptArguments(shaped, '{"n":"7","unused":1}');
  assert.ok(verdict.ok);
  assert.equal(verdict.text, '{"n":"7","unused":1}');
  const input = await inputOf(shaped, verdict.text);
  assert.ok(input.ok);
  assert.deepEqual(input.input, { n: 7, more: true });
});

check(
  'broken, doubled, endless and oversized texts are refused with a reason, and blank is an empty object',
  async () => {
    assert.match(await issueOf('{"a":1,"a":2}'), /twice|duplicate|repeat/i);
    assert.match(await issueOf('{"a":NaN}'), /JSON/);
    for (const raw of [
      '{"a":1',
      '[1]',
      '"x"',
      'null',
      '7',
      '{"a":1}{',
      "{'a':1}",
      '{"a":9007199254740993}',
      '\uFEFF{}',
    ])
      assert.notEqual(await issueOf(raw), 'accepted', raw);
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    assert.equal(await issueOf(nested(32)), 'accepted');
    assert.match(await issueOf(nested(33)), /deeper/);
    const sized = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;
    assert.equal(await issueOf(sized(65_536)), 'accepted');
    assert.match(await issueOf(sized(65_537)), /more than 65536 bytes/);
    assert.match(await issueOf(sized(10_000_000)), /more than 65536 bytes/);
    for (const blank of ['', ' \n']) assert.equal(await issueOf(blank), 'accepted');
  },
);

check('a schema that throws refuses', async () => {
  const broken = tool({
    ...rest,
    name: 'broken',
    inputSchema: z.object({}).refine(() => {
      throw new Error('secret text of the handler');
    }),
  });
  const issue = await issueOf('{}', broken);
  assert.equal(issue, 'the schema itself failed on this value');
});

check('whatever object is proposed, the stored text is read back as itself', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), async (proposal) => {
      const first = await acceptArguments(plain, JSON.stringify(proposal));
      if (!first.ok) return true;
      const second = await acceptArguments(plain, first.text);
      return second.ok && second.text === first.text;
    }),
    { numRuns: 200 },
  );
  judged();
});
