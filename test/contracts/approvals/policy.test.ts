import {
  checkPolicies,
  dropRule,
  importedDecision,
  importRule,
  judgeCall,
  listRules,
  matchesPattern,
  type NewRule,
  type PermissionRule,
  type Policy,
  policyRevision,
  type PolicySet,
  type ProposedCall,
  putRule,
  rulesFor,
} from '../../../src/approvals/index.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, OWNER, refusal, type SessionWorld, STRANGER } from '../../support/session-world.ts';

const CALL: ProposedCall = {
  tool: 'web_fetch',
  target: 'https://example.test/a',
  arguments: {},
  writes: true,
  toolAsks: false,
};

function rule(decision: 'allow' | 'ask' | 'deny', change: Partial<PermissionRule> = {}): PermissionRule {
  return {
    ruleId: 'r',
    tenantId: 'local',
    scope: 'global',
    scopeId: '',
    tool: 'web_fetch',
    pattern: 'https://example.test/*',
    decision,
    madeBy: { kind: 'person', subject: 'owner' },
    createdAt: 1,
    updatedAt: 2,
    ...change,
  };
}

const policy = (decide: Policy['decide'], name = 'house'): Policy => ({ name, revision: '1', decide });
const enforce = (...policies: Policy[]): PolicySet => ({ policies, mode: 'enforce' });
const shadow = (...policies: Policy[]): PolicySet => ({ policies, mode: 'shadow' });
const judge = (call: Partial<ProposedCall>, rules: PermissionRule[], set: PolicySet = enforce()) => {
  const verdict = judgeCall({ ...CALL, ...call }, OWNER, rules, set);
  return verdict.decision === 'ask' ? `ask ${verdict.because}` : verdict.decision;
};

check('deny before ask, ask before allow, and no match holds', () => {
  const [allow, askRule, deny] = [rule('allow'), rule('ask'), rule('deny')];
  assert.equal(judge({}, []), 'ask hold');
  assert.equal(judge({}, [allow]), 'allow');
  assert.equal(judge({}, [allow, askRule]), 'ask rule');
  assert.equal(judge({}, [allow, askRule, deny]), 'deny');
  assert.equal(judge({ target: 'https://other.test/a' }, [allow]), 'ask hold');
  assert.equal(judge({}, [allow], enforce(policy(() => 'deny'))), 'deny');
  assert.equal(judge({}, [allow], enforce(policy(() => 'ask'))), 'ask policy');
  assert.equal(judge({}, [deny], enforce(policy(() => 'allow'))), 'deny');
  assert.equal(judge({}, [], enforce(policy(() => null))), 'ask hold');
});

check("an allow lowers a tool's own ask only when a person made it for exactly this tool", () => {
  const asks = { toolAsks: true };
  assert.equal(judge(asks, []), 'ask tool');
  assert.equal(judge(asks, [rule('allow')]), 'allow');
  assert.equal(judge(asks, [rule('allow', { tool: 'web_*' })]), 'ask tool');
  assert.equal(judge(asks, [rule('allow', { pattern: 'https://example.test/b' })]), 'ask tool');
  assert.equal(judge(asks, [rule('allow', { madeBy: { kind: 'import' } })]), 'ask rule');
  assert.equal(judge(asks, [], enforce(policy(() => 'allow'))), 'ask tool');
  assert.equal(judge({}, [rule('allow', { tool: 'web_*' })]), 'allow');
});

check('whatever a policy throws, or answers wrongly, is decided by a person', () => {
  const wrong = ['yes', 7, {}, { decision: 'allowed' }, { decision: 'allow', reason: '' }, Promise.resolve('allow')];
  for (const answer of wrong)
    assert.equal(judge({}, [rule('allow')], enforce(policy(() => answer as never))), 'ask policy');
  const thrown = policy(() => {
    throw new Error('broken');
  });
  assert.equal(judge({}, [rule('allow')], enforce(thrown)), 'ask policy');
});

