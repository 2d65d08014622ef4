import { callsThenDone } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, untilRun } from './world.ts';

check('a rule is made once for its key, holds for the next call, is listed by pages, and dropped', async (t) => {
  const world = await openWorld(t, { model: callsThenDone([{ note: 'milk' }]) });
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const rule = { decision: 'allow', tool: 'take_note' } as const;
  const made = await approver.putRule(rule, { key: 'notes' });
  assert.deepEqual(
    [made.pattern, made.project_id, made.session_id, made.made_by_kind, made.made_by, made.lowers_tool_ask],
    ['**', null, null, 'person', 'approver', true],
  );
  assert.match(made.effect, /also where the tool itself asks/);
  const { run_id: run, session_id: session } = await agent.startRun({ task: 'go' });
  await untilRun(agent, run, 'completed');
  const inSession = await approver.putRule({ decision: 'deny', tool: '*', session_id: session });
  const inProject = await approver.putRule({ decision: 'ask', tool: 'a', pattern: 'b/*', project_id: 'default' });
  assert.deepEqual([inSession.session_id, inProject.project_id], [session, 'default']);
  const first = await agent.listRules({ limit: 2 });
  assert.deepEqual([first.rules, first.next], [[made, inSession], inSession.rule_id]);
  assert.deepEqual(await agent.listRules({ after: first.next ?? '' }), { rules: [inProject], next: null });
  assert.deepEqual(await approver.dropRule(made.rule_id), made);
  assert.deepEqual(await approver.putRule(rule, { key: 'notes' }), made, 'a repeated request is answered as before');
  assert.deepEqual((await agent.listRules()).rules, [inSession, inProject], 'and makes nothing again');
  await assert.rejects(approver.putRule({ ...rule, decision: 'deny' }, { key: 'notes' }), {
    code: 'IDEMPOTENCY_CONFLICT',
  });
  const held = await agent.startRun({ task: 'go' });
  await untilRun(agent, held.run_id, 'waiting_confirmation');
});

check('whoever begins runs lets none of their own calls go by a rule, though the token has both roles', async (t) => {
  const world = await openWorld(t);
  const both = await world.client(['agent', 'approver']);
  await both.putRule({ decision: 'allow', tool: 'take_note' });
  const own = await both.startRun({ task: 'go' });
  await untilRun(both, own.run_id, 'waiting_confirmation');
  const other = await world.client(['agent'], { subject: 'other' });
  const theirs = await other.startRun({ task: 'go' });
  await untilRun(other, theirs.run_id, 'completed');
});

check('a rule of a wrong shape, place or maker is refused by its code, and there is none', async (t) => {
  const world = await openWorld(t, {
    holdfast: { approver: { roles: [], subjects: ['chief'], requesterMayDecide: true } },
  });
  const chief = await world.client(['approver'], { subject: 'chief' });
  const approver = await world.client(['approver']);
  const deny = { decision: 'deny', tool: 'a' } as const;
  for (const [rule, code] of [
    [{ ...deny, session_id: 'nobody' }, 'SESSION_NOT_FOUND'],
    [{ ...deny, project_id: 'nobody' }, 'PROJECT_NOT_FOUND'],
    [{ ...deny, project_id: 'default', session_id: 'nobody' }, 'SESSION_NOT_FOUND'],
    [{ ...deny, tool: 'a b' }, 'INVALID_VALUE'],
    [{ ...deny, pattern: ' ' }, 'INVALID_VALUE'],
    [{ ...deny, pattern: '' }, 'REQUEST_INVALID'],
    [{ ...deny, decision: 'never' as never }, 'REQUEST_INVALID'],
    [{ ...deny, projectId: 'default' } as typeof deny, 'REQUEST_INVALID'],
  ] as const)
    await assert.rejects(chief.putRule(rule), { code }, JSON.stringify(rule));
  await assert.rejects(approver.putRule(deny), { code: 'APPROVER_NOT_ALLOWED' });
  const made = await chief.putRule(deny);
  await assert.rejects(approver.dropRule(made.rule_id), { code: 'APPROVER_NOT_ALLOWED' });
  await assert.rejects(chief.dropRule('nobody'), { code: 'PERMISSION_RULE_NOT_FOUND' });
  assert.deepEqual((await approver.listRules()).rules, [made]);
});
