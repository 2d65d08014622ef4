import type { ApproverRule } from '../../src/approvals/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { Holdfast, HoldfastError, type StandingRuleOptions } from '../../src/index.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';

const refusalOf = async (work: Promise<unknown>): Promise<HoldfastError> => {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof HoldfastError, String(error));
  return error;
};

const DENY_ALL: StandingRuleOptions = { decision: 'deny', tool: '*' };

check('rules are made, changed, listed and dropped by the library, in the name of its principal', async (t) => {
  const { holdfast } = await openDesk(t);
  const made = await holdfast.rules.put({ decision: 'allow', tool: 'take_note', projectId: 'default' });
  const { pattern, projectId, sessionId, madeBy, lowersToolAsk } = made;
  assert.deepEqual(
    { pattern, projectId, sessionId, madeBy, lowersToolAsk },
    {
      pattern: '**',
      projectId: 'default',
      sessionId: null,
      madeBy: { kind: 'person', subject: 'owner' },
      lowersToolAsk: true,
    },
  );
  const changed = await holdfast.rules.put({ decision: 'deny', tool: 'take_note', projectId: 'default' });
  assert.deepEqual([changed.ruleId, changed.decision], [made.ruleId, 'deny']);
  const { view } = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool()] }).run('go');
  const inSession = await holdfast.rules.put({ decision: 'ask', tool: 'a', sessionId: view.sessionId });
  assert.equal(inSession.sessionId, view.sessionId);
  assert.deepEqual((await holdfast.rules.list()).items, [changed, inSession]);
  const page = await holdfast.rules.list({ limit: 1 });
  assert.deepEqual([page.items, page.next], [[changed], changed.ruleId]);
  assert.deepEqual(await holdfast.rules.list({ limit: 1, after: changed.ruleId }), { items: [inSession], next: null });
  assert.deepEqual(await holdfast.rules.drop(changed.ruleId), changed);
  assert.equal((await refusalOf(holdfast.rules.drop(changed.ruleId))).code, 'PERMISSION_RULE_NOT_FOUND');
});

check('an option of a wrong shape, or of another name, is refused by its name before a rule is made', async (t) => {
  const { holdfast } = await openDesk(t);
  const wrong: readonly (readonly [string, object | null])[] = [
    ['rules.put', null],
    ['decision', { tool: 'a' }],
    ['decision', { ...DENY_ALL, decision: 'Deny' }],
    ['tool', { decision: 'deny' }],
    ['tool', { ...DENY_ALL, tool: 7 }],
    ['tool', { ...DENY_ALL, tool: 'take note' }],
    ['tool', { ...DENY_ALL, tool: 'take_note\u{200b}' }],
    ['pattern', { ...DENY_ALL, pattern: null }],
    ['projectId', { ...DENY_ALL, projectId: '' }],
    ['sessionId', { ...DENY_ALL, sessionId: [] }],
    ['project_id', { ...DENY_ALL, decision: 'allow', project_id: 'default' }],
    ['patern', { ...DENY_ALL, patern: 'a' }],
  ];
  for (const [name, options] of wrong) {
    const error = await refusalOf(holdfast.rules.put(options as StandingRuleOptions));
    assert.equal(error.code, 'INVALID_VALUE');
    assert.match(error.message, new RegExp(name), JSON.stringify(options));
  }
  for (const query of [{ limit: 0 }, { limit: 1.5 }, { after: 7 }, null])
    assert.equal((await refusalOf(holdfast.rules.list(query as object))).code, 'INVALID_VALUE');
  assert.equal((await refusalOf(holdfast.rules.drop(7 as never))).code, 'INVALID_VALUE');
  assert.deepEqual((await holdfast.rules.list()).items, []);
});

