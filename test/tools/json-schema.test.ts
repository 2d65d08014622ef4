import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { compileSchema } from '../../src/tools/index.ts';
import type { JsonSchemaObject } from '../../src/tools/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import { assert, check } from '../support/index.ts';

const issuesOf = async (schema: JsonSchemaObject, value: unknown): Promise<string[]> => {
  const verdict = await compileSchema(schema, 'output').check(value);
  return verdict.ok ? [] : verdict.issues.map((issue) => `${issue.path} ${issue.message}`);
};
const fits = async (schema: JsonSchemaObject, value: unknown): Promise<boolean> =>
  (await issuesOf(schema, value)).length === 0;

function refusal(schema: unknown): string {
  let message = '';
  assert.throws(
    () => compileSchema(schema as JsonSchemaObject, 'output'),
    (error: Error & { code?: string }) => {
      message = error.message;
      return error.code === 'TOOL_SCHEMA_INVALID';
    },
  );
  return message;
}

/** A chain of definitions, each applying the next twice: the work doubles with every step. */
function doubling(steps: number, apply: (ref: object) => object): JsonSchemaObject {
  const definitions: Record<string, object> = { [`d${steps}`]: { type: 'number' } };
  for (let i = 0; i < steps; i += 1) definitions[`d${i}`] = apply({ $ref: `#/$defs/d${i + 1}` });
  return { $ref: '#/$defs/d0', $defs: definitions };
}

check('keywords of each kind are checked, and issues name their place', async () => {
  const schema = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', minLength: 1 },
      age: { type: 'integer', minimum: 0, maximum: 150 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true, maxItems: 3 },
      pair: { prefixItems: [{ type: 'number' }, { const: 'x' }], items: false },
      when: { type: 'string', format: 'date' },
      free: { $ref: '#/$defs/node' },
    },
    additionalProperties: false,
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  };
  assert.ok(await fits(schema, { name: 'A', age: 3, tags: ['a', 'b'], pair: [1, 'x'], when: '2026-01-31' }));
  assert.ok(await fits(schema, { name: 'A', free: { next: { next: {} } } }));
  for (const bad of [
    {},
    { name: '' },
    { name: 'A', age: 1.5 },
    { name: 'A', age: -1 },
    { name: 'A', tags: ['a', 'a'] },
    { name: 'A', tags: ['c'] },
    { name: 'A', pair: [1, 'x', 2] },
    { name: 'A', when: '2026-02-31x' },
    { name: 'A', free: { next: { next: 3 } } },
    { name: 'A', more: 1 },
    [],
    null,
  ])
    assert.ok(!(await fits(schema, bad)), JSON.stringify(bad));
  const issues = await issuesOf(schema, { name: 'A', free: { next: { next: 3 } } });
  assert.ok(issues.some((issue) => issue.startsWith('/free/next/next ')));
});

check('names that every object inherits are no properties, and __proto__ is a name like others', async () => {
  assert.ok(!(await fits({ type: 'object', required: ['constructor'] }, {})));
  assert.ok(!(await fits({ type: 'object', required: ['__proto__'] }, {})));
  const schema = JSON.parse('{"properties":{"__proto__":{"type":"number"}},"additionalProperties":false}') as object;
  assert.ok(await fits(schema as JsonSchemaObject, JSON.parse('{"__proto__":1}')));
  assert.ok(!(await fits(schema as JsonSchemaObject, JSON.parse('{"__proto__":"x"}'))));
});

check('annotations and unknown keywords and formats constrain nothing', async () => {
  const schema = { title: 't', default: 3, examples: [1], 'x-note': { anyOf: 7 }, format: 'colour', $comment: 'c' };
  assert.ok(await fits(schema, 'anything'));
});

check('each dialect is read by its own rules, and an unknown one is refused', async () => {
  const old = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    items: [{ type: 'number' }],
    additionalItems: false,
  };
  assert.ok(await fits(old, [1]));
  assert.ok(!(await fits(old, [1, 2])));
  const four = { $schema: 'http://json-schema.org/draft-04/schema#', minimum: 1, exclusiveMinimum: true };
  assert.ok(!(await fits(four, 1)));
  assert.match(refusal({ $schema: 'https://example.com/own' }), /dialect/);
  assert.match(refusal({ $schema: 7 }), /dialect/);
});

check('a pattern that never ends is stopped at its deadline, and the thread serves the next check', async () => {
  const slow = { type: 'string', pattern: '^(a+)+$' };
  const both = await Promise.all([issuesOf(slow, `${'a'.repeat(60)}!`), issuesOf({ pattern: '^b$' }, 'b')]);
  assert.match(both[0].join(), /longer than 2000 ms/);
  assert.deepEqual(both[1], []);
  assert.ok(await fits(slow, 'aaa'));
});

