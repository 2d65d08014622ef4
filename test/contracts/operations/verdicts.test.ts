import { HoldfastError } from '../../../src/core/index.ts';
import {
  type OperationChange,
  prepareRequest,
  hasKey,
  Principal,
  requestDigest,
  statusQueryCall,
  type ToolCall,
} from '../../../src/operations/index.ts';
import { FIND_TWIN } from '../../../src/operations/queries.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { refundOf, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, deliveryOf, freshDesk, statusRefIn } from './desk.ts';
import { openHome } from './homes.ts';

const PERSON = new Principal('tenant-a', 'controller-1');
const STRANGER = new Principal('tenant-b', 'controller-9');
const hasCode = (code: string) => (error: unknown) => error instanceof HoldfastError && error.code === code;

type Failure = 'none' | 'after_intent_commit' | 'after_claim' | 'after_downstream_commit';

async function stopped(desk: RefundDesk, failure: Failure, call: ToolCall = refundCall()): Promise<string> {
  const approvals = desk.approve(USER, call, 'valid', T0);
  return statusRefIn(await desk.operations.dispatch(USER, call, { approvals, now: T0, failure }));
}

function ask(desk: RefundDesk, statusRef: string, now: number) {
  const call = refundCall();
  return desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), {
    statusRef,
    expectedRequestSha256: requestDigest(USER, REFUND_SPEC.contract, call.arguments),
    now,
  });
}

const verdict = (kind: 'done' | 'not_done', now: number) => ({ verdict: kind, reason: 'seen in the ledger', now });

check('a settled operation refuses lease, step, query and dispatch, and never answers data', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const statusRef = await stopped(desk, 'after_claim');
  await desk.operations.settleByPerson(PERSON, statusRef, verdict('not_done', T0 + 30));
  assert.equal(await desk.operations.takeLease(statusRef, { workerId: 'worker', now: T0 + 60 }), null);
  assert.equal(await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 60 }), 'settled');
  assert.equal(codeOf(await ask(desk, statusRef, T0 + 60)), 'SETTLED');
  const dispatched = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 60 });
  assert.equal(codeOf(dispatched), 'SETTLED');
  assert.equal(dispatched.model_result.data, null);
  assert.deepEqual(await desk.operations.validate(dispatched, USER, refundCall()), []);
  assert.equal((await desk.operations.counts()).downstream_receipts, 0);
  assert.equal((await desk.operations.audit()).passed, true);
});

check('a verdict waits for the end of the lease, is for open operations, and stands for ever', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const statusRef = await stopped(desk, 'after_claim');
  const settle = (now: number, who = PERSON) => desk.operations.settleByPerson(who, statusRef, verdict('done', now));
  await assert.rejects(settle(T0 + 29), hasCode('OPERATION_LEASE_RUNNING'));
  await assert.rejects(settle(T0 + 30, STRANGER), hasCode('OPERATION_NOT_FOUND'));
  await settle(T0 + 30);
  await assert.rejects(settle(T0 + 31), hasCode('OPERATION_SETTLED'));
  const change = desk.store.write('test', (tx) => tx.run("UPDATE operation_verdicts SET verdict = 'not_done'"));
  await assert.rejects(change, hasCode('STORE_CONSTRAINT'));
  const remove = desk.store.write('test', (tx) => tx.run('DELETE FROM operation_verdicts'));
  await assert.rejects(remove, hasCode('STORE_CONSTRAINT'));
  const view = await desk.operations.show(PERSON, statusRef, T0 + 40);
  assert.equal(view.known, 'done');
  assert.deepEqual(view.verdict, {
    verdict: 'done',
    source: 'person',
    decidedBy: 'controller-1',
    reason: 'seen in the ledger',
    decidedAt: T0 + 30,
  });
});

check(
  'what has its receipt is not settled, and a database of operations alone has no place for verdicts',
  async (t) => {
    const { desk } = await freshDesk(t, { verdicts: true });
    const finished = await stopped(desk, 'none');
    const given = desk.operations.settleByPerson(PERSON, finished, verdict('not_done', T0 + 60));
    await assert.rejects(given, hasCode('OPERATION_SUCCEEDED'));
    const { desk: alone } = await freshDesk(t);
    const open = await stopped(alone, 'after_claim');
    const refused = alone.operations.settleByPerson(PERSON, open, verdict('done', T0 + 60));
    await assert.rejects(refused, hasCode('VERDICTS_NOT_INSTALLED'));
  },
);

