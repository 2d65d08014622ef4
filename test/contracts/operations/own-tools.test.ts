import { HoldfastError, type JsonObject, type JsonValue } from '../../../src/core/index.ts';
import { envelopeCode, type KeyedCall, type OperationTool, prepareRequest } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { assert, check } from '../../support/index.ts';
import { ANYTHING, approvalOf, codeOfDispatch, CONTRACT, own } from './own-desk.ts';

// What a host writes itself: tools, approvers and the other side, some of them in plain JavaScript.

const isCoded = (error: unknown) => error instanceof HoldfastError;

check('an approver is one only where the host says true: a promise of an answer is none', async (t) => {
  for (const said of [Promise.resolve(false), Promise.resolve(true), 'no', {}, 1]) {
    const desk = await own(t, {}, { isApprover: () => said as boolean });
    assert.equal(await codeOfDispatch(desk), 'APPROVAL_INVALID');
    assert.equal(desk.effects, 0);
  }
});

check('what was approved under a right answer is not carried out once the answer is a promise', async (t) => {
  let said: unknown = true;
  const desk = await own(t, {}, { isApprover: () => said as boolean });
  const call = refundCall();
  const terms = { approvals: [approvalOf(call)], now: T0, failure: 'after_intent_commit' } as const;
  const { downstream } = (await desk.operations.dispatch(USER, call, terms)).protected_audit;
  said = Promise.resolve(false);
  const step = desk.operations.process(String(downstream.status_ref), { workerId: 'worker', now: T0 });
  await assert.rejects(step, isCoded);
  assert.equal((await desk.operations.audit()).passed, false);
  assert.equal(desk.effects, 0);
});

check('a tool’s right and its business rule let a call go on with true alone', async (t) => {
  for (const said of [{ refused: 'no' }, { allowed: false }, 'no', 1]) {
    const noRight = await own(t, { authorize: () => said as unknown as boolean });
    assert.equal(await codeOfDispatch(noRight), 'NOT_FOUND');
    const ruled = await own(t, { precondition: async () => said as unknown as boolean });
    assert.equal(await codeOfDispatch(ruled), 'BUSINESS_RULE_VIOLATION');
    assert.equal(noRight.effects + ruled.effects, 0);
  }
});

check('a worker asks right and rule as strictly', async (t) => {
  for (const rule of ['authorize', 'precondition'] as const) {
    let said: unknown = true;
    const desk = await own(t, { [rule]: () => said as boolean });
    const call = refundCall();
    const terms = { approvals: [approvalOf(call)], now: T0, failure: 'after_intent_commit' } as const;
    const { downstream } = (await desk.operations.dispatch(USER, call, terms)).protected_audit;
    said = { refused: 'no' };
    const word = await desk.operations.process(String(downstream.status_ref), { workerId: 'worker', now: T0 });
    assert.equal(word, rule === 'authorize' ? 'authorization_denied' : 'business_rule_denied');
    assert.equal(desk.effects, 0);
  }
});

const nested = (levels: number): JsonValue => (levels === 0 ? 0 : [nested(levels - 1)]);

/** JSON, and beyond the bounds within which a stored text is read back (K-9). */
const BEYOND: Readonly<Record<string, JsonValue>> = {
  '33 levels': nested(32),
  '1,025 items': Array.from({ length: 1025 }, () => 0),
  '1,025 members': Object.fromEntries(Array.from({ length: 1025 }, (_, i) => [`k${i}`, 0])),
  'an integer of 2^53': 2n ** 53n,
  'an integer of 2^53 as a number': 2 ** 53,
  'a text of 65,537': 'x'.repeat(65_537),
};

