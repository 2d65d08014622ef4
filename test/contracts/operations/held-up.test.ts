import type { TestContext } from 'node:test';
import { once } from 'node:events';
import type { DeliveryRequest, DownstreamPort } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { assert, check, manualClock } from '../../support/index.ts';
import { codeOf, freshDesk, RECEIPT, statusRefIn } from './desk.ts';

/** A desk whose worker is held up between its lease and its delivery, for so many seconds. */
async function heldUp(t: TestContext, seconds: number, deliver: DownstreamPort['deliver']) {
  const clock = manualClock(0);
  const sent: DeliveryRequest[] = [];
  const downstream: DownstreamPort = {
    home: 'external',
    deliver: (request) => {
      sent.push(request);
      return deliver(request);
    },
  };
  const reach = (point: string) => void (point === 'effect-about-to-send' && clock.advance(seconds * 1000));
  const { desk } = await freshDesk(t, { verdicts: true, downstream, clock, faults: { reach } });
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const dispatch = () => desk.operations.dispatch(USER, call, { approvals, now: T0, leaseSeconds: 10 });
  return { desk, dispatch, sent };
}

const answered = async () => ({ kind: 'done', receipt: RECEIPT }) as const;

check('a worker looks at its lease just before it delivers, and sends nothing once it has ended', async (t) => {
  const { desk, dispatch, sent } = await heldUp(t, 10, answered);
  const told = await dispatch();
  assert.equal(codeOf(told), 'OUTCOME_UNKNOWN');
  assert.equal(sent.length, 0);
  const statusRef = statusRefIn(told);
  const { known, verdict } = await desk.operations.show(USER, statusRef, T0 + 10);
  assert.deepEqual([known, verdict], ['unknown', null]);
});

check('in the last moment of its lease it still delivers', async (t) => {
  const { dispatch, sent } = await heldUp(t, 9.5, answered);
  assert.equal((await dispatch()).model_result.status, 'succeeded');
  assert.equal(sent.length, 1);
});

check('a delivery is aborted at the end of its lease, and what it would have answered is unknown', async (t) => {
  const { dispatch, sent } = await heldUp(t, 9.95, async ({ signal }) => {
    await once(signal, 'abort');
    return answered();
  });
  assert.equal(codeOf(await dispatch()), 'OUTCOME_UNKNOWN');
  assert.deepEqual([sent.length, sent[0]?.signal.aborted], [1, true]);
});

check('a delivery that never answers and hears no abort holds its worker no longer than its lease', async (t) => {
  const { dispatch } = await heldUp(t, 9.95, () => new Promise(() => undefined));
  assert.equal(codeOf(await dispatch()), 'OUTCOME_UNKNOWN');
});

check('a lease of many years is a lease: no timer is too short for it', async (t) => {
  const { desk, sent } = await heldUp(t, 0, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return answered();
  });
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const told = await desk.operations.dispatch(USER, call, { approvals, now: T0, leaseSeconds: 2 ** 31 });
  assert.equal(told.model_result.status, 'succeeded');
  assert.equal(sent[0]?.signal.aborted, false);
});
