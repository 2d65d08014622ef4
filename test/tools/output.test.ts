import { z } from 'zod';
import { acceptOutput, storedOutputProblems, tool, type ToolDefinition } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';

const made = (change: Partial<ToolDefinition> = {}) =>
  tool({
    name: 'draft',
    description: '',
    inputSchema: { type: 'object' },
    effect: 'idempotent',
    execute: () => 1,
    ...change,
  });

const problems = async (change: Partial<ToolDefinition>, output: unknown, input: unknown = {}): Promise<string> => {
  const verdict = await acceptOutput(made(change), output, input);
  return verdict.ok ? `accepted ${verdict.text}` : verdict.problems.join('; ');
};

check('without a schema any JSON is accepted, and nothing is null', async () => {
  assert.equal(await problems({}, { b: 1, a: [null] }), 'accepted {"a":[null],"b":1}');
  assert.equal(await problems({}, undefined), 'accepted null');
  for (const bad of [() => 1, { a: undefined }, Number.NaN, new Date(0), new Map(), Symbol('x'), 2 ** 60, '\uD800'])
    assert.ok(!(await problems({}, bad)).startsWith('accepted'));
});

check('bytes and depth are bounded at their edge, before any text is made', async () => {
  const limits = { outputLimits: { maxBytes: 10, maxDepth: 1 } };
  assert.equal(await problems(limits, '12345678'), 'accepted "12345678"');
  assert.match(await problems(limits, '123456789'), /larger than 10 bytes/);
  assert.match(await problems(limits, 'ééééé'), /larger than 10 bytes/);
  assert.equal(await problems(limits, { a: 1 }), 'accepted {"a":1}');
  assert.match(await problems(limits, { a: [] }), /deeper than 1 levels/);
  assert.equal(await problems({ outputLimits: { maxDepth: 0 } }, 7), 'accepted 7');
  assert.match(await problems({ outputLimits: { maxDepth: 0 } }, []), /deeper than 0/);
  const mebibyte = 'x'.repeat(1_048_570);
  assert.match(
    await problems(
      {},
      Array.from({ length: 60_000 }, () => mebibyte),
    ),
    /larger than 65536 bytes/,
  );
  assert.match(await problems({}, 'x'.repeat(100_000_000)), /JSON|larger/);
  const circle: unknown[] = [];
  circle.push(circle);
  assert.match(await problems({}, circle), /deeper/);
});

check('a secret field at any depth makes an output invalid, whatever its case and dashes', async () => {
  const secret = { secretFields: ['api-key'] };
  for (const key of ['api_key', 'API-Key', 'Api_Key'])
    assert.match(await problems(secret, { a: [{ [key]: 1 }] }), /secret field/);
  assert.equal(await problems(secret, { apikey: 1 }), 'accepted {"apikey":1}');
});

check('what the schema lets through is what is kept, and it must be stable', async () => {
  assert.equal(
    await problems({ outputSchema: z.object({ id: z.string() }) }, { id: 'a', token: 't' }),
    'accepted {"id":"a"}',
  );
  assert.match(await problems({ outputSchema: z.object({ id: z.string() }) }, { id: 1 }), /^\/id: /);
  assert.match(await problems({ outputSchema: z.string().transform(Number) }, '7'), /refuses what it made/);
  assert.match(await problems({ outputSchema: z.number().transform((n) => n + 1) }, 7), /changes what it made/);
  assert.match(await problems({ outputSchema: z.string().transform(() => new Date(0)) }, '7'), /JSON/);
  assert.match(await problems({ outputSchema: { type: 'object', required: ['id'] } }, {}), /id/);
});

check('rules between output and input are asked with both, and one that throws is a violation', async () => {
  const rule: Partial<ToolDefinition> = {
    checkOutput: (output, input) => {
      const ids = [output, input].map((value) => (value as { id: number }).id);
      return ids[0] === ids[1] ? [] : ['the id is not the one asked for'];
    },
  };
  assert.equal(await problems(rule, { id: 1 }, { id: 1 }), 'accepted {"id":1}');
  assert.equal(await problems(rule, { id: 2 }, { id: 1 }), 'the id is not the one asked for');
  const broken = { checkOutput: () => JSON.parse('{') as string[] };
  assert.match(await problems(broken, {}), /could not be checked/);
});

check('a stored result is judged again as it stands', async () => {
  const schema = { outputSchema: z.object({ id: z.string() }) };
  assert.deepEqual(await storedOutputProblems(made(schema), '{"id":"a"}', {}), []);
  assert.match((await storedOutputProblems(made(schema), '{"id":"a","x":1}', {})).join(), /another value/);
  assert.match((await storedOutputProblems(made(schema), '{ "id":"a"}', {})).join(), /canonical/i);
  assert.match((await storedOutputProblems(made(schema), '{', {})).join(), /JSON/);
});
