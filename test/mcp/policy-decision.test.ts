import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonValue, readStrictJson, JSON_PROFILES, sha256Hex } from '../../src/core/index.ts';
import { openFilesystem } from '../../src/effects/index.ts';
import { explainCall, explanationDocument, readProposedCall, sealPolicy } from '../../src/mcp/index.ts';
import { valuesAt } from '../../src/mcp/guard/json-pointer.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { draft, judge, policyOf, workspace } from './policy-fixture.ts';

const decided = (verdict: ReturnType<typeof judge>) => [verdict.decision, verdict.rule];

check('deny comes before ask, ask before allow, and no match holds', async (t) => {
  const policy = draft(workspace(await temporaryFolder(t)));
  assert.deepEqual(decided(judge(policy, 'pay', { amount: 5 })), ['allow', 'small']);
  assert.deepEqual(decided(judge(policy, 'pay', { amount: 50 })), ['ask', null]);
  assert.deepEqual(decided(judge(policy, 'pay', { amount: 500 })), ['ask', 'boss']);
  assert.deepEqual(judge(policy, 'pay', { amount: 500 }).approvers, { roles: ['boss'], subjects: [] });
  const large = judge(policy, 'pay', { amount: 5000 });
  assert.deepEqual(
    [large.decision, large.rule, large.code, large.reason, large.passes],
    ['deny', 'large', 'POLICY_DENIED', 'too much', false],
  );
});

check('a deny beats an allow and an ask about the same call, an ask an allow', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const rule = (id: string, decision: string, at: string) => ({
    id,
    tools: ['pay'],
    decision,
    when: [{ at, present: true }],
  });
  const [allow, ask, deny] = [rule('yes', 'allow', '/a'), rule('wait', 'ask', '/b'), rule('no', 'deny', '/c')];
  const policy = draft(root, { rules: [allow, ask, deny] });
  assert.deepEqual(decided(judge(policy, 'pay', { a: 1 })), ['allow', 'yes']);
  assert.deepEqual(decided(judge(policy, 'pay', { a: 1, b: 1 })), ['ask', 'wait']);
  assert.deepEqual(decided(judge(policy, 'pay', { a: 1, b: 1, c: 1 })), ['deny', 'no']);
});

check('what cannot be told counts against the call', async (t) => {
  const policy = draft(workspace(await temporaryFolder(t)));
  for (const args of [{}, { amount: '5' }, { amount: null }, { amount: [5] }])
    assert.deepEqual(decided(judge(policy, 'pay', args)), ['deny', 'large'], JSON.stringify(args));
});

check('an allow by a pattern lets only described reads pass; a writing tool only by its exact name', async (t) => {
  const policy = draft(workspace(await temporaryFolder(t)));
  assert.deepEqual(decided(judge(policy, 'read_file')), ['allow', 'reads']);
  assert.deepEqual(decided(judge(policy, 'read_unknown')), ['ask', null], 'not described, so once');
  const shell = judge(policy, 'shell', { command: 'x' });
  assert.deepEqual(decided(shell), ['ask', null]);
  assert.deepEqual(
    shell.notes.map((note) => note.text),
    ['a pattern lets only described reads pass'],
  );
  assert.equal(shell.resources, 'anything');
});

check('a tool that nobody described is once and touches itself', async (t) => {
  const verdict = judge(draft(workspace(await temporaryFolder(t))), 'stranger');
  assert.deepEqual([verdict.described, verdict.tool.effect, verdict.decision], [false, 'once', 'ask']);
  assert.deepEqual(verdict.resources, [
    { kind: 'external', role: 'target', namespace: 'mcp', endpointId: 'files', serverId: 'files', toolId: 'stranger' },
  ]);
});

check('arguments are mapped to files, and the content they must hold', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const verdict = judge(draft(root), 'write_file', { path: 'new.txt', content: 'hello' });
  assert.deepEqual(decided(verdict), ['allow', 'writes']);
  assert.deepEqual(verdict.resources, [
    { kind: 'filesystem', role: 'file', root, path: 'new.txt', mayBeMissing: true },
  ]);
  assert.deepEqual(verdict.postconditions, [
    { role: 'file', predicate: 'content_sha256', expected: sha256Hex('hello') },
  ]);
  assert.deepEqual(judge(draft(root), 'write_file', { path: 'new.txt', content: 7 }).postconditions, []);
});

check('a pointer with * names every item, each with a role of its own', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const verdict = judge(draft(root), 'move_many', { moves: [{ from: 'a.txt' }, { from: 'b.txt' }], note: 7 });
  assert.deepEqual(Array.isArray(verdict.resources) ? verdict.resources.map((one) => one.role) : [], [
    'source.1',
    'source.2',
    'note',
  ]);
  assert.deepEqual(
    verdict.postconditions.map((one) => [one.role, one.predicate]),
    [
      ['source.1', 'absent'],
      ['source.2', 'absent'],
    ],
  );
});