check('shadow mode reports what a policy would have held and lets nothing else through', () => {
  const verdict = judgeCall(CALL, OWNER, [], shadow());
  assert.ok(verdict.decision === 'allow');
  assert.deepEqual([verdict.approver, verdict.shadow?.would], ['policy:shadow@1', 'hold']);
  const asked = judgeCall(CALL, OWNER, [], shadow(policy(() => ({ decision: 'ask', reason: 'too large' }))));
  assert.deepEqual(asked.decision === 'allow' && asked.shadow, { would: 'ask', reason: 'too large' });
  assert.equal(judge({}, [rule('ask')], shadow()), 'ask rule');
  assert.equal(judge({}, [rule('deny')], shadow()), 'deny');
  assert.equal(judge({}, [], shadow(policy(() => 'deny'))), 'deny');
  assert.equal(judge({ toolAsks: true }, [], shadow()), 'ask tool');
});

check('a policy that denies denies, whatever it gives as its reason, in shadow mode too', () => {
  for (const reason of ['', 'x'.repeat(5000), 'half \ud800', undefined, 7] as readonly unknown[]) {
    const because = (decision: 'allow' | 'ask' | 'deny') => policy(() => ({ decision, reason: reason as string }));
    assert.equal(judge({}, [], enforce(because('deny'))), 'deny');
    assert.equal(judge({}, [], shadow(because('deny'))), 'deny');
    assert.equal(judge({}, [rule('allow')], enforce(because('ask'))), 'ask policy');
    assert.equal(judge({}, [], enforce(because('allow'))), 'ask policy', 'an allow that says something wrong is none');
  }
});

check('what needs nobody is approved by the name and revision of what allowed it', () => {
  const byPolicy = judgeCall(CALL, OWNER, [], enforce(policy(() => 'allow')));
  assert.equal(byPolicy.decision === 'allow' && byPolicy.approver, 'policy:house@1');
  const byRule = judgeCall(CALL, OWNER, [rule('allow')], enforce());
  assert.equal(byRule.decision === 'allow' && byRule.approver, 'policy:rule.r@2');
});

check('the policy revision changes with each name, revision, order and mode', () => {
  const [a, b] = [policy(() => null, 'a'), policy(() => null, 'b')];
  const revisions = [enforce(), enforce(a), enforce(a, b), enforce(b, a), shadow(a), enforce({ ...a, revision: '2' })];
  assert.equal(new Set(revisions.map(policyRevision)).size, revisions.length);
  assert.equal(policyRevision(enforce(a, b)), 'enforce:a@1,b@1');
  const many = enforce(...Array.from({ length: 60 }, (_, i) => policy(() => null, `name-${i}`)));
  assert.match(policyRevision(many), /^enforce:[0-9a-f]{64}$/);
});

check('policies of one name, or with a name that cannot be shown, are refused at the start', () => {
  const code = (policies: Policy[]) => {
    try {
      checkPolicies(policies);
    } catch (error) {
      return (error as { code: string }).code;
    }
    return null;
  };
  assert.equal(code([policy(() => null, 'a'), policy(() => null, 'a')]), 'POLICY_CONFLICT');
  assert.equal(code([policy(() => null, 'a@b')]), 'INVALID_VALUE');
  assert.equal(code([policy(() => null, 'a'), policy(() => null, 'b')]), null);
});

check('a pattern matches whole texts: * within a part, ** across parts, everything else as itself', () => {
  const cases: [string, string, boolean][] = [
    ['*', '', true],
    ['*', 'a', true],
    ['*', 'a/b', false],
    ['**', 'a/b', true],
    ['a/*', 'a/b', true],
    ['a/*', 'a/b/c', false],
    ['a/**/c', 'a/b/b/c', true],
    ['a.c', 'abc', false],
    ['A', 'a', false],
    ['[a-z]+', 'abc', false],
    ['a**b', 'ab', true],
    ['*\u{1f600}*', 'x\u{1f600}y', true],
  ];
  for (const [pattern, target, fits] of cases)
    assert.equal(matchesPattern(pattern, target), fits, `${pattern} ${target}`);
  // A pattern that would keep a backtracking matcher busy for ever.
  assert.equal(matchesPattern(`${'*a'.repeat(60)}b`, 'a'.repeat(4000)), false);
});