for (const [what, said] of [
  ['a blank reason', { verdict: 'done', reason: ' ', now: T0 }],
  ['a reason of 2,001', { verdict: 'done', reason: 'r'.repeat(2001), now: T0 }],
  ['another word', { verdict: 'maybe', reason: 'r', now: T0 }],
  ['a time past the portable end', { verdict: 'done', reason: 'r', now: 253_402_300_800 }],
] as const)
  check(`a verdict with ${what} is refused and nothing is stored`, async (t) => {
    const { desk } = await freshDesk(t, { verdicts: true });
    const statusRef = await stopped(desk, 'after_intent_commit');
    const settle = desk.operations.settleByPerson(PERSON, statusRef, said as never);
    await assert.rejects(settle, hasCode('INVALID_VALUE'));
    assert.equal((await desk.operations.show(PERSON, statusRef, T0)).verdict, null);
  });

check('a receipt that turns up after the verdict is kept and shown beside it', async (t) => {
  const changes: OperationChange['kind'][] = [];
  const onChange = async (_tx: unknown, change: OperationChange) => void changes.push(change.kind);
  const { desk } = await freshDesk(t, { verdicts: true, onChange });
  const call = refundCall();
  const statusRef = await stopped(desk, 'after_claim');
  await desk.operations.settleByPerson(PERSON, statusRef, verdict('not_done', T0 + 30));
  const tool = desk.tools.current(call.name);
  assert.ok(tool && hasKey(call));
  const request = prepareRequest(USER, call, tool, 'dispatch');
  const effect = refundOf({ effectIdentity: statusRef.slice(7).repeat(2), input: call.arguments });
  const checked = {
    receiptId: effect.receiptId,
    downstreamRequestId: effect.downstreamRequestId,
    resultJson: '{"draft_id":"DRAFT-9","order_ref":"ORDER-7","reason":"duplicate"}',
    producerRevision: tool.contract.producer,
    resourceRevision: effect.resourceRevision,
    observedAt: '2026-07-19T00:01:00Z',
  };
  const terms = { statusRef, expected: request, checked, keepChecked: true, now: T0 + 60 };
  const answer = await desk.store.write('test', (tx) => desk.operations.record(tx, terms));
  assert.deepEqual(answer, { kind: 'settled' });
  const view = await desk.operations.show(PERSON, statusRef, T0 + 61);
  assert.equal(view.known, 'not_done');
  assert.equal(view.lateReceipt?.receiptId, effect.receiptId);
  assert.equal(view.receipt, null);
  assert.deepEqual(changes, ['reserved', 'leased', 'settled', 'receipt_kept']);
  assert.equal((await desk.operations.audit()).passed, true);
});

check('http: not happened settles only once nothing under way can still take effect', async (t) => {
  const { desk, service, effects } = await openHome(t, 'http', { verdicts: true });
  await service?.setMood('dies_before');
  const statusRef = await stopped(desk, 'none');
  assert.equal(codeOf(await ask(desk, statusRef, T0 + 1)), 'OUTCOME_UNKNOWN');
  await service?.restart();
  // The lease ends at T0+30, and a request under way could take effect for 60 seconds more.
  assert.equal(codeOf(await ask(desk, statusRef, T0 + 89)), 'OUTCOME_UNKNOWN');
  assert.equal((await desk.operations.show(USER, statusRef, T0 + 89)).known, 'unknown');
  assert.equal(codeOf(await ask(desk, statusRef, T0 + 90)), 'SETTLED');
  const view = await desk.operations.show(USER, statusRef, T0 + 91);
  assert.deepEqual([view.known, view.verdict?.source], ['not_done', 'status_query']);
  assert.equal(await effects(), 0);
});

check('http: an intent that nobody has tried is not settled by a query', async (t) => {
  const { desk } = await openHome(t, 'http', { verdicts: true });
  const statusRef = await stopped(desk, 'after_intent_commit');
  assert.equal(codeOf(await ask(desk, statusRef, T0 + 9000)), 'OUTCOME_UNKNOWN');
  assert.equal(await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 9001 }), 'succeeded');
});

check(
  'http: a repeated delivery that is refused settles nothing: the first one may have been carried out',
  async (t) => {
    const { desk, service, effects } = await openHome(t, 'http', { verdicts: true });
    const statusRef = await stopped(desk, 'after_downstream_commit');
    assert.equal(await effects(), 1);
    await service?.setMood('refuses');
    assert.equal(await desk.operations.process(statusRef, { workerId: 'worker', now: T0 + 9000 }), 'outcome_unknown');
    assert.equal((await desk.operations.show(USER, statusRef, T0 + 9500)).known, 'unknown');
  },
);

check('http: what the other side says it refused is settled as not done', async (t) => {
  const { desk, service, effects } = await openHome(t, 'http', { verdicts: true });
  await service?.setMood('refuses');
  const statusRef = await stopped(desk, 'none');
  const view = await desk.operations.show(USER, statusRef, T0 + 1);
  assert.deepEqual([view.known, view.verdict?.source], ['not_done', 'tool']);
  assert.equal(await effects(), 0);
});