check(
  'paths outside the root, through links, sensitive, odd or missing are refused with a code, whatever a rule allows',
  async (t) => {
    const folder = await temporaryFolder(t);
    const root = workspace(folder);
    mkdirSync(join(folder, 'out'));
    symlinkSync('../out', join(root, 'door'));
    linkSync(join(root, 'a.txt'), join(root, 'twin.txt'));
    const policy = draft(root, { rules: [{ id: 'all', tools: ['write_file', 'move_many'], decision: 'allow' }] });
    const codeOf = (path: unknown) => judge(policy, 'write_file', { path: path as string, content: '' });
    for (const path of ['../x', '/etc/passwd', 'door/x', `${root}2/x`])
      assert.deepEqual(
        [codeOf(path).decision, codeOf(path).code, codeOf(path).passes],
        ['deny', 'RESOURCE_OUTSIDE_ROOT', false],
        path,
      );
    for (const path of ['.ssh/x', 'sub/.ENV', 'id_rsa', 'twin.txt', '.ſsh/x'])
      assert.equal(codeOf(path).code, 'RESOURCE_SENSITIVE', path);
    for (const path of ['', ' ', 'a\0b', 'a\nb'])
      assert.equal(codeOf(path).code, 'RESOURCE_INVALID', JSON.stringify(path));
    assert.equal(judge(policy, 'move_many', { moves: [{ from: 'none' }], note: 'n' }).code, 'RESOURCE_NOT_FOUND');
    const one = judge(policy, 'move_many', { moves: [{ from: 'b.txt' }, { from: '../x' }], note: 'n' });
    assert.equal(one.code, 'RESOURCE_OUTSIDE_ROOT', 'one of several is enough');
  },
);

check('arguments that do not name what the policy expects may touch anything, and are held', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const policy = draft(root, { rules: [{ id: 'all', tools: ['write_file', 'move_many'], decision: 'allow' }] });
  for (const args of [{}, { path: 7 }, { path: ['a'] }, { path: null }].slice(0, 1)) {
    const verdict = judge(policy, 'write_file', args);
    assert.deepEqual([verdict.decision, verdict.resources, verdict.postconditions], ['ask', 'anything', []]);
    assert.match(verdict.reason, /do not name the file/);
  }
  assert.equal(judge(policy, 'move_many', { moves: [], note: 'n' }).decision, 'ask', 'an empty list names nothing');
  const moves = (count: number) => ({ moves: Array.from({ length: count }, () => ({ from: 'b.txt' })), note: 'n' });
  assert.equal(judge(policy, 'move_many', moves(63)).decision, 'allow');
  assert.equal(judge(policy, 'move_many', moves(64)).decision, 'ask');
});

check('shadow mode lets everything pass and says what it would have done', async (t) => {
  const policy = draft(workspace(await temporaryFolder(t)), { mode: 'shadow' });
  const verdict = judge(policy, 'pay', { amount: 5000 });
  assert.deepEqual([verdict.decision, verdict.passes, verdict.mode], ['deny', true, 'shadow']);
  assert.equal(judge(policy, 'stranger').passes, true);
});

const CONDITIONS: readonly (readonly [Record<string, unknown>, string, boolean])[] = [
  [{ at: '/x', equals: 1 }, '{"x":1}', true],
  [{ at: '/x', equals: 1 }, '{"x":1.0}', true],
  [{ at: '/x', equals: 1 }, '{"x":"1"}', false],
  [{ at: '/x', equals: null }, '{"x":null}', true],
  [{ at: '/x', equals: 'a' }, '{"x":{"a":1}}', false],
  [{ at: '/x', one_of: ['a', 'b'] }, '{"x":"b"}', true],
  [{ at: '/x', one_of: ['a', 'b'] }, '{"x":"c"}', false],
  [{ at: '/x', at_most: 10 }, '{"x":10}', true],
  [{ at: '/x', at_most: 10 }, '{"x":10.5}', false],
  [{ at: '/x', at_least: 10 }, '{"x":123456789012345678901234567890}', true],
  [{ at: '/x', present: true }, '{"x":null}', true],
  [{ at: '/x', present: false }, '{}', true],
  [{ at: '/x', present: false }, '{"x":0}', false],
  [{ at: '/a~1b/~0', equals: 1 }, '{"a/b":{"~":1}}', true],
  [{ at: '/l/1', equals: 1 }, '{"l":[0,1]}', true],
  [{ at: '/l/01', equals: 1 }, '{"l":[0,1]}', false],
  [{ at: '/l/*', at_most: 5 }, '{"l":[1,5]}', true],
  [{ at: '/l/*', at_most: 5 }, '{"l":[1,6]}', false],
  [{ at: '/l/*', at_most: 5 }, '{"l":[]}', false],
  [{ at: '/o/*/k', equals: 1 }, '{"o":{"a":{"k":1},"b":{"k":1}}}', true],
  [{ at: '/toString', present: true }, '{}', false],
  [{ at: '/p', within: 'files' }, '{"p":"a.txt"}', true],
  [{ at: '/p', within: 'files' }, '{"p":"../a.txt"}', false],
  [{ at: '/p', within: 'files' }, '{"p":".env"}', false],
  [{ at: '/p', within: 'files' }, '{"p":7}', false],
];

