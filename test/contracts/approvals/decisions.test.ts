import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  Approvals,
  argumentsOf,
  cancelRequests,
  decide,
  latestRequest,
  type PermissionRequest,
  recheck,
} from '../../../src/approvals/index.ts';
import { createIds, systemClock } from '../../../src/core/index.ts';
import { listGroupEvents } from '../../../src/sessions/index.ts';
import { readFeed } from '../../../src/store/index.ts';
import { approvalsOf, ask, bindingOf, read, say, use, validate } from '../../support/approval-world.ts';
import { assert, check, manualClock } from '../../support/index.ts';
import {
  AGENT,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

async function lines(world: SessionWorld, groupId: string) {
  const page = await world.store.read('t', (tx) => listGroupEvents(tx, OWNER, groupId));
  return page.items.map((event) => [event.type, event.result]);
}

check('a request is asked, allowed and used once; the ledger and the feed tell each step', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const [allowed] = await approvalsOf(world).decide(OWNER, [say(request, { message: 'fine' })]);
  assert.equal(allowed?.status.state, 'allowed');
  const authority = await use(world, request);
  assert.deepEqual(
    [authority.kind, authority.approver, authority.canonicalArguments],
    ['decision', 'owner', '{"fixed":"fixed","value":1}'],
  );
  const id = request.action.requestId;
  assert.deepEqual(await lines(world, request.action.groupId), [
    ['proposed', { tool: 'dangerous_tool' }],
    ['permission_pending', { decision_id: id, state: 'pending', tool: 'dangerous_tool', target: 'result.txt' }],
    [
      'permission_resolved',
      {
        decision_id: id,
        state: 'allowed',
        scope: 'once',
        pattern: null,
        message: 'fine',
        resolution_context: 'decision',
      },
    ],
  ]);
  const feed = await world.store.read('t', (tx) => readFeed(tx, { tenantId: 'local', after: 0 }));
  assert.deepEqual(
    feed.entries.slice(-2).map((entry) => [entry.kind, entry.reference]),
    [
      ['approval.requested', id],
      ['approval.resolved', id],
    ],
  );
});

check('an edit cancels the request and makes a new one that is allowed, in one transaction', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const edited = { value: 9, fixed: 'fixed' };
  const [made] = await approvalsOf(world).decide(OWNER, [say(request, { editedArguments: edited })]);
  assert.ok(made);
  assert.deepEqual(argumentsOf(made), edited);
  assert.notEqual(made.action.requestId, request.action.requestId);
  assert.equal(made.action.supersedes, request.action.requestId);
  const old = await read(world, request);
  assert.deepEqual(old.status.state === 'cancelled' && old.status.supersededBy, made.action.requestId);
  assert.deepEqual(argumentsOf(old), { value: 1, fixed: 'fixed' });
  assert.equal((await refusal(use(world, request))).code, 'APPROVAL_NOT_GIVEN');
  assert.equal((await use(world, made)).canonicalArguments, '{"fixed":"fixed","value":9}');
  const types = (await lines(world, request.action.groupId)).map(([type]) => type);
  assert.deepEqual(types, [
    'proposed',
    'permission_pending',
    'permission_resolved',
    'permission_pending',
    'permission_resolved',
  ]);
});

check('arguments that were sent back unchanged, in whatever order, are no edit', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const same = say(request, { editedArguments: { fixed: 'fixed', value: 1 } });
  const [allowed] = await approvalsOf(world).decide(OWNER, [same]);
  assert.equal(allowed?.action.requestId, request.action.requestId);
});

check('several requests are decided together or not at all', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const one = await ask(world, { groupId, actionId: 'a' });
  const two = await ask(world, { groupId, actionId: 'b' });
  const bad = [say(one), say(two, { digest: '0'.repeat(64) })];
  assert.equal((await refusal(approvalsOf(world).decide(OWNER, bad))).code, 'APPROVAL_DIGEST_MISMATCH');
  assert.equal((await read(world, one)).status.state, 'pending');
  const twice = [say(one), say(one, { decision: 'reject' })];
  assert.equal((await refusal(approvalsOf(world).decide(OWNER, twice))).code, 'INVALID_VALUE');
  const states = await approvalsOf(world).decide(OWNER, [say(one), say(two, { decision: 'reject' })]);
  assert.deepEqual(
    states.map((request) => request.status.state),
    ['allowed', 'denied'],
  );
});

check('one late request of several: it is written down as timed out and nothing else is decided', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const late = await ask(world, { groupId, actionId: 'a', expiresAt: world.clock.nowMs() + 10 });
  const open = await ask(world, { groupId, actionId: 'b' });
  world.clock.advance(10);
  const said = [say(open), say(late)];
  assert.equal((await refusal(approvalsOf(world).decide(OWNER, said))).code, 'APPROVAL_EXPIRED');
  assert.equal((await read(world, late)).status.state, 'timed_out');
  assert.equal((await read(world, open)).status.state, 'pending');
});

