import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { HoldfastError } from '../../src/core/index.ts';
import { NotDone, tool, type ToolDefinition } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';

const principal = { tenant: 'local', subject: 'owner', roles: [] };

const base = {
  name: 'move_file',
  description: 'Move a file.',
  inputSchema: z.object({ from: z.string(), to: z.string() }),
  effect: 'once',
  execute: () => 'ok',
} as const satisfies ToolDefinition;

function refusal(change: object): HoldfastError {
  try {
    tool({ ...base, ...change } as ToolDefinition);
  } catch (error) {
    assert.ok(error instanceof HoldfastError);
    return error;
  }
  throw new Error('the definition was accepted');
}

check('a definition gets its defaults and is frozen, and later edits of the object do not reach it', async () => {
  const editable = ['to'];
  const definition = { ...base, editable };
  const made = tool(definition);
  editable.push('from');
  (definition as { execute: () => unknown }).execute = () => 'changed';
  assert.deepEqual(made.editable, ['to']);
  assert.ok(Object.isFrozen(made) && Object.isFrozen(made.editable) && Object.isFrozen(made.revisions));
  assert.equal(made.revisions.handler, 'move_file-v1');
  assert.equal(made.timeoutMs, 20_000);
  assert.equal(made.onError, 'unknown');
  assert.equal(made.parallel, false);
  assert.equal(made.producer, 'move_file');
  assert.equal(made.needsApproval, null);
  const call = { callId: 'c', idempotencyKey: 'k', principal, runId: null, timeoutMs: 1, progress: () => undefined };
  assert.equal(await made.execute({}, { ...call, signal: new AbortController().signal }), 'ok');
});

check('reads may run beside others unless told otherwise', () => {
  assert.equal(tool({ ...base, effect: 'read' }).parallel, true);
  assert.equal(tool({ ...base, effect: 'read', parallel: false }).parallel, false);
});

check('once with status, and reconcilable without, are refused by name', () => {
  const asked = refusal({ status: () => ({ state: 'unknown' }) });
  assert.equal(asked.code, 'TOOL_INVALID');
  assert.deepEqual(asked.details, { field: 'status' });
  assert.deepEqual(refusal({ effect: 'reconcilable' }).details, { field: 'status' });
  assert.equal(refusal({ effect: 'sometimes' }).details?.['field'], 'effect');
});

check('names, texts and bounds are refused just beyond their edge and taken at it', () => {
  for (const name of ['', '1a', 'a b', 'ä', 'a.b', 'a'.repeat(65)])
    assert.equal(refusal({ name }).code, 'TOOL_INVALID');
  assert.equal(tool({ ...base, name: 'a'.repeat(64) }).name.length, 64);
  const edges: [string, object, object][] = [
    ['description', { description: 'x'.repeat(8_192) }, { description: 'x'.repeat(8_193) }],
    ['timeoutMs', { timeoutMs: 600_000 }, { timeoutMs: 600_001 }],
    ['timeoutMs', { timeoutMs: 1 }, { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: 2 }, { timeoutMs: 1.5 }],
    ['settlesWithinMs', { settlesWithinMs: 0 }, { settlesWithinMs: -1 }],
    ['settlesWithinMs', { settlesWithinMs: 604_800_000 }, { settlesWithinMs: 604_800_001 }],
    ['outputLimits', { outputLimits: { maxBytes: 1_048_576 } }, { outputLimits: { maxBytes: 1_048_577 } }],
    ['outputLimits', { outputLimits: { maxDepth: 32 } }, { outputLimits: { maxDepth: 33 } }],
    ['editable', { editable: Array.from({ length: 64 }, (_, i) => `f${i}`) }, { editable: Array(65).fill('f') }],
    ['groups', { groups: ['a', 'b'] }, { groups: ['a', 'a'] }],
    ['secretFields', { secretFields: ['x'.repeat(255)] }, { secretFields: ['x'.repeat(256)] }],
    ['revisions', { revisions: { policy: 'p2' } }, { revisions: { policy: ' ' } }],
    ['revisions', { revisions: {} }, { revisions: { polisy: 'p' } }],
    ['producer', { producer: 'us' }, { producer: 'a\nb' }],
    ['urlPatterns', { urlPatterns: ['https://a.example/**'] }, { urlPatterns: [] }],
  ];
  for (const [field, fine, bad] of edges) {
    assert.equal(tool({ ...base, ...fine }).name, base.name, field);
    assert.equal(refusal(bad).details?.['field'], field);
  }
});

