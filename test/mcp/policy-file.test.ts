import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, type JsonValue, sha256Hex } from '../../src/core/index.ts';
import { openFilesystem } from '../../src/effects/index.ts';
import { POLICY_PRESETS, readPolicy, sealPolicy, startingPolicy } from '../../src/mcp/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { type Draft, draft, judge, policyOf, workspace } from './policy-fixture.ts';

const minimal = { version: 1, name: 'p', revision: '1', server: 's' };

function refusedAt(value: unknown, at: string): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  assert.throws(() => readPolicy(text), { code: 'POLICY_INVALID', details: { at } }, text);
}

check('the least policy holds everything, and its defaults are the careful ones', () => {
  const policy = policyOf(minimal);
  assert.deepEqual(
    [policy.mode, policy.holdSeconds, policy.approvers, policy.rules, policy.tools.size],
    ['enforce', 900, { roles: ['approver'], subjects: [] }, [], 0],
  );
  assert.equal(policy.digest, sha256Hex(canonicalJson(minimal as JsonValue)));
});

check('the digest is that of the canonical file: order and blanks do not matter, every value does', () => {
  const a = readPolicy('{"version":1,"name":"p","revision":"1","server":"s"}').digest;
  const b = readPolicy(' {"server": "s", "revision": "1", "name": "p", "version": 1} ').digest;
  assert.equal(a, b);
  assert.notEqual(a, policyOf({ ...minimal, revision: '2' }).digest);
});

check('what is no policy is refused, with the place', () => {
  refusedAt('', '');
  refusedAt('{"version":1,"version":1}', '');
  refusedAt('\ufeff{}', '');
  refusedAt('[]', '');
  refusedAt({ ...minimal, version: 2 }, '/version');
  refusedAt({ ...minimal, surprise: true }, '');
  refusedAt({ ...minimal, mode: 'log' }, '/mode');
  refusedAt({ ...minimal, name: '../x' }, '/name');
  refusedAt({ ...minimal, hold_seconds: 0 }, '/hold_seconds');
  refusedAt({ ...minimal, hold_seconds: 604_801 }, '/hold_seconds');
  refusedAt({ ...minimal, approvers: { roles: [] } }, '/approvers');
  refusedAt({ ...minimal, roots: { files: { path: 'relative' } } }, '/roots/files/path');
  assert.equal(policyOf({ ...minimal, hold_seconds: 604_800 }).holdSeconds, 604_800);
});

const tool = (described: Draft) => ({ ...minimal, roots: { r: { path: '/r' } }, tools: { t: described } });
const file = { kind: 'filesystem', role: 'f', root: 'r', path: '/path' };

check('tools that are described wrongly are refused', () => {
  refusedAt(tool({}), '/tools/t/effect');
  refusedAt(tool({ effect: 'shell' }), '/tools/t/effect');
  refusedAt(tool({ effect: 'once', onError: 'unknown' }), '/tools/t');
  refusedAt(tool({ effect: 'read', on_error: 'unknown' }), '/tools/t/on_error');
  refusedAt(tool({ effect: 'read', resources: 'anything' }), '/tools/t/resources');
  refusedAt(tool({ effect: 'once', editable: ['/path'] }), '/tools/t/editable/0');
  refusedAt(tool({ effect: 'once', timeout_seconds: 601 }), '/tools/t/timeout_seconds');
  refusedAt(tool({ effect: 'once', resources: [{ ...file, root: 'other' }] }), '/tools/t/resources/0/root');
  refusedAt(tool({ effect: 'once', resources: [{ ...file, path: 'path' }] }), '/tools/t/resources/0/path');
  refusedAt(tool({ effect: 'once', resources: [file, file] }), '/tools/t/resources');
  refusedAt(tool({ effect: 'once', resources: [] }), '/tools/t/resources');
  const exists = { role: 'f', predicate: 'exists' };
  refusedAt(tool({ effect: 'once', postconditions: [exists] }), '/tools/t/postconditions/0/role');
  refusedAt(
    tool({ effect: 'once', resources: 'anything', postconditions: [exists] }),
    '/tools/t/postconditions/0/role',
  );
  refusedAt(
    tool({ effect: 'once', resources: [file], postconditions: [{ ...exists, content: '/c' }] }),
    '/tools/t/postconditions/0',
  );
  refusedAt(
    tool({ effect: 'once', resources: [file], postconditions: [{ ...exists, predicate: 'content_sha256' }] }),
    '/tools/t/postconditions/0',
  );
  const owned = { kind: 'owned', role: 'f', namespace: 'n', collection: 'c' };
  refusedAt(tool({ effect: 'once', resources: [owned], postconditions: [exists] }), '/tools/t/postconditions/0');
  assert.equal(policyOf(tool({ effect: 'once', resources: [file], postconditions: [exists] })).tools.size, 1);
});

