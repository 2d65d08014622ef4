import { T0, USER, refundCall } from '../../fixtures/refund-desk/calls.ts';
import { assert, contract } from '../../support/index.ts';
import { codeOf, deliveryOf, freshDesk } from './desk.ts';

contract('OPS-48 OPS-49 OPS-50', 'a first dispatch is done, fresh, and one effect', async (t) => {
  const { desk } = await freshDesk(t);
  const call = refundCall();
  const result = await desk.operations.dispatch(USER, call, {
    approvals: desk.approve(USER, call, 'valid', T0),
    now: T0,
  });
  assert.equal(codeOf(result), 'OK');
  assert.equal(deliveryOf(result), 'fresh');
  assert.equal((await desk.operations.counts()).downstream_receipts, 1);
});
