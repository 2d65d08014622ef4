import { readStrictJson, JSON_PROFILES, type JsonObject } from '../../src/core/index.ts';
import { openFilesystem } from '../../src/effects/index.ts';
import { sealPolicy } from '../../src/mcp/index.ts';
import { settledGuardTool } from '../../src/tools/index.ts';
import { describedTool } from '../../src/mcp/guard/policy-decision.ts';
import { statusOfAnswer } from '../../src/mcp/guard/policy-status.ts';
import { acceptOutput } from '../../src/tools/index.ts';
import { assert, check } from '../support/index.ts';
import { type Draft, judge, policyOf } from './policy-fixture.ts';

const policy = (status: Draft): Draft => ({
  version: 1,
  name: 'p',
  revision: '1',
  server: 's',
  tools: { find: { effect: 'read' }, make: { effect: 'reconcilable', status: { tool: 'find', ...status } } },
});

function stateOf(status: Draft, result: string): string {
  const sealed = sealPolicy(policyOf(policy(status)), openFilesystem());
  const read = readStrictJson(result, JSON_PROFILES.wire) as JsonObject;
  const answer = { kind: 'result', isError: read['isError'] === true, result: read } as const;
  return statusOfAnswer(sealed, describedTool(sealed.policy, 'make'), answer).state;
}

const FOUND = {
  happened: [{ at: '/json/order', present: true }],
  not_happened: [{ at: '/json/order', present: false }],
};
const saying = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] });

check('an answer settles a call only where it clearly says one thing', () => {
  assert.equal(stateOf(FOUND, saying('{"order":1}')), 'happened');
  assert.equal(stateOf(FOUND, saying('{"other":1}')), 'not_happened');
  for (const unclear of [saying('no JSON'), saying('[]'), saying('{"a":1,"a":2}'), '{"content":[]}', '{}'])
    assert.equal(stateOf(FOUND, unclear), 'unknown', unclear);
  assert.equal(
    stateOf(FOUND, '{"json":{"order":1}}'),
    'unknown',
    'what the server calls json is not what its text says',
  );
  assert.equal(stateOf(FOUND, '{"isError":true,"content":[{"type":"text","text":"{\\"order\\":1}"}]}'), 'unknown');
});

check('an answer as deep as may pass settles a call, and is kept where the ledger can keep it', async () => {
  const sealed = sealPolicy(policyOf(policy(FOUND)), openFilesystem());
  const guarded = { inputSchema: 'guard-v1', outputSchema: 'guard-v1', effect: 'reconcilable' };
  const tool = settledGuardTool('s__make', {
    ...guarded,
    handler: 'guard-v1',
    producer: 'guard-v1',
    policy: 'guard-v1-unknown',
  });
  assert.ok(tool);
  for (const [levels, kept] of [
    [1, 'result'],
    [24, 'result'],
    [25, 'result_sha256'],
  ] as const) {
    const deep = `{"content":[{"type":"text","text":"{\\"order\\":1}"}],"deep":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const result = readStrictJson(deep, JSON_PROFILES.wire) as JsonObject;
    const said = statusOfAnswer(sealed, describedTool(sealed.policy, 'make'), {
      kind: 'result',
      isError: false,
      result,
    });
    assert.ok(said.state === 'happened');
    const { asked } = said.output as { asked: object };
    assert.ok(kept in asked, `${levels} levels`);
    assert.equal((await acceptOutput(tool, said.output, {})).ok, true, `${levels} levels`);
  }
});

check('both or neither say nothing, and without a word for not happened nothing says so', () => {
  const both = { happened: [{ at: '/a', present: true }], not_happened: [{ at: '/b', present: true }] };
  assert.equal(stateOf(both, '{"a":1}'), 'happened');
  assert.equal(stateOf(both, '{"b":1}'), 'not_happened');
  assert.equal(stateOf(both, '{"a":1,"b":1}'), 'unknown');
  assert.equal(stateOf(both, '{"c":1}'), 'unknown');
  const all = {
    happened: [
      { at: '/state', equals: 'made' },
      { at: '/n', at_least: 1 },
    ],
  };
  assert.equal(stateOf(all, '{"state":"made","n":1.0}'), 'happened');
  assert.equal(stateOf(all, '{"state":"made","n":0}'), 'unknown');
  assert.equal(stateOf(all, '{"state":"made"}'), 'unknown');
});

check('what a policy says of such a tool is judged like any other, and the test of it says who is asked', () => {
  const verdict = judge(policy(FOUND), 'make');
  assert.deepEqual([verdict.decision, verdict.tool.effect, verdict.tool.status?.tool], ['ask', 'reconcilable', 'find']);
});