check('of two deciders at once one wins, in this process and in another', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const both = await Promise.allSettled([
    approvalsOf(world).decide(OWNER, [say(request)]),
    approvalsOf(world).decide(OWNER, [say(request, { decision: 'reject' })]),
  ]);
  assert.deepEqual(both.map((one) => one.status).toSorted(), ['fulfilled', 'rejected']);
  const second = await ask(world, { actionId: 'other' });
  const answers = await Promise.all([secondActor(world, second, 'approve'), secondActor(world, second, 'reject')]);
  assert.deepEqual(answers.toSorted(), ['APPROVAL_ALREADY_DECIDED', 'decided']);
  const reject = secondActor(world, request, 'reject');
  assert.equal(await reject, 'APPROVAL_ALREADY_DECIDED');
});

check('a decision made in another process is seen at the use here, and in the store that is opened again', async () => {
  await using first = await openSessionWorld();
  const request = await ask(first);
  assert.equal((await refusal(use(first, request))).code, 'APPROVAL_NOT_GIVEN');
  assert.equal(await secondActor(first, request, 'approve'), 'decided');
  const world = await first.reopen();
  assert.equal((await use(world, request)).approver, 'owner');
  assert.equal((await refusal(use(world, request))).code, 'APPROVAL_CONSUMED');
  await world.store.close();
});

async function secondActor(world: SessionWorld, request: PermissionRequest, verb: string): Promise<string> {
  const program = join(import.meta.dirname, '../../fixtures/approvals/second-actor.ts');
  const args = [program, world.file, 'decide', request.action.requestId, verb];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return (JSON.parse(await text(child.stdout)) as { answer: string }).answer;
}

check('roles and subjects of whoever decides are held against the request; whoever asked may not', async () => {
  await using world = await openSessionWorld();
  const approver = { roles: ['lead'], subjects: ['ann', 'agent'], requesterMayDecide: false };
  const request = await ask(world, { approver });
  const who = (subject: string, roles: string[]) => ({ tenant: 'local', subject, roles });
  const code = async (principal: typeof OWNER) =>
    (await refusal(approvalsOf(world).decide(principal, [say(request)]))).code;
  assert.equal(await code(OWNER), 'APPROVER_NOT_ALLOWED');
  assert.equal(await code(who('agent', [])), 'APPROVER_IS_REQUESTER');
  assert.equal(await code(who('agent', ['lead'])), 'APPROVER_IS_REQUESTER');
  assert.equal(await code(STRANGER), 'APPROVAL_NOT_FOUND');
  assert.equal((await approvalsOf(world).decide(who('bob', ['lead']), [say(request)])).length, 1);
  const own = await ask(world, { actionId: 'x', approver: { ...approver, requesterMayDecide: true } });
  assert.equal((await approvalsOf(world).decide(AGENT, [say(own)])).length, 1);
  const named = await ask(world, { actionId: 'y', approver });
  assert.equal((await approvalsOf(world).decide(who('ann', []), [say(named)])).length, 1);
});

check('a use fits the approved call in every part, or is refused naming the part', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  await approvalsOf(world).decide(OWNER, [say(request)]);
  const parts = {
    runId: 'run-2',
    groupId: 'other',
    toolCallId: 'danger-2',
    tool: 'safe_tool',
    toolRevision: 'dangerous_tool-v2',
    argumentsSha256: '0'.repeat(64),
    policyRevision: 'enforce:x@2',
  };
  for (const [part, value] of Object.entries(parts)) {
    const error = await refusal(use(world, request, { [part]: value }));
    assert.equal(error.code, 'APPROVAL_BINDING_MISMATCH');
    assert.match(error.message, new RegExp(`its ${part} differs`));
  }
  const binding = bindingOf(request);
  const rechecked = await world.store.read('t', (tx) =>
    recheck(tx, world.context, AGENT, { requestId: request.action.requestId, by: 'e', binding }),
  );
  assert.equal(rechecked.approver, 'owner');
  await use(world, request);
  assert.equal((await refusal(use(world, request))).code, 'APPROVAL_CONSUMED');
});

