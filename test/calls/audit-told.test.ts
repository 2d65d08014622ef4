import type { TestContext } from 'node:test';
import { auditEverything } from '../../src/app/index.ts';
import { settleByPerson } from '../../src/calls/index.ts';
import { Principal } from '../../src/operations/index.ts';
import { tamper } from '../runs/damage-world.ts';
import { assert, check, manualClock } from '../support/index.ts';
import { callsThenDone, noteTool, openDesk } from './desk.ts';

/** A call that was settled by a person, and one that was done; and what an audit finds after an edit of the database. */
async function settled(t: TestContext) {
  const clock = manualClock(Date.now());
  const { holdfast, dataDir } = await openDesk(t, { clock, instanceLeaseMs: 600_000 });
  const { runtime } = holdfast;
  const { calls, operations, principal } = runtime;
  const execute = ({ note }: { readonly note: string }) => {
    if (note === 'lost') throw new Error('connection reset');
    return { ok: true };
  };
  const model = callsThenDone([{ note: 'fine' }], [{ note: 'lost' }]);
  await holdfast.agent({ model, tools: [noteTool({ execute, effect: 'idempotent' })] }).run('go');
  const asker = new Principal(principal.tenant, principal.subject);
  const [lost] = (await operations.list(asker, { now: Math.floor(clock.nowMs() / 1000) })).operations;
  assert.ok(lost);
  clock.advance(120_000);
  const { statusRef } = lost;
  await settleByPerson(calls, principal, statusRef, { verdict: 'not_done', reason: 'looked' });
  const errors = async () => (await auditEverything(runtime, principal, null)).operationErrors;
  assert.deepEqual(await errors(), []);
  return { statusRef, errors, edit: (sql: string) => tamper(dataDir, sql) };
}

check('an audit of everything shows a verdict that was taken away, since the ledger still tells it', async (t) => {
  const { statusRef, errors, edit } = await settled(t);
  edit('DELETE FROM operation_verdicts');
  assert.deepEqual(await errors(), [
    `operation ${statusRef}: the ledger tells it as not_done, and its record says unknown`,
  ]);
});

check('an audit of everything shows a verdict that was turned', async (t) => {
  const { statusRef, errors, edit } = await settled(t);
  edit("UPDATE operation_verdicts SET verdict = 'done'");
  assert.deepEqual(await errors(), [
    `operation ${statusRef}: the ledger tells it as not_done, and its record says done`,
  ]);
});

check(
  'an audit of everything shows a finished operation that was made open again, whole as its record is',
  async (t) => {
    const { errors, edit } = await settled(t);
    edit(`DELETE FROM local_receipts; DELETE FROM downstream_receipts;
    UPDATE operations SET state = 'processing', completed_at = NULL WHERE state = 'succeeded';
    UPDATE outbox SET state = 'processing', lease_owner = 'x', lease_until = 1 WHERE state = 'delivered'`);
    const [found, ...more] = await errors();
    assert.match(found ?? '', /: the ledger tells it as done, and its record says unknown$/);
    assert.deepEqual(more, []);
  },
);