check('an unresolved twin of a request is found by its principal, and no settled or finished one', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const twin = async (key: string, who = USER) => {
    const call = refundCall({ idempotencyKey: key });
    const tool = desk.tools.current(call.name);
    assert.ok(tool && hasKey(call));
    const request = prepareRequest(who, call, tool, 'dispatch');
    return desk.store.read('test', (tx) => desk.operations.findUnresolvedTwin(tx, request));
  };
  const statusRef = await stopped(desk, 'after_claim');
  assert.equal(await twin('persistent-key-2'), statusRef);
  assert.equal(await twin('persistent-key-1'), null);
  assert.equal(await twin('persistent-key-2', new Principal('tenant-a', 'user-2')), null);
  await desk.operations.settleByPerson(PERSON, statusRef, verdict('not_done', T0 + 30));
  assert.equal(await twin('persistent-key-2'), null);
  await stopped(desk, 'none', refundCall({ idempotencyKey: 'k3', callId: 'c3', responseId: 'r3' }));
  assert.equal(await twin('persistent-key-2'), null);
});

check('a twin is one by its arguments, whatever revisions its tool had when it was made', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  const statusRef = await stopped(desk, 'after_claim');
  desk.tools.replace('create_refund_draft', { revisions: { effect: 'create-refund-draft-v2' } });
  const twin = async (reason: 'duplicate' | 'damaged') => {
    const call = refundCall({ idempotencyKey: 'persistent-key-2', reason });
    const tool = desk.tools.current(call.name);
    assert.ok(tool && hasKey(call));
    const request = prepareRequest(USER, call, tool, 'dispatch');
    return desk.store.read('test', (tx) => desk.operations.findUnresolvedTwin(tx, request));
  };
  assert.equal(await twin('duplicate'), statusRef);
  assert.equal(await twin('damaged'), null);
  const text = `EXPLAIN QUERY PLAN ${FIND_TWIN}`;
  const plan = await desk.store.read('test', (tx) => tx.all(text, ['t', 's', 'n', '{}', '{}', 'k']));
  assert.match(
    String(plan[0]?.['detail']),
    /SEARCH o USING INDEX operations_unresolved\S* \(.*tool_name=\? AND <expr>=\?\)/,
  );
});

check('a retired contract that the registry keeps judges what was made under it', async (t) => {
  const { desk } = await freshDesk(t, { keepsRetired: true });
  await stopped(desk, 'none');
  const open = refundCall({ idempotencyKey: 'k2', callId: 'c2', responseId: 'r2' });
  const pending = await stopped(desk, 'after_intent_commit', open);
  desk.tools.replace('create_refund_draft', { revisions: { effect: 'create-refund-draft-v2' } });
  assert.deepEqual((await desk.operations.audit()).semantic_errors, []);
  const replayed = await desk.operations.dispatch(USER, refundCall(), { approvals: [], now: T0 + 1 });
  assert.equal(deliveryOf(replayed), 'local_replay');
  assert.equal(replayed.protected_audit.tool_contract.effect_revision, 'create-refund-draft-v1');
  assert.equal(await desk.operations.process(pending, { workerId: 'worker', now: T0 + 1 }), 'succeeded');
  const other = refundCall({ reason: 'damaged' });
  const approvals = desk.approve(USER, other, 'valid', T0);
  assert.equal(codeOf(await desk.operations.dispatch(USER, other, { approvals, now: T0 })), 'CALL_ID_CONFLICT');
});

check('pages of a tenant’s operations are keyset pages, newest first, and show no other tenant', async (t) => {
  const { desk } = await freshDesk(t, { verdicts: true });
  for (let i = 0; i < 5; i += 1)
    await stopped(
      desk,
      i === 2 ? 'after_claim' : 'none',
      refundCall({ idempotencyKey: `k${i}`, callId: `c${i}`, responseId: `r${i}` }),
    );
  const first = await desk.operations.list(PERSON, { limit: 2, now: T0 + 90 });
  assert.deepEqual(
    first.operations.map((view) => view.idempotencyKey),
    ['k4', 'k3'],
  );
  assert.ok(first.next !== null);
  const second = await desk.operations.list(PERSON, { limit: 3, before: first.next, now: T0 + 90 });
  assert.deepEqual(
    second.operations.map((view) => [view.idempotencyKey, view.known]),
    [
      ['k2', 'unknown'],
      ['k1', 'done'],
      ['k0', 'done'],
    ],
  );
  assert.equal(second.next, null);
  const open = await desk.operations.list(PERSON, { open: true, now: T0 + 90 });
  assert.deepEqual(
    open.operations.map((view) => view.idempotencyKey),
    ['k2'],
  );
  assert.deepEqual((await desk.operations.list(STRANGER, { now: T0 + 90 })).operations, []);
  await assert.rejects(desk.operations.list(PERSON, { limit: 201, now: T0 }), hasCode('INVALID_VALUE'));
});