check('each test of a condition, as an allow takes it', async (t) => {
  const root = workspace(await temporaryFolder(t));
  for (const [when, text, expected] of CONDITIONS) {
    const policy = draft(root, { rules: [{ id: 'r', tools: ['pay'], when: [when], decision: 'allow' }] });
    const args = readStrictJson(text, JSON_PROFILES.wire);
    assert.equal(judge(policy, 'pay', args).decision === 'allow', expected, `${JSON.stringify(when)} ${text}`);
  }
});

check('with several values a deny needs one of them, an allow all', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const rule = (decision: string) =>
    draft(root, { rules: [{ id: 'r', tools: ['pay'], when: [{ at: '/l/*', equals: 'bad' }], decision }] });
  const mixed = { l: ['good', 'bad'] };
  assert.equal(judge(rule('deny'), 'pay', mixed).decision, 'deny');
  assert.equal(judge(rule('allow'), 'pay', mixed).decision, 'ask');
  assert.equal(judge(rule('deny'), 'pay', { l: ['good'] }).decision, 'ask');
});

check('an argument of another type, which a server may take for the same value, counts against the call', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const rules = (when: object) => [
    { id: 'no', tools: ['pay'], when: [when], decision: 'deny' },
    { id: 'yes', tools: ['pay'], decision: 'allow' },
  ];
  const verdict = (when: object, x: JsonValue) => judge(draft(root, { rules: rules(when) }), 'pay', { x }).decision;
  for (const x of ['true', 1, [true], { a: true }, null]) assert.equal(verdict({ at: '/x', equals: true }, x), 'deny');
  assert.equal(verdict({ at: '/x', equals: true }, false), 'allow');
  for (const x of [5, ['prod'], { a: 'prod' }])
    assert.equal(verdict({ at: '/x', one_of: ['prod', 'main'] }, x), 'deny');
  assert.equal(verdict({ at: '/x', one_of: ['prod', 'main'] }, 'test'), 'allow');
  assert.equal(verdict({ at: '/x', one_of: ['prod', 7] }, 8), 'deny', 'it may be taken for a text');
});

check('an argument that stands twice for whoever ignores case counts against the call', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const policy = draft(root, {
    rules: [
      { id: 'writes', tools: ['write_file'], when: [{ at: '/path', within: 'files' }], decision: 'allow' },
      { id: 'no', tools: ['pay'], when: [{ at: '/deep/force', present: true }], decision: 'deny' },
      { id: 'pays', tools: ['pay'], when: [{ at: '/dry', present: false }], decision: 'allow' },
    ],
  });
  const write = (more: object) => judge(policy, 'write_file', { path: 'a.txt', content: 'c', ...more });
  assert.equal(write({}).decision, 'allow');
  for (const more of [{ Path: '/etc/passwd' }, { PATH: '../x' }]) {
    assert.deepEqual([write(more).decision, write(more).resources], ['ask', 'anything']);
    const all = draft(root, { rules: [{ id: 'all', tools: ['write_file'], decision: 'allow' }] });
    assert.equal(judge(all, 'write_file', { path: 'a.txt', content: 'c', ...more }).decision, 'ask');
  }
  assert.equal(judge(policy, 'pay', {}).decision, 'allow');
  assert.equal(judge(policy, 'pay', { DRY: 1 }).decision, 'ask');
  for (const deep of [{ force: 1, Force: 2 }, { Force: 1 }, { force: 1, FORCE: 1 }])
    assert.equal(judge(policy, 'pay', { deep }).decision, 'deny', JSON.stringify(deep));
  const kelvin = draft(root, {
    rules: [{ id: 'k', tools: ['pay'], when: [{ at: '/key', equals: 1 }], decision: 'allow' }],
  });
  assert.equal(judge(kelvin, 'pay', { key: 1 }).decision, 'allow');
  assert.equal(judge(kelvin, 'pay', { key: 1, Key: 2 }).decision, 'ask');
});

