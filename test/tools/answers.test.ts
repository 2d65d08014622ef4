import { readStatusAnswer, receiptOf, scopeOf, tool, type ToolDefinition } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';

const made = (change: Partial<ToolDefinition>) =>
  tool({
    name: 'send',
    description: '',
    inputSchema: { type: 'object' },
    effect: 'idempotent',
    execute: () => 1,
    ...change,
  });

check('only the three forms of a status answer count; all else settles nothing', () => {
  assert.deepEqual(readStatusAnswer({ state: 'happened', output: { id: 1 } }), {
    state: 'happened',
    output: { id: 1 },
  });
  assert.deepEqual(readStatusAnswer({ state: 'happened' }), { state: 'happened', output: null });
  assert.deepEqual(readStatusAnswer({ state: 'not_happened', output: 1 }), { state: 'not_happened' });
  assert.deepEqual(readStatusAnswer({ state: 'unknown', reason: 'busy' }), { state: 'unknown', reason: 'busy' });
  for (const answer of [null, undefined, false, true, 'not_happened', {}, [], { state: 'no' }, { happened: true }])
    assert.equal(readStatusAnswer(answer).state, 'unknown');
});

check('a receipt is read in bounds, and one that cannot be stored is refused', () => {
  const receipt = { receiptId: 'r-1', resourceRevision: 'v7', observedAt: 1_700_000_000 };
  assert.deepEqual(receiptOf(made({ receipt: () => ({ ...receipt, extra: 1 }) as object }), {}, {}), receipt);
  assert.deepEqual(receiptOf(made({}), {}, {}), {});
  assert.equal(receiptOf(made({ receipt: () => ({ receiptId: 'x'.repeat(255) }) }), {}, {}).receiptId?.length, 255);
  const bad: unknown[] = [
    null,
    'r',
    { receiptId: ' ' },
    { receiptId: 'x'.repeat(256) },
    { downstreamRequestId: 7 },
    { resourceRevision: 'a\0b' },
    { observedAt: 1.5 },
    { observedAt: -1 },
    { observedAt: 253_402_300_800 },
  ];
  for (const each of bad)
    assert.throws(() => receiptOf(made({ receipt: () => each as object }), {}, {}), { code: 'TOOL_INVALID' });
  const failing = made({ receipt: (output) => ({ receiptId: (output as { draft: { id: string } }).draft.id }) });
  assert.throws(() => receiptOf(failing, {}, {}), { code: 'TOOL_INVALID' });
});

check(
  'a call touches what its tool declares; a writing tool that says nothing touches itself; a read touches nothing',
  () => {
    assert.deepEqual(scopeOf(made({ effect: 'read' }), {}), { resources: [], postconditions: [] });
    assert.deepEqual(scopeOf(made({ producer: 'mail' }), {}).resources, [
      { kind: 'external', role: 'target', namespace: 'tool', endpointId: 'mail', serverId: 'mail', toolId: 'send' },
    ]);
    const file = { kind: 'filesystem', role: 'out', root: 'r', path: 'a.txt', mayBeMissing: true } as const;
    const writes = made({
      resources: () => [file],
      postconditions: () => [{ role: 'out', predicate: 'exists' }],
    });
    assert.deepEqual(scopeOf(writes, {}), {
      resources: [file],
      postconditions: [{ role: 'out', predicate: 'exists' }],
    });
    assert.equal(scopeOf(made({ resources: () => 'anything' }), {}).resources, 'anything');
    const bad: Partial<ToolDefinition>[] = [
      { resources: () => [file, file] },
      { resources: () => [{ ...file, role: '' }] },
      { resources: () => [null as unknown as typeof file] },
      { resources: () => undefined as unknown as [] },
      { resources: () => Array.from({ length: 65 }, (_, i) => ({ ...file, role: `r${i}` })) },
      { resources: () => [file], postconditions: () => [{ role: 'in', predicate: 'exists' }] },
      { resources: () => 'anything', postconditions: () => [{ role: 'out', predicate: 'exists' }] },
      { resources: () => JSON.parse('{') as [] },
    ];
    for (const each of bad) assert.throws(() => scopeOf(made(each), {}), { code: 'TOOL_INVALID' });
  },
);
