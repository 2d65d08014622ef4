import { requestDigest, statusQueryCall } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { errorKind } from '../../fixtures/refund-desk/error-kinds.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { codeOf, deliveryOf, statusRefIn } from '../../contracts/operations/desk.ts';
import { openHome } from '../../contracts/operations/homes.ts';
import { assert, check } from '../../support/index.ts';

function dispatch(desk: RefundDesk) {
  const call = refundCall();
  return desk.operations.dispatch(USER, call, { approvals: desk.approve(USER, call, 'valid', T0), now: T0 });
}

function ask(desk: RefundDesk, statusRef: string, now: number) {
  const call = refundCall();
  return desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now,
  });
}

/** Moods in which the other side has done it and we were not told. */
for (const mood of ['late', 'never', 'dies_after'])
  check(`the other side did it and answers ${mood}: unknown, then a query knows`, async (t) => {
    const { desk, service, effects } = await openHome(t, 'http');
    assert.ok(service);
    await service.setMood(mood);
    if (mood !== 'dies_after') service.patienceMs = 500;
    const result = await dispatch(desk);
    assert.equal(codeOf(result), 'OUTCOME_UNKNOWN');
    if (mood === 'dies_after') await service?.restart();
    else await service?.setMood('well');
    assert.equal(await effects(), 1);
    assert.equal((await desk.operations.counts()).local_receipts, 0);
    const repeated = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 });
    assert.equal(codeOf(repeated), 'OUTCOME_UNKNOWN');
    const asked = await ask(desk, statusRefIn(result), T0 + 2);
    assert.equal(codeOf(asked), 'OK');
    assert.equal(deliveryOf(asked), 'receipt_reconciled');
    assert.equal(service?.deliveries(), 1);
    assert.equal(await effects(), 1);
  });

check('an answer that comes twice is one effect and one receipt', async (t) => {
  const { desk, service, effects } = await openHome(t, 'http');
  await service?.setMood('twice');
  assert.equal(codeOf(await dispatch(desk)), 'OK');
  assert.equal(await effects(), 1);
  const counts = await desk.operations.counts();
  assert.deepEqual([counts.downstream_receipts, counts.local_receipts], [1, 1]);
});

check('the other side is killed before it did anything: unknown, and one effect after the lease', async (t) => {
  const { desk, service, effects } = await openHome(t, 'http');
  await service?.setMood('dies_before');
  const result = await dispatch(desk);
  assert.equal(codeOf(result), 'OUTCOME_UNKNOWN');
  await service?.restart();
  assert.equal(await effects(), 0);
  assert.equal(codeOf(await ask(desk, statusRefIn(result), T0 + 1)), 'OUTCOME_UNKNOWN');
  const word = await desk.operations.process(statusRefIn(result), { workerId: 'worker', now: T0 + 30 });
  assert.equal(word, 'succeeded');
  assert.equal(await effects(), 1);
});

check('while the other side is down nothing is known, and nothing is claimed', async (t) => {
  const { desk, service } = await openHome(t, 'http');
  await service?.stop();
  const result = await dispatch(desk);
  assert.equal(codeOf(result), 'OUTCOME_UNKNOWN');
  assert.equal(codeOf(await ask(desk, statusRefIn(result), T0 + 1)), 'OUTCOME_UNKNOWN');
  await service?.start();
  assert.equal(service?.deliveries(), 0);
});

check('a delivery that comes a second time honours the key: the first receipt stands', async (t) => {
  const { desk, service, effects } = await openHome(t, 'http');
  assert.ok(service);
  await service.setMood('never');
  service.patienceMs = 500;
  const result = await dispatch(desk);
  await service.setMood('well');
  service.patienceMs = 20_000;
  const word = await desk.operations.process(statusRefIn(result), { workerId: 'worker', now: T0 + 30 });
  assert.equal(word, 'succeeded');
  assert.equal(service.deliveries(), 2);
  assert.equal(await effects(), 1);
  const replayed = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 60 });
  assert.equal(replayed.model_result.provenance.observed_at, '2026-07-19T00:00:00Z');
});

check('an answer that breaks the output rules is not believed and changes nothing', async (t) => {
  const { desk, service } = await openHome(t, 'http');
  await service?.setMood('garbage');
  await assert.rejects(dispatch(desk), (error: unknown) => errorKind(error) === 'persistence_contract_error');
  const counts = await desk.operations.counts();
  assert.deepEqual([counts.operations, counts.downstream_receipts, counts.local_receipts], [1, 0, 0]);
  const repeated = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 });
  assert.equal(codeOf(repeated), 'OUTCOME_UNKNOWN');
});