check('how a server is asked is refused where it could not be, or could say what it does not know', () => {
  const status = { tool: 'find', arguments: { ref: '/ref' }, happened: [{ at: '/json/found', equals: true }] };
  const asking = (change: Draft, find: Draft | null = { effect: 'read' }) => ({
    ...minimal,
    tools: {
      t: { effect: 'reconcilable', status: { ...status, ...change } },
      ...(find === null ? {} : { find }),
    },
  });
  const described = policyOf(asking({})).tools.get('t')?.status;
  assert.deepEqual(
    [described?.settlesWithinSeconds, described?.notHappened, described?.arguments.get('ref')],
    [60, null, '/ref'],
  );
  refusedAt(tool({ effect: 'reconcilable' }), '/tools/t/status');
  refusedAt({ ...minimal, tools: { t: { effect: 'once', status }, find: { effect: 'read' } } }, '/tools/t/status');
  refusedAt(asking({}, null), '/tools/t/status/tool');
  refusedAt(asking({}, { effect: 'idempotent' }), '/tools/t/status/tool');
  refusedAt(asking({ happened: [] }), '/tools/t/status/happened');
  refusedAt(asking({ happened: [{ at: '/x', within: 'files' }] }), '/tools/t/status/happened/0');
  refusedAt(asking({ not_happened: [{ at: '/json', present: false }] }), '/tools/t/status/not_happened/0');
  refusedAt(asking({ arguments: { ref: 'ref' } }), '/tools/t/status/arguments/ref');
  refusedAt(asking({ settles_within_seconds: 601 }), '/tools/t/status/settles_within_seconds');
  refusedAt(asking({ surprise: 1 }), '/tools/t/status');
  refusedAt(JSON.stringify(asking({})).replace('"ref":', '"__proto__":'), '/tools/t/status/arguments/__proto__');
  refusedAt({ ...minimal, settle_tool: 'yes' }, '/settle_tool');
});

const rules = (...list: Draft[]) => ({
  ...minimal,
  rules: list.map((one, i) => ({ id: `r${i}`, tools: ['t'], decision: 'ask', ...one })),
});

check('rules that are wrong or impossible are refused', () => {
  refusedAt(rules({ decision: 'maybe' }), '/rules/0/decision');
  refusedAt(rules({ tools: [] }), '/rules/0/tools');
  refusedAt(rules({}, { id: 'r0' }), '/rules/1/id');
  refusedAt(rules({ decision: 'allow', approvers: { roles: ['a'] } }), '/rules/0/approvers');
  refusedAt(rules({ when: [{ at: '/x' }] }), '/rules/0/when/0');
  refusedAt(rules({ when: [{ at: '/x', equals: 1, present: true }] }), '/rules/0/when/0');
  refusedAt(rules({ when: [{ at: '/x', at_least: 2, at_most: 1 }] }), '/rules/0/when/0');
  refusedAt(rules({ when: [{ at: 'x', present: true }] }), '/rules/0/when/0/at');
  refusedAt(rules({ when: [{ at: '/x~2', present: true }] }), '/rules/0/when/0/at');
  refusedAt(rules({ when: [{ at: '/x', within: 'nowhere' }] }), '/rules/0/when/0/within');
  refusedAt(rules({}, { decision: 'deny' }), '/rules/0');
  refusedAt(rules({ decision: 'allow' }, { decision: 'ask' }), '/rules/1');
  refusedAt(rules({ decision: 'deny' }, { when: [{ at: '/x', present: true }] }), '/rules/1');
  const fine = rules(
    { when: [{ at: '/x', present: true }] },
    { decision: 'deny', when: [{ at: '/y', present: true }] },
  );
  assert.equal(policyOf(fine).rules.length, 2);
});