check('fields that no tool has, and handlers that are no functions, are refused', () => {
  assert.equal(refusal({ needApproval: true }).details?.['field'], 'needApproval');
  for (const field of ['execute', 'authorize', 'precondition', 'receipt', 'resources', 'postconditions', 'observe'])
    assert.equal(refusal({ [field]: 'text' }).details?.['field'], field);
  assert.equal(refusal({ needsApproval: 'yes' }).details?.['field'], 'needsApproval');
  assert.equal(refusal({ onError: 'retry' }).details?.['field'], 'onError');
  assert.equal(refusal({ inputSchema: 'text' }).details?.['field'], 'inputSchema');
});

check('a question about approval that throws, or answers strangely, means yes', async () => {
  const asks = (needsApproval: unknown) => tool({ ...base, needsApproval } as ToolDefinition).needsApproval;
  assert.equal(await asks(false)?.({}, principal), false);
  assert.equal(await asks(true)?.({}, principal), true);
  assert.equal(await asks(() => false)?.({}, principal), false);
  assert.equal(await asks(async () => Promise.reject(new Error('x')))?.({}, principal), true);
  assert.equal(await asks(() => undefined)?.({}, principal), true);
});

check('handlers are typed by the schema of each library, and a plain JSON Schema gives a record', async () => {
  const answers: unknown[] = [];
  const call = {
    callId: 'c',
    idempotencyKey: 'k',
    principal,
    runId: null,
    timeoutMs: 1,
    signal: new AbortController().signal,
    progress: () => undefined,
  };
  const rest = { description: '', effect: 'read' } as const;
  const made = [
    tool({ ...rest, name: 'zod', inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n.toFixed(1) }),
    tool({
      ...rest,
      name: 'valibot',
      inputSchema: v.object({ n: v.number() }),
      jsonSchema: { type: 'object' },
      execute: ({ n }) => n.toFixed(1),
    }),
    tool({ ...rest, name: 'arktype', inputSchema: type({ n: 'number' }), execute: ({ n }) => n.toFixed(1) }),
    tool({ ...rest, name: 'plain', inputSchema: { type: 'object' }, execute: (input) => String(input['n']) }),
  ];
  for (const each of made) {
    const verdict = await each.input.check({ n: 2 });
    assert.ok(verdict.ok);
    answers.push(await each.execute(verdict.value, call));
    assert.equal(each.input.jsonSchema['type'], 'object');
  }
  assert.deepEqual(answers, ['2.0', '2.0', '2.0', '2']);
});

check('a schema library without JSON Schema needs an explicit form', () => {
  const error = refusal({ inputSchema: v.object({ a: v.string() }) });
  assert.equal(error.code, 'TOOL_SCHEMA_INVALID');
  assert.match(error.message, /jsonSchema/);
  assert.equal(refusal({ inputSchema: z.object({ when: z.date() }) }).code, 'TOOL_SCHEMA_INVALID');
  const shown = tool({ ...base, jsonSchema: { type: 'object', title: 'shown' } });
  assert.equal(shown.input.jsonSchema['title'], 'shown');
  assert.ok(Object.isFrozen(shown.input.jsonSchema));
});

check('NotDone is known by its mark, whichever copy of the package made it', () => {
  const foreign = Object.assign(new Error('x'), { holdfastNotDone: true });
  assert.ok(NotDone.is(new NotDone('nothing sent')) && NotDone.is(foreign));
  assert.ok(!NotDone.is(new Error('x')) && !NotDone.is({ holdfastNotDone: true }));
});
