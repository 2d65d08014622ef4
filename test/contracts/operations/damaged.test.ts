import { HoldfastError } from '../../../src/core/index.ts';
import { Principal } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import type { RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, freshDesk, statusRefIn } from './desk.ts';

const PERSON = new Principal('tenant-a', 'controller-1');
const LATER = T0 + 90;
const OTHER = 'f'.repeat(64);
const isBroken = (error: unknown) => error instanceof HoldfastError && error.code === 'OPERATION_RECORD_BROKEN';

async function stopped(desk: RefundDesk, failure: 'none' | 'after_claim', key: string): Promise<string> {
  const call = refundCall({ idempotencyKey: key, callId: `call-${key}`, responseId: `response-${key}` });
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(await desk.operations.dispatch(USER, call, { approvals, now: T0, failure }));
}

/** Two operations under way whose leases are over, and the first of them changed behind the program's back. */
async function damaged(desk: RefundDesk, sql: string): Promise<{ readonly sick: string; readonly sound: string }> {
  const [sick, sound] = [await stopped(desk, 'after_claim', 'sick'), await stopped(desk, 'after_claim', 'sound')];
  await desk.store.write('test', (tx) => tx.run(`${sql} WHERE operation_pk = 1`));
  return { sick, sound };
}

const DAMAGES: readonly (readonly [what: string, sql: string])[] = [
  ['a state that nothing proves', `UPDATE operations SET state = 'succeeded', completed_at = updated_at`],
  ['another amount', `UPDATE operations SET arguments_json = '{"order_ref":"ORDER-7","reason":"other"}'`],
  ['another key', `UPDATE operations SET idempotency_key = 'another'`],
  ['another approval', `UPDATE operations SET approval_digest = '${OTHER}'`],
  ['a blank approval', `UPDATE operations SET approval_id = ' '`],
  ['an approval from another time', 'UPDATE operations SET approved_at = approved_at - 1'],
  ['an approval beyond the end of time', 'UPDATE operations SET approval_expires_at = 253402300800'],
  ['a number that nobody can hold', 'UPDATE operations SET updated_at = 9007199254740993'],
  ['a lease that nobody can hold', 'UPDATE outbox SET lease_until = 9223372036854775807'],
];

for (const [what, sql] of DAMAGES)
  check(`an operation with ${what} is shown as damaged, keeps no other from being shown, and stands`, async (t) => {
    const { desk } = await freshDesk(t, { verdicts: true });
    const { sick, sound } = await damaged(desk, sql);
    const { operations } = desk;
    const [, one] = (await operations.list(PERSON, { now: LATER })).operations;
    for (const view of [one, await operations.show(PERSON, sick, LATER)]) {
      assert.equal(view?.known, 'unknown');
      assert.match(view?.damage ?? '', /^A stored operation record is not what it must be: /);
    }
    const [other] = (await operations.list(PERSON, { limit: 1, now: LATER })).operations;
    assert.deepEqual([other?.statusRef, other?.damage], [sound, null]);
    const terms = { workerId: 'worker', now: LATER, seconds: 30 };
    await assert.rejects(
      desk.store.write('test', (tx) => operations.lease(tx, sick, terms)),
      isBroken,
    );
    const said = { verdict: 'not_done', reason: 'seen', now: LATER } as const;
    await assert.rejects(operations.settleByPerson(PERSON, sick, said), isBroken);
    const verdicts = await desk.store.read('test', (tx) => tx.all('SELECT operation_pk FROM operation_verdicts'));
    assert.deepEqual(verdicts, []);
    assert.equal((await operations.audit()).semantic_errors.length, 1);
    await operations.settleByPerson(PERSON, sound, said);
    assert.equal((await operations.show(PERSON, sound, LATER)).known, 'not_done');
  });

check('a verdict that was put beside a finished operation is damage, and no answer', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const statusRef = await stopped(desk, 'none', 'sick');
  await desk.store.write('test', (tx) =>
    tx.run(`INSERT INTO operation_verdicts VALUES (1, 'not_done', 'person', 'intruder', 'no', ${T0})`),
  );
  const view = await desk.operations.show(PERSON, statusRef, LATER);
  assert.equal(view.known, 'unknown');
  assert.match(view.damage ?? '', /it succeeded and has a verdict/);
  const audit = await desk.operations.audit();
  assert.deepEqual(audit.semantic_errors, [`operation ${statusRef}: it succeeded and has a verdict`]);
});

check('a number that nobody can hold is a coded error for whoever repeats, asks or records', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_claim', 'sick');
  await desk.store.write('test', (tx) => tx.run('UPDATE operations SET updated_at = 9007199254740993'));
  const call = refundCall({ idempotencyKey: 'sick', callId: 'call-sick', responseId: 'response-sick' });
  await assert.rejects(desk.operations.dispatch(USER, call, { approvals: [], now: LATER }), isBroken);
  await assert.rejects(desk.operations.process(statusRef, { workerId: 'worker', now: LATER }), isBroken);
  await assert.rejects(desk.operations.stored(USER, statusRef), isBroken);
});

check('what another tenant has is not there, damaged or not', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const statusRef = await stopped(desk, 'after_claim', 'sick');
  const isAbsent = (error: unknown) => error instanceof HoldfastError && error.code === 'OPERATION_NOT_FOUND';
  const stranger = new Principal('tenant-b', 'user-1');
  const call = refundCall({ orderRef: 'ORDER-9' });
  const query = { statusRef, expectedRequestSha256: OTHER, now: LATER };
  const said = { verdict: 'done', reason: 'seen', now: LATER } as const;
  for (const updatedAt of [`${T0}`, '9007199254740993']) {
    await desk.store.write('test', (tx) => tx.run(`UPDATE operations SET updated_at = ${updatedAt}`));
    await assert.rejects(desk.operations.show(stranger, statusRef, LATER), isAbsent);
    await assert.rejects(desk.operations.stored(stranger, statusRef), isAbsent);
    await assert.rejects(desk.operations.settleByPerson(stranger, statusRef, said), isAbsent);
    assert.equal(codeOf(await desk.operations.queryStatus(stranger, call, query)), 'NOT_FOUND');
  }
});

check('what was leased is not said to be untried, whatever its outbox row says by now', async (t) => {
  const { desk } = await freshDesk(t);
  const statusRef = await stopped(desk, 'after_claim', 'sick');
  const untried = "UPDATE outbox SET state = 'pending', lease_owner = NULL, lease_until = NULL, attempt_count = 0";
  await desk.store.write('test', (tx) => tx.run(untried));
  assert.equal((await desk.operations.show(USER, statusRef, LATER)).known, 'unknown');
});