check('only whoever may decide makes and drops rules; nothing of another tenant is seen or touched', async (t) => {
  const { holdfast, dataDir } = await openDesk(t);
  const made = await holdfast.rules.put(DENY_ALL);
  const as = async (principal: { tenant: string; subject: string; roles: string[] }) => {
    const other = await Holdfast.open({ dataDir, principal, projectId: `of-${principal.tenant}` });
    t.after(() => other.close());
    return other.rules;
  };
  const agent = await as({ tenant: 'local', subject: 'agent', roles: ['agent'] });
  for (const work of [agent.put({ decision: 'allow', tool: 'take_note' }), agent.drop(made.ruleId)]) {
    const { code, resolve } = await refusalOf(work);
    assert.deepEqual([code, resolve], ['APPROVER_NOT_ALLOWED', 'Ask the role approver.']);
  }
  assert.deepEqual((await agent.list()).items, [made], 'who may not decide may see');
  const stranger = await as({ tenant: 'elsewhere', subject: 'owner', roles: ['approver'] });
  assert.deepEqual((await stranger.list()).items, []);
  const absent = await refusalOf(stranger.drop('nobody'));
  assert.deepEqual((await refusalOf(stranger.drop(made.ruleId))).toJSON(), absent.toJSON());
  const project = await refusalOf(stranger.put({ ...DENY_ALL, projectId: 'default' }));
  assert.equal(project.code, 'PROJECT_NOT_FOUND');
  assert.deepEqual((await holdfast.rules.list()).items, [made]);
});

check('where whoever asks may not decide, their own standing allow decides nothing of what they ask for', async (t) => {
  const approver: ApproverRule = { roles: ['approver'], subjects: [], requesterMayDecide: false };
  const { holdfast, dataDir } = await openDesk(t, { approver });
  const agent = holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool({ needsApproval: true })] });
  await holdfast.rules.put({ decision: 'allow', tool: 'take_note' });
  assert.equal((await agent.run('go')).status, 'waiting_confirmation');
  const second = { tenant: 'local', subject: 'second', roles: ['approver'] };
  const other = await Holdfast.open({ dataDir, principal: second });
  t.after(() => other.close());
  await other.rules.put({ decision: 'allow', tool: 'take_note', pattern: '*' });
  assert.equal((await agent.run('go')).status, 'completed');
});

check('a tenant has so many rules and no more: one more is refused, one of them can be changed', async (t) => {
  const { holdfast } = await openDesk(t);
  const { runtime, rules } = holdfast;
  const first = await rules.put({ decision: 'allow', tool: 'first' });
  const most = LIMITS.approvalRulesConsidered;
  await runtime.store.write('test.fill', async (tx) => {
    await tx.run(
      `INSERT INTO permission_rules SELECT printf('f%031d', value), 'local', 'global', '', 'other' || value, '**', 'ask',
        'import', NULL, 0, 0 FROM (WITH RECURSIVE n(value) AS (SELECT 2 UNION ALL SELECT value + 1 FROM n WHERE value < ?)
        SELECT value FROM n)`,
      [most],
    );
  });
  const error = await refusalOf(rules.put({ decision: 'deny', tool: 'second' }));
  assert.deepEqual(
    [error.code, error.details],
    ['LIMIT_REACHED', { limit: 'approvalRulesConsidered', max: most, actual: most + 1 }],
  );
  assert.match(error.resolve, /holdfast rules drop ID/);
  assert.equal((await rules.put({ decision: 'deny', tool: 'first' })).ruleId, first.ruleId);
  assert.equal((await rules.list({ limit: most })).items.length, LIMITS.sessionPageRows, 'a list is bounded');
  await rules.drop(first.ruleId);
  await rules.put({ decision: 'deny', tool: 'second' });
});

check('a call is held by a rule with the longest pattern there is', async (t) => {
  const { holdfast } = await openDesk(t);
  const pattern = `${'*'.repeat(LIMITS.approvalTextCodePoints)}`;
  await holdfast.rules.put({ decision: 'ask', tool: 'take_note', pattern });
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools: [noteTool()] }).run('go');
  assert.equal(run.status, 'waiting_confirmation');
  assert.match(run.pending[0]?.reason ?? '', /^A standing rule says ask for take_note on \*{1024}…\.$/);
});

check('an agent of which every call waits for a person is let go by no rule', async (t) => {
  const { holdfast } = await openDesk(t);
  await holdfast.rules.put({ decision: 'allow', tool: 'take_note' });
  const tools = [noteTool({ needsApproval: true })];
  const run = await holdfast.agent({ model: callsThenDone([{}]), tools, askForEach: true }).run('go');
  assert.equal(run.status, 'waiting_confirmation');
});