check(
  'work that doubles with each reference is refused before, work that doubles with each level while checking',
  async () => {
    assert.match(refusal(doubling(12, (ref) => ({ allOf: [ref, ref] }))), /1000 schemas to one value/);
    assert.ok(
      await fits(
        doubling(7, (ref) => ({ allOf: [ref, ref] })),
        1,
      ),
    );
    const tree = { allOf: [{ items: { $ref: '#' } }, { items: { $ref: '#' } }] };
    let deep: unknown = 1;
    for (let i = 0; i < 30; i += 1) deep = [deep];
    assert.match((await issuesOf(tree, deep)).join(), /too many steps/);
    assert.ok(await fits(tree, [[1]]));
  },
);

check('references stay inside the document, at schemas, and never lead back without consuming', () => {
  assert.match(refusal({ $ref: '#' }), /back to itself/);
  assert.match(
    refusal({ $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: { not: { $ref: '#/$defs/a' } } } }),
    /back/,
  );
  assert.match(refusal({ $ref: 'https://example.com/x' }), /inside the document/);
  assert.match(refusal({ $ref: '#/$defs/none' }), /no schema/);
  assert.match(refusal({ $ref: '#/title', title: 'x' }), /no schema/);
  assert.match(refusal({ $ref: '#%zz' }), /address/);
  assert.match(refusal({ $ref: 7 }), /inside the document/);
  assert.match(refusal({ $dynamicRef: '#x' }), /dynamicRef/);
  assert.match(refusal({ properties: { a: { $id: 'x' } } }), /nested/);
  assert.equal(
    compileSchema({ $ref: '#/$defs/a~1b%25', $defs: { 'a/b%': true } }, 'output').jsonSchema['$ref'],
    '#/$defs/a~1b%25',
  );
});

check('keywords in wrong shapes are refused with their place', () => {
  const bad: [object, RegExp][] = [
    [{ required: 'name' }, /\/required/],
    [{ type: 'text' }, /\/type/],
    [{ properties: [] }, /\/properties/],
    [{ properties: { a: 1 } }, /\/properties\/a/],
    [{ items: 3 }, /\/items/],
    [{ anyOf: {} }, /\/anyOf/],
    [{ minLength: -1 }, /\/minLength/],
    [{ multipleOf: 0 }, /\/multipleOf/],
    [{ pattern: '(' }, /\/pattern/],
    [{ pattern: 'x'.repeat(1_001) }, /\/pattern/],
    [{ patternProperties: { '(': true } }, /\/patternProperties/],
    [{ dependencies: { a: [1] } }, /\/dependencies\/a/],
    [{ dependentRequired: { a: 'b' } }, /\/dependentRequired/],
    [{ enum: Array.from({ length: 1_001 }, (_, i) => i) }, /\/enum/],
  ];
  for (const [schema, place] of bad) assert.match(refusal(schema), place);
});

check('size, depth and number of values are bounded at their edges', async () => {
  const nested = (levels: number): JsonSchemaObject => {
    let schema: JsonSchemaObject = {};
    for (let i = 0; i < levels; i += 1) schema = { not: schema };
    return schema;
  };
  assert.ok(compileSchema(nested(31), 'output'));
  assert.match(refusal(nested(32)), /deeper than 32/);
  assert.match(refusal({ description: 'x'.repeat(131_072) }), /larger than 131072/);
  assert.match(
    refusal({ properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, true])) }),
    /5000/,
  );
  const circle: Record<string, unknown> = {};
  circle['not'] = circle;
  assert.match(refusal(circle), /deeper/);
  assert.match(refusal({ default: () => 1 }), /plain JSON/);
  assert.match(
    (
      await issuesOf(
        {},
        Array.from({ length: 100_000 }, () => 1),
      )
    ).join(),
    /100000 values/,
  );
  assert.ok(
    await fits(
      {},
      Array.from({ length: 99_999 }, () => 1),
    ),
  );
  assert.match((await issuesOf({}, new Date(0))).join(), /plain JSON/);
});

check('large lists and unique items are checked off the main thread', async () => {
  const numbers = Array.from({ length: 3_000 }, (_, i) => i);
  assert.ok(await fits({ items: { type: 'number' } }, numbers));
  assert.ok(!(await fits({ items: { type: 'number' } }, [...numbers, 'x'])));
  assert.ok(await fits({ uniqueItems: true }, numbers.slice(0, 300)));
  assert.ok(!(await fits({ uniqueItems: true }, [...numbers.slice(0, 300), 7])));
});

check('where no thread may be started, each check that needs one is told so, and none waits for ever', async () => {
  const module = pathToFileURL(join(ROOT, 'src', 'tools', 'json-schema', 'index.ts')).href;
  const program = `
    const { compileJsonSchema } = await import(${JSON.stringify(module)});
    const check = compileJsonSchema({ type: 'string', pattern: '^a' });
    const told = [];
    for (const value of ['a', 'b', 'c'])
      told.push(await check(value).then(([issue]) => issue?.message, () => 'thrown'));
    console.log(JSON.stringify(told));
  `;
  const how = ['--permission', '--allow-fs-read=*', '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...how, '-e', program]);
  assert.deepEqual(JSON.parse(stdout), Array(3).fill('the checking thread did not start'));
});