check('an allowed request that expires, or is stopped, before its use gives no authority', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const late = await ask(world, { groupId, actionId: 'a', expiresAt: world.clock.nowMs() + 10 });
  const stopped = await ask(world, { groupId, actionId: 'b' });
  const waiting = await ask(world, { groupId, actionId: 'c' });
  await approvalsOf(world).decide(OWNER, [say(late), say(stopped)]);
  world.clock.advance(10);
  assert.equal((await refusal(use(world, late))).code, 'APPROVAL_EXPIRED');
  const swept = await approvalsOf(world).sweep();
  assert.deepEqual(swept, { expired: [late.action.requestId], corrupt: [] });
  assert.equal((await refusal(use(world, late))).code, 'APPROVAL_EXPIRED');
  const ids = await world.store.write('t', (tx) =>
    cancelRequests(tx, world.context, AGENT, { rootFrameId: world.root, runId: 'run-1' }, 'the run was stopped'),
  );
  assert.deepEqual(ids, [stopped.action.requestId, waiting.action.requestId]);
  assert.equal((await refusal(use(world, stopped))).code, 'APPROVAL_REVOKED');
  assert.equal((await refusal(approvalsOf(world).decide(OWNER, [say(waiting)]))).code, 'APPROVAL_ALREADY_DECIDED');
  const again = await ask(world, { groupId, actionId: 'b' });
  assert.equal(again.status.state, 'pending');
});

check('an edit that another process makes after the clock was set back is what counts of the call', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const clock = manualClock(world.clock.nowMs() - 3_600_000);
  const other = new Approvals(world.store, { ...world.context, clock, ids: createIds(clock) }, { validate });
  const [edited] = await other.decide(OWNER, [say(request, { editedArguments: { fixed: 'fixed', value: 2 } })]);
  const { groupId, actionId } = request.action;
  const latest = await world.store.read('t', (tx) => latestRequest(tx, OWNER, groupId, actionId));
  assert.deepEqual(
    [latest?.action.requestId, latest?.status.state, latest?.action.supersedes],
    [edited?.action.requestId, 'allowed', request.action.requestId],
  );
  const batch = await other.batch(OWNER, groupId);
  assert.deepEqual(
    batch?.calls.map(({ decision, effectiveArguments }) => [decision, effectiveArguments]),
    [['approved', { fixed: 'fixed', value: 2 }]],
  );
  const shown = await other.ofGroup(OWNER, groupId);
  assert.equal(shown.at(-1)?.requestId, edited?.action.requestId);
});

for (const [what, change] of [
  ['reason', "reason = 'z'"],
  ['time', 'created_at = 9007199254740993'],
] as const)
  check(`a request whose ${what} somebody changed keeps no other from its end, and gives no authority`, async () => {
    await using world = await openSessionWorld();
    const { groupId } = await openCalls(world);
    const expiresAt = world.clock.nowMs() + 10;
    const [changed, late] = [
      await ask(world, { groupId, actionId: 'a', expiresAt }),
      await ask(world, { groupId, actionId: 'b', expiresAt }),
    ];
    const fine = await ask(world, { groupId, actionId: 'c' });
    const raw = world.raw();
    raw.exec('DROP TRIGGER trg_permission_action_immutable');
    raw.prepare(`UPDATE permission_requests SET ${change} WHERE decision_id = ?`).run(changed.action.requestId);
    raw.close();
    world.clock.advance(10);
    const { requestId } = changed.action;
    assert.deepEqual(await approvalsOf(world).sweep(), { expired: [late.action.requestId], corrupt: [requestId] });
    const ids = await world.store.write('t', (tx) => cancelRequests(tx, world.context, AGENT, { groupId }, 'stopped'));
    assert.deepEqual(ids, [fine.action.requestId]);
    assert.equal((await refusal(approvalsOf(world).decide(OWNER, [say(changed)]))).code, 'APPROVAL_CORRUPT');
    assert.equal((await refusal(use(world, changed))).code, 'APPROVAL_CORRUPT');
  });

check('the store functions take a transaction: what is decided in one that fails is not decided', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  const failed = world.store.write('t', async (tx) => {
    await decide(tx, world.context, OWNER, [say(request)]);
    throw new Error('later');
  });
  assert.match((await refusal(failed)).message, /later/);
  assert.equal((await read(world, request)).status.state, 'pending');
});

check('asking costs five statements, deciding five, using one', async () => {
  await using world = await openSessionWorld();
  const request = await ask(world);
  assert.equal(world.counts.statementsOf('test.ask').length, 5);
  await approvalsOf(world).decide(OWNER, [say(request)]);
  assert.equal(world.counts.statementsOf('approvals.decide').length, 5);
  await use(world, request);
  assert.equal(world.counts.statementsOf('test.use').length, 1);
});

check('a child that decides with the real clock and this process agree on the expiry', async () => {
  await using world = await openSessionWorld();
  world.clock.set(systemClock.nowMs());
  const request = await ask(world, { expiresAt: systemClock.nowMs() - 1 });
  assert.equal(await secondActor(world, request, 'approve'), 'APPROVAL_EXPIRED');
  assert.equal((await read(world, request)).status.state, 'timed_out');
});
