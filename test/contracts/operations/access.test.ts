import { Principal, requestDigest, statusQueryCall, type ToolCall } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { assert, contract } from '../../support/index.ts';
import { codeOf, freshDesk, statusRefIn } from './desk.ts';

type Failure = 'none' | 'after_intent_commit' | 'after_downstream_commit';

function approved(desk: RefundDesk, who: Principal, call: ToolCall, failure: Failure = 'none') {
  return desk.operations.dispatch(who, call, { approvals: desk.approve(who, call, 'valid', T0), now: T0, failure });
}

const ADMIN = new Principal('tenant-a', 'admin-1');
const ADMIN_WITH_ROLE = new Principal('tenant-a', 'admin-1', ['support_admin']);
const ADMIN_CALL = refundCall({
  orderRef: 'ORDER-8',
  callId: 'call-admin',
  operationId: 'operation-admin',
  responseId: 'response-admin',
});

contract('OPS-81 OPS-82', 'an unauthorised request leaves no trace at all', async (t) => {
  const { desk } = await freshDesk(t);
  const result = await approved(desk, USER, refundCall({ orderRef: 'ORDER-8' }));
  assert.equal(codeOf(result), 'NOT_FOUND');
  assert.equal((await desk.operations.counts()).call_bindings, 0);
});

contract('OPS-83 OPS-84', 'a stored result is not readable without access as it is now', async (t) => {
  const { desk } = await freshDesk(t, { allowed: ['ORDER-7'] });
  assert.equal(codeOf(await approved(desk, USER, refundCall())), 'OK');
  desk.allowed = [];
  const replayed = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 });
  assert.equal(codeOf(replayed), 'NOT_FOUND');
});

contract('OPS-85 OPS-86', 'presented roles are not believed', async (t) => {
  const { desk } = await freshDesk(t);
  assert.equal(codeOf(await approved(desk, ADMIN_WITH_ROLE, ADMIN_CALL)), 'NOT_FOUND');
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-87 OPS-88', 'roles of the resolver count, for the worker too', async (t) => {
  const { desk } = await freshDesk(t, { resolver: () => ADMIN_WITH_ROLE });
  assert.equal(codeOf(await approved(desk, ADMIN, ADMIN_CALL)), 'OK');
  assert.equal((await desk.operations.counts()).downstream_receipts, 1);
});

contract('OPS-89 OPS-90 OPS-91', 'access is asked a second time just before the intent is stored', async (t) => {
  let asked = 0;
  const resolver = () => {
    asked += 1;
    return asked === 1 ? ADMIN_WITH_ROLE : ADMIN;
  };
  const { desk } = await freshDesk(t, { resolver });
  assert.equal(codeOf(await approved(desk, ADMIN, ADMIN_CALL)), 'NOT_FOUND');
  assert.equal(asked, 2);
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-92 OPS-93', 'a worker finds that the role is gone', async (t) => {
  const { desk } = await freshDesk(t, { resolver: () => ADMIN_WITH_ROLE });
  const stored = await approved(desk, ADMIN, ADMIN_CALL, 'after_intent_commit');
  desk.resolver = () => ADMIN;
  const word = await desk.operations.process(statusRefIn(stored), { workerId: 'worker', now: T0 + 1 });
  assert.equal(word, 'authorization_denied');
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});

contract('OPS-94 OPS-95 OPS-96 OPS-97', 'a denial at the worker is not final', async (t) => {
  const { desk } = await freshDesk(t, { allowed: ['ORDER-7'] });
  const statusRef = statusRefIn(await approved(desk, USER, refundCall(), 'after_intent_commit'));
  desk.allowed = [];
  const denied = await desk.operations.process(statusRef, { workerId: 'denied', now: T0 + 1, leaseSeconds: 5 });
  assert.equal(denied, 'authorization_denied');
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
  desk.allowed = ['ORDER-7'];
  assert.equal(await desk.operations.process(statusRef, { workerId: 'restored', now: T0 + 6 }), 'succeeded');
  assert.equal((await desk.operations.counts()).downstream_receipts, 1);
});

contract('OPS-98', 'a status is not told without access as it is now', async (t) => {
  const { desk } = await freshDesk(t, { allowed: ['ORDER-7'] });
  const call = refundCall();
  const statusRef = statusRefIn(await approved(desk, USER, call, 'after_downstream_commit'));
  desk.allowed = [];
  const asked = await desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now: T0 + 1,
  });
  assert.equal(codeOf(asked), 'NOT_FOUND');
});

contract('OPS-99 OPS-100', 'a business state that forbids it makes no operation', async (t) => {
  const { desk } = await freshDesk(t);
  desk.orders.setStatus('ORDER-7', 'refunded');
  assert.equal(codeOf(await approved(desk, USER, refundCall())), 'BUSINESS_RULE_VIOLATION');
  assert.equal((await desk.operations.counts()).operations, 0);
});

contract('OPS-101 OPS-102', 'a worker asks the business rule again', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = statusRefIn(await approved(desk, USER, refundCall(), 'after_intent_commit'));
  desk.orders.setStatus('ORDER-7', 'refunded');
  const word = await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 1, leaseSeconds: 5 });
  assert.equal(word, 'business_rule_denied');
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});

contract('OPS-103 OPS-104', 'a changed contract stops the worker before the effect', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = statusRefIn(await approved(desk, USER, refundCall(), 'after_intent_commit'));
  desk.tools.replace('create_refund_draft', { revisions: { effect: 'create-refund-draft-v2' } });
  await assert.rejects(
    desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 1 }),
    (error: unknown) => errorKind(error) === 'persistence_contract_error',
  );
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
});