for (const [what, value] of Object.entries(BEYOND))
  check(`arguments that hold ${what} are a coded error, whatever their tool takes, and store nothing`, async (t) => {
    const desk = await own(t);
    const refusing = await own(t, { checkArguments: () => ['no'] });
    const input = { value };
    await assert.rejects(codeOfDispatch(desk, refundCall({ arguments: input })), isCoded);
    await assert.rejects(codeOfDispatch(refusing, refundCall({ arguments: input })), isCoded);
    await assert.rejects(codeOfDispatch(desk, refundCall({ arguments: input, name: 'nobody' })), isCoded);
    const keyed = refundCall({ arguments: input }) as KeyedCall;
    assert.throws(() => prepareRequest(USER, keyed, ANYTHING, 'dispatch'), isCoded);
    const counts = await desk.operations.counts();
    assert.deepEqual([counts.operations, counts.call_bindings, desk.effects], [0, 0, 0]);
  });

check('arguments at the bounds are stored, and read back', async (t) => {
  const desk = await own(t);
  const input = { value: nested(31), items: Array.from({ length: 1024 }, () => 0), whole: Number.MAX_SAFE_INTEGER };
  assert.equal(await codeOfDispatch(desk, refundCall({ arguments: input })), 'OK');
  assert.equal((await desk.operations.audit()).passed, true);
});

check('arguments that are no object are invalid for every tool, and are never stored', async (t) => {
  const desk = await own(t);
  for (const wrong of [[], null, 'ORDER-7', 7, true]) {
    const call = refundCall({ arguments: wrong as unknown as JsonObject });
    assert.equal(await codeOfDispatch(desk, call), 'INVALID_ARGUMENTS');
    assert.throws(() => prepareRequest(USER, call as KeyedCall, ANYTHING, 'dispatch'), isCoded);
  }
  const counts = await desk.operations.counts();
  assert.deepEqual([counts.operations, counts.call_bindings, desk.effects], [0, 0, 0]);
});

/** Rules that were written for results as the tool gives them, and meet one that somebody edited. */
const TRUSTING: readonly OperationTool['checkOutput'][] = [
  (output) => ((output as { done: { of: number } }).done.of > 0 ? [] : []),
  async (output) => ((output as JsonObject)['done'] === true ? [] : []),
  () => undefined as unknown as string[],
];

for (const [i, checkOutput] of TRUSTING.entries())
  check(`an audit reports a result about which its tool’s rules fail (${i + 1}), and goes on (I-9)`, async (t) => {
    let rules: OperationTool['checkOutput'] = () => [];
    const desk = await own(t, { checkOutput: (output, input) => rules(output, input) });
    assert.equal(await codeOfDispatch(desk), 'OK');
    const other = refundCall({ idempotencyKey: 'other', callId: 'other' });
    assert.equal(await codeOfDispatch(desk, other), 'OK');
    await desk.store.write('test', (tx) => tx.run("UPDATE downstream_receipts SET result_json = 'null'"));
    rules = checkOutput;
    const audit = await desk.operations.audit();
    assert.equal(audit.semantic_errors.length, 2);
    assert.equal(audit.passed, false);
  });

check('a call of which it is known at once that it was not done is told as settled, not as unknown', async (t) => {
  const deliver = async () => ({ kind: 'not_done', reason: 'nothing left' }) as const;
  const desk = await own(t, {}, { verdicts: true, downstream: { home: 'external', deliver } });
  const call = refundCall();
  const answer = await desk.operations.dispatch(USER, call, { approvals: [approvalOf(call)], now: T0 });
  assert.equal(envelopeCode(answer), 'SETTLED');
  assert.deepEqual(await desk.operations.validate(answer, USER, call), []);
  const [view] = (await desk.operations.list(USER, { now: T0 })).operations;
  assert.deepEqual([view?.known, view?.statusRef], ['not_done', answer.protected_audit.downstream.status_ref]);
  const alone = await own(t, {}, { downstream: { home: 'external', deliver } });
  assert.equal(await codeOfDispatch(alone), 'OUTCOME_UNKNOWN');
});

