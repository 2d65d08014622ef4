import { requestDigest, statusQueryCall, type ToolCall } from '../../../src/operations/index.ts';
import { ANTHROPIC, refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, contract } from '../../support/index.ts';
import { codeOf, deliveryOf, statusRefIn } from './desk.ts';
import { HOMES, openHome } from './homes.ts';

type Failure = 'none' | 'after_intent_commit' | 'after_claim' | 'after_downstream_commit';

function approved(desk: RefundDesk, call: ToolCall, failure: Failure) {
  return desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now: T0, failure });
}

function unapproved(desk: RefundDesk, call: ToolCall, now = T0) {
  return desk.operations.dispatch(USER, call, { approvals: [], now });
}

function ask(desk: RefundDesk, call: ToolCall, statusRef: string, now: number) {
  return desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now,
  });
}

for (const home of HOMES) {
  contract('OPS-63 OPS-64', `${home}: a replay survives a restart`, async (t) => {
    const { desk, another, effects } = await openHome(t, home);
    assert.equal(codeOf(await approved(desk, refundCall(), 'none')), 'OK');
    await desk.close();
    const reopened = await another();
    assert.equal(deliveryOf(await unapproved(reopened, refundCall(), T0 + 1)), 'local_replay');
    assert.equal((await reopened.operations.counts()).downstream_receipts, 1);
    if (home === 'http') assert.equal(await effects(), 1);
  });

  contract('OPS-105 OPS-106 OPS-107', `${home}: a stored intent alone has had no effect`, async (t) => {
    const { desk, effects } = await openHome(t, home);
    assert.equal(codeOf(await approved(desk, refundCall(), 'after_intent_commit')), 'OUTCOME_UNKNOWN');
    assert.equal((await desk.operations.counts()).operations, 1);
    assert.equal(await effects(), 0);
  });

  contract('OPS-108 OPS-109 OPS-110', `${home}: a second dispatch never runs the worker`, async (t) => {
    const { desk, effects } = await openHome(t, home);
    const first = await approved(desk, refundCall(), 'after_intent_commit');
    const second = await unapproved(desk, refundCall());
    assert.equal(statusRefIn(second), statusRefIn(first));
    assert.equal(codeOf(second), 'OUTCOME_UNKNOWN');
    assert.equal(await effects(), 0);
  });

  contract('OPS-111 OPS-112 OPS-113', `${home}: a worker reads the provider context that was stored`, async (t) => {
    const { desk } = await openHome(t, home);
    const stored = await approved(desk, refundCall(ANTHROPIC), 'after_intent_commit');
    assert.equal(codeOf(stored), 'OUTCOME_UNKNOWN');
    const row = await desk.store.read('test', (tx) =>
      tx.get('SELECT first_provider, first_api_family, first_adapter_revision FROM operations'),
    );
    assert.deepEqual(Object.values(row ?? {}), ['anthropic', 'messages', 'anthropic-messages-v1']);
    const word = await desk.operations.process(statusRefIn(stored), { workerId: 'worker', now: T0 + 1 });
    assert.equal(word, 'succeeded');
  });

  contract('OPS-114 OPS-115', `${home}: a worker finishes a pending intent, a query then reads it`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_intent_commit'));
    assert.equal(await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 1 }), 'succeeded');
    assert.equal(deliveryOf(await ask(desk, refundCall(), statusRef, T0 + 2)), 'receipt_reconciled');
  });

  contract('OPS-116 OPS-117', `${home}: a running lease keeps a second worker out`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_intent_commit'));
    const take = (workerId: string, now: number) =>
      desk.operations.takeLease(statusRef, { workerId, now, leaseSeconds: 10 });
    assert.equal((await take('worker-a', T0))?.workerId, 'worker-a');
    assert.equal(await take('worker-b', T0 + 9), null);
  });

  contract('OPS-118 OPS-119', `${home}: a lease is over at its end second, and attempts are counted`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_intent_commit'));
    const take = (workerId: string, now: number) =>
      desk.operations.takeLease(statusRef, { workerId, now, leaseSeconds: 10 });
    assert.equal((await take('worker-a', T0))?.attemptCount, 1);
    assert.equal((await take('worker-b', T0 + 10))?.attemptCount, 2);
  });

  contract('OPS-120 OPS-121', `${home}: a crash after the lease is taken over when it ends`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_intent_commit'));
    const crashed = { workerId: 'worker-a', now: T0, leaseSeconds: 5, failure: 'after_claim' } as const;
    assert.equal(await desk.operations.process(statusRef, crashed), 'crashed_after_claim');
    assert.equal(await desk.operations.process(statusRef, { workerId: 'worker-b', now: T0 + 5 }), 'succeeded');
  });

  contract('OPS-122 OPS-123 OPS-124 OPS-125', `${home}: done over there, not recorded here`, async (t) => {
    const { desk, effects } = await openHome(t, home);
    assert.equal(codeOf(await approved(desk, refundCall(), 'after_downstream_commit')), 'OUTCOME_UNKNOWN');
    assert.equal(await effects(), 1);
    assert.equal((await desk.operations.counts()).local_receipts, 0);
    assert.equal(codeOf(await unapproved(desk, refundCall())), 'OUTCOME_UNKNOWN');
  });

  contract('OPS-126', `${home}: without a receipt a query stays unknown`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_intent_commit'));
    assert.equal(codeOf(await ask(desk, refundCall(), statusRef, T0 + 1)), 'OUTCOME_UNKNOWN');
  });

  contract('OPS-129 OPS-130 OPS-131 OPS-132', `${home}: a query finds the receipt and finishes`, async (t) => {
    const { desk } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_downstream_commit'));
    const asked = await ask(desk, refundCall(), statusRef, T0 + 1);
    assert.equal(codeOf(asked), 'OK');
    assert.equal(deliveryOf(asked), 'receipt_reconciled');
    assert.equal((await desk.operations.counts()).local_receipts, 1);
    const row = await desk.store.read('test', (tx) => tx.get('SELECT state FROM outbox'));
    assert.equal(row?.['state'], 'delivered');
  });

  contract('OPS-137 OPS-138', `${home}: after the query the same dispatch is a replay of one effect`, async (t) => {
    const { desk, effects } = await openHome(t, home);
    const statusRef = statusRefIn(await approved(desk, refundCall(), 'after_downstream_commit'));
    await ask(desk, refundCall(), statusRef, T0 + 1);
    assert.equal(deliveryOf(await unapproved(desk, refundCall(), T0 + 2)), 'local_replay');
    assert.equal((await desk.operations.counts()).downstream_receipts, 1);
    assert.equal(await effects(), 1);
  });
}
