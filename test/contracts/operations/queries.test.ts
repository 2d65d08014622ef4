import { requestDigest, statusQueryCall, type ToolCall } from '../../../src/operations/index.ts';
import { ANTHROPIC, refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { injectAbort } from '../../fixtures/refund-desk/replay/tables.ts';
import { assert, contract } from '../../support/index.ts';
import { codeOf, freshDesk, statusRefIn } from './desk.ts';

type Failure = 'after_intent_commit' | 'after_downstream_commit';

async function stopped(desk: RefundDesk, failure: Failure): Promise<string> {
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(await desk.operations.dispatch(USER, call, { approvals, now: T0, failure }));
}

function ask(desk: RefundDesk, call: ToolCall, statusRef: string, expected?: string) {
  return desk.operations.queryStatus(USER, call, {
    statusRef,
    expectedRequestSha256: expected ?? requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now: T0 + 1,
  });
}

contract('OPS-127 OPS-128', 'an identity bound for querying can never be used for dispatch', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_intent_commit');
  const query = statusQueryCall(refundCall(), statusRef);
  assert.equal(codeOf(await ask(desk, query, statusRef)), 'OUTCOME_UNKNOWN');
  const approvals = desk.approve(USER, query, 'valid', T0 + 2);
  const dispatched = await desk.operations.dispatch(USER, query, { approvals, now: T0 + 2 });
  assert.equal(codeOf(dispatched), 'CALL_ID_CONFLICT');
});

contract('OPS-133 OPS-134 OPS-135 OPS-136', 'receipt, operation and outbox row change together or not', async (t) => {
  const { desk, file } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_downstream_commit');
  injectAbort(file, 'outbox', 'update', 'the new state is delivered');
  await assert.rejects(
    ask(desk, statusQueryCall(refundCall(), statusRef), statusRef),
    (error: unknown) => errorKind(error) === 'sqlite_constraint_error',
  );
  assert.equal((await desk.operations.counts()).local_receipts, 0);
  const states = await desk.store.read('test', (tx) =>
    tx.get('SELECT o.state AS operation, b.state AS outbox FROM operations o JOIN outbox b USING (operation_pk)'),
  );
  assert.equal(states?.['operation'], 'processing');
  assert.equal(states?.['outbox'], 'processing');
});

contract('OPS-139', 'a wrong expected digest is a status conflict', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_downstream_commit');
  const query = statusQueryCall(refundCall(), statusRef);
  assert.equal(codeOf(await ask(desk, query, statusRef, '0'.repeat(64))), 'STATUS_CONFLICT');
});

contract('OPS-140', 'an unknown reference is not found', async (t) => {
  const { desk } = await freshDesk(t);
  await stopped(desk, 'after_downstream_commit');
  const statusRef = `status_${'0'.repeat(32)}`;
  assert.equal(codeOf(await ask(desk, statusQueryCall(refundCall(), statusRef), statusRef)), 'NOT_FOUND');
});

contract('OPS-141', 'a changed key cannot query a status', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_downstream_commit');
  const query = statusQueryCall(refundCall({ idempotencyKey: 'other-key' }), statusRef);
  assert.equal(codeOf(await ask(desk, query, statusRef)), 'STATUS_CONFLICT');
});

contract('OPS-142', 'a status query cannot cross into another provider context', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_downstream_commit');
  const query = statusQueryCall(refundCall(ANTHROPIC), statusRef);
  assert.equal(codeOf(await ask(desk, query, statusRef)), 'STATUS_CONFLICT');
});