check('bounds hold at their edge', () => {
  const many = (count: number) => ({
    ...minimal,
    rules: Array.from({ length: count }, (_, i) => ({ id: `r${i}`, tools: [`t${i}`], decision: 'ask' })),
  });
  assert.equal(policyOf(many(500)).rules.length, 500);
  refusedAt(many(501), '/rules');
  const names = (count: number) => rules({ tools: Array.from({ length: count }, (_, i) => `t${i}`) });
  assert.equal(policyOf(names(64)).rules[0]?.tools.length, 64);
  refusedAt(names(65), '/rules/0/tools');
  assert.equal(policyOf(rules({ tools: ['x'.repeat(128)] })).rules.length, 1);
  refusedAt(rules({ tools: ['x'.repeat(129)] }), '/rules/0/tools/0');
  assert.equal(policyOf(rules({ reason: 'x'.repeat(1024) })).rules.length, 1);
  refusedAt(rules({ reason: 'x'.repeat(1025) }), '/rules/0/reason');
  const described = (count: number) => ({
    ...minimal,
    tools: Object.fromEntries(Array.from({ length: count }, (_, i) => [`t${i}`, { effect: 'read' }])),
  });
  assert.equal(policyOf(described(1000)).tools.size, 1000);
  refusedAt(described(1001), '/tools');
});

check('keys with a meaning in JavaScript are names like others, or refused', () => {
  const tools = (named: string) =>
    `{"version":1,"name":"p","revision":"1","server":"s","tools":{"${named}":{"effect":"read"}}}`;
  refusedAt(tools('__proto__'), '/tools/__proto__');
  assert.deepEqual([...readPolicy(tools('constructor')).tools.keys()], ['constructor']);
  refusedAt('{"version":1,"name":"p","revision":"1","server":"s","__proto__":{"mode":"shadow"}}', '');
});

check('roots are sealed before anything is judged; one that cannot be is the policy in the wrong', async (t) => {
  const folder = await temporaryFolder(t);
  const root = workspace(folder);
  mkdirSync(join(folder, '.ssh'));
  symlinkSync(root, join(folder, 'link'));
  const seal = (path: string) => sealPolicy(policyOf(draft(path)), openFilesystem());
  for (const path of ['/', join(folder, 'none'), join(folder, '.ssh'), join(root, 'a.txt')])
    assert.throws(() => seal(path), { code: 'POLICY_INVALID', details: { at: '/roots/files' } });
  assert.equal(seal(join(folder, 'link')).roots.get('files')?.path, root);
});

check(
  'a starting policy is valid, describes every tool, lets only a preset read pass and trusts no hint',
  async (t) => {
    const root = workspace(await temporaryFolder(t));
    for (const preset of [undefined, ...Object.keys(POLICY_PRESETS)]) {
      const known =
        preset === undefined
          ? []
          : [...(POLICY_PRESETS[preset]?.reads ?? []), ...Object.keys(POLICY_PRESETS[preset]?.tools ?? {})];
      const listed = [...known.map((name) => ({ name })), { name: 'says_it_reads', readOnly: true }, { name: 'other' }];
      for (const rootPath of [undefined, root]) {
        const made = startingPolicy({
          server: 's',
          listed,
          ...(preset === undefined ? {} : { preset }),
          ...(rootPath === undefined ? {} : { rootPath }),
        });
        const policy = policyOf(made);
        assert.equal(policy.tools.size, listed.length);
        assert.equal(policy.tools.get('says_it_reads')?.effect, 'read');
        assert.equal(policy.tools.get('other')?.effect, 'once');
        assert.ok(policy.rules.every((rule) => rule.decision === 'allow' && !rule.tools.includes('says_it_reads')));
        assert.ok(
          policy.rules.flatMap((rule) => rule.tools).every((name) => policy.tools.get(name)?.effect === 'read'),
        );
      }
    }
  },
);

check('a preset that knows where its reads look lets them pass in its root only', async (t) => {
  const root = workspace(await temporaryFolder(t));
  const listed = [{ name: 'git_log' }, { name: 'git_commit' }];
  const made = startingPolicy({ server: 's', listed, preset: 'git', rootPath: root });
  const decided = (name: string, args: JsonValue) => judge(made, name, args).decision;
  assert.equal(decided('git_log', { repo_path: root }), 'allow');
  assert.equal(decided('git_log', { repo_path: '/etc' }), 'ask');
  assert.equal(decided('git_log', {}), 'ask');
  assert.equal(decided('git_commit', { repo_path: root, message: 'm' }), 'ask');
  assert.equal(judge(made, 'git_commit', { repo_path: '/etc', message: 'm' }).code, 'RESOURCE_OUTSIDE_ROOT');
});
