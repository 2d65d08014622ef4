import type { TestContext } from 'node:test';
import {
  type DeliveryAnswer,
  type LookupAnswer,
  requestDigest,
  statusQueryCall,
} from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, freshDesk, RECEIPT, statusRefIn } from './desk.ts';

const LEASE = { workerId: 'second', leaseSeconds: 30 };
const LATER = T0 + 1000;
const LOST: DeliveryAnswer = { kind: 'unknown', reason: 'connection reset' };
const DONE: DeliveryAnswer = { kind: 'done', receipt: RECEIPT };

/** An intent whose first delivery, and a question about it, are under way until a test answers them. */
async function underWay(t: TestContext, second: DeliveryAnswer) {
  const delivered = { begun: Promise.withResolvers<void>(), answer: Promise.withResolvers<DeliveryAnswer>() };
  const asked = { begun: Promise.withResolvers<void>(), answer: Promise.withResolvers<LookupAnswer>() };
  const { desk } = await freshDesk(t, {
    verdicts: true,
    downstream: {
      home: 'external',
      async deliver({ attempt }) {
        if (attempt > 1) return second;
        delivered.begun.resolve();
        return delivered.answer.promise;
      },
      async lookUp() {
        asked.begun.resolve();
        return asked.answer.promise;
      },
    },
  });
  const { operations } = desk;
  const call = refundCall();
  const approvals = desk.approve(USER, call, 'valid', T0);
  const first = operations.dispatch(USER, call, { approvals, now: T0 });
  await delivered.begun.promise;
  const query = async (statusRef: string) => {
    const expectedRequestSha256 = requestDigest(USER, REFUND_SPEC.contract, call.arguments);
    const told = operations.queryStatus(USER, statusQueryCall(call, statusRef), {
      statusRef,
      expectedRequestSha256,
      now: LATER,
    });
    await asked.begun.promise;
    return { told };
  };
  const only = async () => {
    const [view] = (await operations.list(USER, { now: LATER + 1000 })).operations;
    if (!view) throw new Error('there is no operation');
    return view;
  };
  const again = async (now = LATER) => operations.process((await only()).statusRef, { ...LEASE, now });
  const person = async (verdict: 'done' | 'not_done') =>
    operations.settleByPerson(USER, (await only()).statusRef, { verdict, reason: 'seen', now: LATER });
  return { first, query, only, again, person, deliver: delivered.answer.resolve, answer: asked.answer.resolve };
}

for (const [what, second, known] of [
  ['whose answer was lost', LOST, 'unknown'],
  ['that did it', DONE, 'done'],
] as const) {
  check(`a first delivery that did nothing settles nothing after a second one ${what}`, async (t) => {
    const { first, again, only, deliver } = await underWay(t, second);
    await again();
    deliver({ kind: 'not_done', reason: 'refused' });
    assert.equal(codeOf(await first), known === 'done' ? 'OK' : 'OUTCOME_UNKNOWN');
    assert.deepEqual([(await only()).known, (await only()).verdict], [known, null]);
  });

  check(`that it did not happen settles nothing after another delivery ${what}, and no error is told`, async (t) => {
    const { first, query, again, only, deliver, answer } = await underWay(t, second);
    deliver(LOST);
    const { told } = await query(statusRefIn(await first));
    await again();
    answer({ kind: 'not_happened' });
    assert.equal(codeOf(await told), known === 'done' ? 'OK' : 'OUTCOME_UNKNOWN');
    assert.deepEqual([(await only()).known, (await only()).verdict], [known, null]);
  });
}

check('that it did not happen settles nothing after another delivery whose lease is over, too', async (t) => {
  const { first, query, again, only, deliver, answer } = await underWay(t, LOST);
  deliver(LOST);
  const { told } = await query(statusRefIn(await first));
  await again(LATER - 900);
  answer({ kind: 'not_happened' });
  assert.equal(codeOf(await told), 'OUTCOME_UNKNOWN');
  assert.deepEqual([(await only()).known, (await only()).verdict], ['unknown', null]);
});

check(
  'whoever delivers or asks while a person says what happened answers that it is settled, as no error',
  async (t) => {
    const { first, person, only, deliver } = await underWay(t, LOST);
    await person('done');
    deliver({ kind: 'not_done', reason: 'refused' });
    assert.equal(codeOf(await first), 'OUTCOME_UNKNOWN');
    assert.equal((await only()).known, 'done');
    const other = await underWay(t, LOST);
    other.deliver(LOST);
    const { told } = await other.query(statusRefIn(await other.first));
    await other.person('done');
    other.answer({ kind: 'not_happened' });
    assert.equal(codeOf(await told), 'SETTLED');
    assert.equal((await other.only()).known, 'done');
  },
);