check(
  'an answer under a retired contract that is kept is whole, and one under a contract nobody had is not',
  async (t) => {
    const old = { ...ANYTHING, contract: { ...CONTRACT, effect: 'effect-0' } };
    let current: OperationTool = old;
    const tools = {
      current: () => current,
      retired: (_name: string, { effect }: { effect: string }) => (effect === 'effect-0' ? old : undefined),
    };
    const desk = await own(t, {}, { tools });
    const call = refundCall();
    const terms = { approvals: [approvalOf(call, old.contract)], now: T0 };
    const first = await desk.operations.dispatch(USER, call, terms);
    current = ANYTHING;
    const again = await desk.operations.dispatch(USER, call, { approvals: [], now: T0 + 1 });
    assert.equal(again.model_result.execution.delivery, 'local_replay');
    for (const answer of [first, again]) assert.deepEqual(await desk.operations.validate(answer, USER, call), []);
    const audit = {
      ...first.protected_audit,
      tool_contract: { ...first.protected_audit.tool_contract, effect_revision: 'x' },
    };
    const invented = { ...first, protected_audit: audit };
    assert.notDeepEqual(await desk.operations.validate(invented, USER, call), []);
  },
);

/** What a composer may give the functions that take its transaction, each of which must stop before anything is written. */
const WRONG_TERMS: Readonly<Record<string, object | undefined>> = {
  nothing: undefined,
  'no rule': { rule: undefined },
  'approvals that are no list': { approvals: 'all' },
  'a time that is a fraction': { now: 1.5 },
  'a time past the portable end': { now: 253_402_300_800 },
  'a lease of nobody': { lease: { workerId: ' ', seconds: 30 } },
  'a lease that is over before it begins': { lease: { workerId: 'worker', seconds: -5 } },
  'a lease past the portable end': { lease: { workerId: 'worker', seconds: 1e15 } },
};

for (const [what, wrong] of Object.entries(WRONG_TERMS))
  check(`${what} is refused by name as terms of a reservation, and stores nothing`, async (t) => {
    const { operations, store } = await own(t);
    const call = refundCall();
    const admission = await operations.admit(USER, call, T0);
    assert.equal(admission.kind, 'admitted');
    if (admission.kind !== 'admitted') return;
    const good = { approvals: [approvalOf(call)], rule: { holds: true }, now: T0 };
    const terms = wrong === undefined ? undefined : { ...good, ...wrong };
    const reserving = store.write('test', (tx) => operations.reserve(tx, admission.request, terms as never));
    await assert.rejects(reserving, { code: 'INVALID_VALUE' });
    const counts = await operations.counts();
    assert.deepEqual([counts.operations, counts.call_bindings], [0, 0]);
  });

check('a business rule that was not awaited does not hold', async (t) => {
  const { operations, store } = await own(t);
  const call = refundCall();
  const admission = await operations.admit(USER, call, T0);
  assert.ok(admission.kind === 'admitted');
  const rule = { holds: Promise.resolve(false) as unknown as boolean };
  const terms = { approvals: [approvalOf(call)], rule, now: T0 };
  const reservation = await store.write('test', (tx) => operations.reserve(tx, admission.request, terms));
  assert.deepEqual(reservation, { kind: 'refused', code: 'BUSINESS_RULE_VIOLATION' });
});

check(
  'a lease, a record and a verdict in a transaction of the host’s are given terms, or refused by name',
  async (t) => {
    const { operations, store } = await own(t, {}, { verdicts: true });
    const ref = `status_${'0'.repeat(32)}`;
    const refused = { code: 'INVALID_VALUE' };
    for (const wrong of [undefined, null, 'now'] as never[]) {
      await assert.rejects(
        store.write('test', (tx) => operations.lease(tx, ref, wrong)),
        refused,
      );
      await assert.rejects(
        store.write('test', (tx) => operations.record(tx, wrong)),
        refused,
      );
      await assert.rejects(
        store.write('test', (tx) => operations.settle(tx, ref, 'tenant-a', wrong)),
        refused,
      );
    }
    const endless = { workerId: 'worker', now: T0, seconds: 1e15 };
    await assert.rejects(
      store.write('test', (tx) => operations.lease(tx, ref, endless)),
      refused,
    );
  },
);