check('a path that a server takes otherwise than our own tools do lets nothing pass', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const policy = draft(root, {
    tools: {
      ...(draft(root)['tools'] as object),
      look: { effect: 'read' },
    },
    rules: [
      { id: 'looks', tools: ['look'], when: [{ at: '/path', within: 'files' }], decision: 'allow' },
      { id: 'all', tools: ['write_file'], decision: 'allow' },
    ],
  });
  const looks = (path: string) => judge(policy, 'look', { path }).decision;
  const writing = (path: string) => judge(policy, 'write_file', { path, content: 'c' });
  assert.deepEqual([looks('a.txt'), writing('a.txt').decision], ['allow', 'allow']);
  // Our own tools know this name for the root; a server goes to the folder that is so called.
  for (const path of ['/workspace/a.txt', '/workspace'])
    assert.deepEqual([looks(path), writing(path).code], ['ask', 'RESOURCE_OUTSIDE_ROOT'], path);
  for (const path of ['~root/x', '~a', 'file:///etc/passwd', 'FILE://x', 'a.txt ', ' a.txt']) {
    assert.equal(looks(path), 'ask', path);
    assert.deepEqual([writing(path).decision, writing(path).resources], ['ask', 'anything'], path);
  }
  for (const path of ['sub/~a', 'a:b', `${root}/a.txt`]) assert.equal(looks(path), 'allow', path);
});

check('patterns match whole names, each * any characters, without backtracking', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const hits = (pattern: string, name: string) =>
    judge(draft(root, { rules: [{ id: 'r', tools: [pattern], decision: 'deny' }] }), name).decision === 'deny';
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['*', 'anything', true],
    ['a', 'a', true],
    ['a', 'ab', false],
    ['a*', 'a', true],
    ['a*', 'ba', false],
    ['*a', 'ba', true],
    ['a*b*c', 'a-b-c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['a**b', 'ab', true],
    ['*x*x*', 'axbx', true],
    ['*x*x*', 'ax', false],
    ['a.c', 'abc', false],
  ];
  for (const [pattern, name, expected] of cases) assert.equal(hits(pattern, name), expected, `${pattern} ${name}`);
  assert.equal(hits('*a'.repeat(60), 'a'.repeat(59)), false);
});

check('pointers name own members only', () => {
  const value: JsonValue = { a: [1, { b: 2 }] };
  assert.deepEqual(valuesAt(value, '/a/1/b'), [2]);
  for (const at of ['/a/length', '/constructor', '/a/-1', '/a/2', '/a/0/x'])
    assert.equal(valuesAt(value, at), undefined, at);
});

check('a record id that is none is refused as it will be for the claim, and not told as passing', async (t) => {
  const owned = { kind: 'owned', role: 'r', namespace: 'n', collection: 'c', record: '/id' };
  const policy = draft(workspace(await temporaryFolder(t)), {
    tools: { put: { effect: 'once', resources: [owned] } },
    rules: [{ id: 'all', tools: ['put'], decision: 'allow' }],
  });
  assert.equal(judge(policy, 'put', { id: 'n1' }).decision, 'allow');
  for (const id of ['', 'a\u0000b', 'a\nb', 'x'.repeat(5000)]) {
    const { decision, code, passes } = judge(policy, 'put', { id });
    assert.deepEqual([decision, code, passes], ['deny', 'RESOURCE_INVALID', false], JSON.stringify(id).slice(0, 20));
  }
});

check('a test of the policy says what would happen and why, and escapes what the call brought', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const sealed = sealPolicy(policyOf(draft(root)), openFilesystem());
  const call = readProposedCall({ name: 'write_file', arguments: { path: 'x\u202ey', content: 'c' }, _meta: {} });
  const lines = explainCall(sealed, call);
  assert.equal(lines[0], 'write_file: passes at once');
  assert.ok(lines.some((line) => line.startsWith('may change: file: x') && !line.includes('\u202e')));
  assert.ok(lines.includes('  rule writes (allow): applies'));
  const held = explainCall(sealed, readProposedCall({ name: 'pay', arguments: { amount: 500 } }));
  assert.equal(held[0], 'pay: is held until somebody decides');
  assert.ok(held.includes('may decide: role boss'));
  assert.ok(held.includes('an error answer means: not_done'));
  const document = explanationDocument(sealed, { name: 'pay', arguments: { amount: 5000 } });
  assert.deepEqual(
    [document['decision'], document['rule'], document['code'], document['effect'], document['on_error']],
    ['deny', 'large', 'POLICY_DENIED', 'once', 'not_done'],
  );
  const shadow = sealPolicy(policyOf(draft(root, { mode: 'shadow' })), openFilesystem());
  assert.match(
    explainCall(shadow, { name: 'pay', arguments: { amount: 5000 } })[0] ?? '',
    /passes, since the policy is in shadow mode; otherwise it is refused/,
  );
  writeFileSync(join(root, 'unused'), '');
  for (const bad of [null, [], { name: '' }, { name: 'x', arguments: [] }, { arguments: {} }] as JsonValue[])
    assert.throws(() => readProposedCall(bad), { code: 'INVALID_VALUE' });
});
