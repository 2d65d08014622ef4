import { proveStored } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { assert, check } from '../../support/index.ts';
import { freshDesk, statusRefIn } from './desk.ts';

const OTHER = 'f'.repeat(64);

const DAMAGES: readonly (readonly [what: string, sql: string, finding: RegExp])[] = [
  ['key', "UPDATE operations SET idempotency_key = 'another'", /status reference/],
  ['arguments', "UPDATE operations SET arguments_json = '{}'", /request\/contract/],
  ['approver', "UPDATE operations SET approver_id = 'intruder'", /approval/],
  ['producer', "UPDATE operations SET producer_revision = 'another'", /another request/],
  ['outbox row', 'DELETE FROM outbox', /no outbox row/],
  ['outbox state', "UPDATE outbox SET state = 'pending'", /without a delivered outbox row/],
  ['receipt', `UPDATE downstream_receipts SET request_sha256 = '${OTHER}'`, /another request/],
  ['local receipt', "UPDATE local_receipts SET resource_revision = 'r9'", /differs/],
  ['result', "UPDATE local_receipts SET result_json = '{ }'", /canonical/],
];

for (const [what, sql, finding] of DAMAGES)
  check(`a stored operation is proved from its own records, its ${what} among them`, async (t) => {
    const { desk } = await freshDesk(t);
    const approvals = desk.approve(USER, refundCall(), 'valid', T0);
    const statusRef = statusRefIn(await desk.operations.dispatch(USER, refundCall(), { approvals, now: T0 }));
    proveStored(await desk.operations.stored(USER, statusRef), statusRef);
    await desk.store.write('test', (tx) => tx.run(sql));
    const whole = await desk.operations.stored(USER, statusRef);
    assert.throws(() => proveStored(whole, statusRef), finding);
  });