const put = (world: SessionWorld, change: Partial<NewRule> = {}, principal = OWNER) =>
  world.store.write('t', (tx) =>
    putRule(tx, world.context, principal, {
      scope: 'conversation',
      scopeId: world.root,
      tool: 'web_fetch',
      pattern: 'https://example.test/*',
      decision: 'allow',
      ...change,
    }),
  );

check('rules are made, replaced, listed by scope, gathered for a call, and removed', async () => {
  await using world = await openSessionWorld();
  const made = await put(world);
  assert.deepEqual(made.madeBy, { kind: 'person', subject: 'owner' });
  const again = await put(world, { decision: 'deny' });
  assert.deepEqual([again.ruleId, again.decision], [made.ruleId, 'deny']);
  await put(world, { scope: 'project', scopeId: 'project-local', decision: 'ask' });
  const { scopeId: _none, ...global } = { scope: 'global' as const, scopeId: undefined };
  await world.store.write('t', (tx) =>
    putRule(tx, world.context, OWNER, { ...global, tool: 't', pattern: '*', decision: 'ask' }),
  );
  const place = { projectId: 'project-local', rootFrameId: world.root };
  const all = await world.store.read('t', (tx) => rulesFor(tx, OWNER, place));
  assert.deepEqual(all.map((one) => one.scope).toSorted(), ['conversation', 'global', 'project']);
  assert.deepEqual(await world.store.read('t', (tx) => rulesFor(tx, STRANGER, place)), []);
  await world.store.write('t', (tx) => dropRule(tx, OWNER, made.ruleId));
  assert.deepEqual(await world.store.read('t', (tx) => listRules(tx, OWNER, 'conversation', world.root)), []);
  const gone = world.store.write('t', (tx) => dropRule(tx, OWNER, made.ruleId));
  assert.equal((await refusal(gone)).code, 'PERMISSION_RULE_NOT_FOUND');
});

check("a rule for another tenant's project or session, or with wrong words, is refused", async () => {
  await using world = await openSessionWorld();
  assert.equal((await refusal(put(world, {}, STRANGER))).code, 'SESSION_NOT_FOUND');
  const project = { scope: 'project' as const, scopeId: 'project-elsewhere' };
  assert.equal((await refusal(put(world, project))).code, 'PROJECT_NOT_FOUND');
  assert.equal((await refusal(put(world, { scope: 'global' }))).code, 'INVALID_VALUE');
  assert.equal((await refusal(put(world, { decision: 'always' as never }))).code, 'INVALID_VALUE');
  assert.equal((await refusal(put(world, { pattern: ' ' }))).code, 'INVALID_VALUE');
});

check('an imported rule never allows, in whatever letters it says so', async () => {
  await using world = await openSessionWorld();
  assert.equal(importedDecision('\uff41\uff4c\uff4c\uff4f\uff57'), 'ask');
  assert.equal(importedDecision('\uff24\uff25\uff2e\uff39'), 'deny');
  const imported = await world.store.write('t', (tx) =>
    importRule(tx, world.context, OWNER, {
      scope: 'conversation',
      scopeId: world.root,
      tool: 'web_fetch',
      pattern: '*',
      decision: 'allow',
    }),
  );
  assert.deepEqual([imported.decision, imported.madeBy], ['ask', { kind: 'import' }]);
  const raw = world.raw();
  assert.throws(() => raw.exec(`UPDATE permission_rules SET decision = 'allow'`), /CHECK/);
  raw.close();
});
