// What can go wrong between asking and executing, one hazard a test, each with the code that answers it.
import { cancelRequests, checkEdit, consume, decide, requestPermission } from '../../../src/approvals/index.ts';
import type { JsonObject } from '../../../src/core/index.ts';
import { putSetting, QUARANTINE_PREFIX, REVERT_MARKER_PREFIX } from '../../../src/sessions/index.ts';
import { approvalsOf, ask, bindingOf, read, say, use, validate } from '../../support/approval-world.ts';
import { assert, check } from '../../support/index.ts';
import {
  AGENT,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

interface Hazard {
  readonly hazard: string;
  readonly code: string;
  readonly run: (world: SessionWorld) => Promise<unknown>;
}

async function allowed(world: SessionWorld) {
  const request = await ask(world);
  await approvalsOf(world).decide(OWNER, [say(request)]);
  return request;
}

async function edit(world: SessionWorld, editedArguments: JsonObject): Promise<unknown> {
  const request = await ask(world);
  const refused = approvalsOf(world).decide(OWNER, [say(request, { editedArguments })]);
  await refused.catch(() => undefined);
  assert.equal((await read(world, request)).status.state, 'pending');
  return refused;
}

const stop = (world: SessionWorld) =>
  world.store.write('t', (tx) =>
    cancelRequests(tx, world.context, AGENT, { rootFrameId: world.root, runId: 'run-1' }, 'stopped'),
  );

async function tampered(world: SessionWorld, sql: string) {
  const request = await ask(world);
  const raw = world.raw();
  raw.exec(`DROP TRIGGER trg_permission_action_immutable; ${sql}`);
  raw.close();
  return request;
}

const mark = (world: SessionWorld, key: string) =>
  world.store.write('t', (tx) => putSetting(tx, world.context, world.root, key, ''));

const HAZARDS: readonly Hazard[] = [
  {
    hazard: 'decide twice',
    code: 'APPROVAL_ALREADY_DECIDED',
    run: async (world) => approvalsOf(world).decide(OWNER, [say(await allowed(world), { decision: 'reject' })]),
  },
  {
    hazard: 'decide for a run that was stopped',
    code: 'APPROVAL_ALREADY_DECIDED',
    async run(world) {
      const request = await ask(world);
      await stop(world);
      return approvalsOf(world).decide(OWNER, [say(request)]);
    },
  },
  {
    hazard: 'decide while the stop is on its way',
    code: 'APPROVAL_ALREADY_DECIDED',
    async run(world) {
      const request = await ask(world);
      const [, decided] = await Promise.allSettled([stop(world), approvalsOf(world).decide(OWNER, [say(request)])]);
      assert.equal(decided.status, 'rejected');
      return decided.status === 'rejected' ? Promise.reject(decided.reason as Error) : null;
    },
  },
  {
    hazard: 'stop after the approval and before the use',
    code: 'APPROVAL_REVOKED',
    async run(world) {
      const request = await allowed(world);
      await stop(world);
      return use(world, request);
    },
  },
  {
    hazard: 'approve a request that an edit has replaced',
    code: 'APPROVAL_ALREADY_DECIDED',
    async run(world) {
      const request = await ask(world);
      await approvalsOf(world).decide(OWNER, [say(request, { editedArguments: { value: 9, fixed: 'fixed' } })]);
      return approvalsOf(world).decide(OWNER, [say(request)]);
    },
  },
  {
    hazard: 'use the request that an edit has replaced',
    code: 'APPROVAL_NOT_GIVEN',
    async run(world) {
      const request = await ask(world);
      await approvalsOf(world).decide(OWNER, [say(request, { editedArguments: { value: 9, fixed: 'fixed' } })]);
      return use(world, request);
    },
  },
  {
    hazard: 'edit to a value outside the schema',
    code: 'APPROVAL_ARGUMENTS_INVALID',
    run: (world) => edit(world, { value: 100, fixed: 'fixed' }),
  },
  {
    hazard: 'edit a field that may not be edited',
    code: 'APPROVAL_EDIT_FORBIDDEN',
    run: (world) => edit(world, { value: 1, fixed: 'tampered' }),
  },
  {
    hazard: 'add a field by an edit',
    code: 'APPROVAL_EDIT_FORBIDDEN',
    run: (world) => edit(world, { value: 1, fixed: 'fixed', more: true }),
  },
  {
    hazard: 'leave a field out by an edit',
    code: 'APPROVAL_EDIT_FORBIDDEN',
    run: (world) => edit(world, { value: 1 }),
  },
  {
    hazard: 'reject with an edit',
    code: 'INVALID_VALUE',
    async run(world) {
      const request = await ask(world);
      const both = say(request, { decision: 'reject', editedArguments: { value: 2, fixed: 'fixed' } });
      return approvalsOf(world).decide(OWNER, [both]);
    },
  },
  {
    hazard: 'use an edit that was checked for another request',
    code: 'INVALID_VALUE',
    async run(world) {
      const one = await ask(world);
      const two = await ask(world, { actionId: 'b' });
      const checked = await checkEdit(one.action, { value: 2, fixed: 'fixed' }, validate);
      const verdict = { ...say(two), edit: checked ?? assert.fail() };
      return world.store.write('t', (tx) => decide(tx, world.context, OWNER, [verdict]));
    },
  },
  {
    hazard: 'expire while deciding',
    code: 'APPROVAL_EXPIRED',
    async run(world) {
      const request = await ask(world, { expiresAt: world.clock.nowMs() + 1 });
      world.clock.advance(1);
      return approvalsOf(world).decide(OWNER, [say(request)]);
    },
  },
  {
    hazard: 'expire between the approval and the use',
    code: 'APPROVAL_EXPIRED',
    async run(world) {
      const request = await ask(world, { expiresAt: world.clock.nowMs() + 1 });
      await approvalsOf(world).decide(OWNER, [say(request)]);
      world.clock.advance(1);
      return use(world, request);
    },
  },
  {
    hazard: 'a model changes the arguments after the approval',
    code: 'APPROVAL_BINDING_MISMATCH',
    run: async (world) => use(world, await allowed(world), { argumentsSha256: 'f'.repeat(64) }),
  },
  {
    hazard: 'the tool is another revision at the use',
    code: 'APPROVAL_BINDING_MISMATCH',
    run: async (world) => use(world, await allowed(world), { toolRevision: 'dangerous_tool-v2' }),
  },
  {
    hazard: 'the policy is another revision at the use',
    code: 'APPROVAL_BINDING_MISMATCH',
    run: async (world) => use(world, await allowed(world), { policyRevision: 'enforce:new@2' }),
  },
  {
    hazard: 'one approval for two executions at once',
    code: 'APPROVAL_CONSUMED',
    async run(world) {
      const request = await allowed(world);
      const both = await Promise.allSettled([use(world, request), use(world, request)]);
      const lost = both.filter((one) => one.status === 'rejected');
      assert.equal(lost.length, 1);
      return Promise.reject(lost[0]?.reason as Error);
    },
  },
  {
    hazard: 'execute what was rejected',
    code: 'APPROVAL_NOT_GIVEN',
    async run(world) {
      const request = await ask(world);
      await approvalsOf(world).decide(OWNER, [say(request, { decision: 'reject' })]);
      return use(world, request);
    },
  },
  {
    hazard: 'execute what nobody decided',
    code: 'APPROVAL_NOT_GIVEN',
    run: async (world) => use(world, await ask(world)),
  },
  {
    hazard: 'decide on a text that is not what is stored',
    code: 'APPROVAL_DIGEST_MISMATCH',
    run: async (world) => approvalsOf(world).decide(OWNER, [say(await ask(world), { digest: 'a'.repeat(64) })]),
  },
  {
    hazard: 'decide with the digest of another request',
    code: 'APPROVAL_DIGEST_MISMATCH',
    async run(world) {
      const one = await ask(world);
      const two = await ask(world, { actionId: 'b' });
      return approvalsOf(world).decide(OWNER, [say(one, { digest: two.action.requestSha256 })]);
    },
  },
  {
    hazard: 'whoever asked decides',
    code: 'APPROVER_IS_REQUESTER',
    run: async (world) => approvalsOf(world).decide({ ...AGENT, roles: ['owner'] }, [say(await ask(world))]),
  },
  {
    hazard: "decide another tenant's request",
    code: 'APPROVAL_NOT_FOUND',
    run: async (world) => approvalsOf(world).decide(STRANGER, [say(await ask(world))]),
  },
  {
    hazard: "use another tenant's approval",
    code: 'APPROVAL_NOT_FOUND',
    async run(world) {
      const request = await allowed(world);
      return world.store.write('t', (tx) =>
        consume(tx, world.context, STRANGER, {
          requestId: request.action.requestId,
          by: 'e',
          binding: bindingOf(request),
        }),
      );
    },
  },
  {
    hazard: 'ask twice about one call',
    code: 'APPROVAL_PENDING_EXISTS',
    async run(world) {
      const { groupId } = await openCalls(world);
      await ask(world, { groupId });
      return ask(world, { groupId });
    },
  },
  {
    hazard: 'the stored arguments are changed behind the program',
    code: 'APPROVAL_CORRUPT',
    async run(world) {
      const sql = `UPDATE permission_requests SET canonical_arguments = '{"fixed":"fixed","value":2}'`;
      return approvalsOf(world).show(OWNER, (await tampered(world, sql)).action.requestId);
    },
  },
  {
    hazard: 'the digest of the stored arguments is changed behind the program, after the approval',
    code: 'APPROVAL_CORRUPT',
    async run(world) {
      const request = await allowed(world);
      const raw = world.raw();
      raw.exec('DROP TRIGGER trg_permission_action_immutable');
      raw.prepare('UPDATE permission_requests SET canonical_arguments_sha256 = ?').run('0'.repeat(64));
      raw.close();
      return use(world, request, { argumentsSha256: '0'.repeat(64) });
    },
  },
  {
    hazard: 'the approvers of a stored request are widened behind the program',
    code: 'APPROVAL_CORRUPT',
    async run(world) {
      const sql = `UPDATE permission_requests SET approver = '{"requester_may_decide":true,"roles":["owner"],"subjects":[]}'`;
      return approvalsOf(world).decide(OWNER, [say(await tampered(world, sql))]);
    },
  },
  {
    hazard: 'ask in a session that came as a package',
    code: 'SESSION_QUARANTINED',
    async run(world) {
      const request = await ask(world);
      await mark(world, `${QUARANTINE_PREFIX}${world.root}`);
      const { groupId } = request.action;
      return ask(world, { groupId, actionId: 'b' });
    },
  },
  {
    hazard: 'allow while a revert waits to be finished',
    code: 'SESSION_REVERTING',
    async run(world) {
      const request = await ask(world);
      await mark(world, `${REVERT_MARKER_PREFIX}x`);
      return approvalsOf(world).decide(OWNER, [say(request)]);
    },
  },
  {
    hazard: 'ask for a group that is not there',
    code: 'ACTION_GROUP_NOT_FOUND',
    run: (world) =>
      world.store.write('t', (tx) =>
        requestPermission(tx, world.context, AGENT, {
          groupId: 'none',
          actionId: 'a',
          tool: 't',
          toolRevision: 'v',
          arguments: {},
          policyRevision: 'p',
          approver: { roles: ['owner'], subjects: [], requesterMayDecide: false },
          reason: 'why',
        }),
      ),
  },
];

check('at least twenty-five hazards are listed, each once', () => {
  assert.ok(HAZARDS.length >= 25);
  assert.equal(new Set(HAZARDS.map((one) => one.hazard)).size, HAZARDS.length);
});

for (const { hazard, code, run } of HAZARDS)
  check(`${hazard}: ${code}`, async () => {
    await using world = await openSessionWorld();
    assert.equal((await refusal(run(world))).code, code);
  });

check('raw SQL cannot edit a request, decide it again, use it again, or remove it', async () => {
  await using world = await openSessionWorld();
  const request = await allowed(world);
  await use(world, request);
  const raw = world.raw();
  const refused = (text: string, why: RegExp) => assert.throws(() => raw.exec(text), why, text);
  refused(`UPDATE permission_requests SET target = 'x'`, /permission action identity is immutable/);
  refused(`UPDATE permission_requests SET expires_at = 1`, /permission action identity is immutable/);
  refused(`UPDATE permission_requests SET state = 'denied'`, /decided once/);
  refused(`UPDATE permission_requests SET consumed_at = NULL, consumed_by = NULL`, /used once/);
  refused(`DELETE FROM permission_requests`, /are kept/);
  raw.close();
});
