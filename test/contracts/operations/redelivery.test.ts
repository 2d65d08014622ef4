import type { TestContext } from 'node:test';
import {
  type DeliveryAnswer,
  type DownstreamPort,
  envelopeCode,
  type LookupAnswer,
  type LookupRequest,
  type OperationTool,
  Principal,
  requestDigest,
  statusQueryCall,
} from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { assert, check } from '../../support/index.ts';
import { RECEIPT } from './desk.ts';
import { approvalOf, CONTRACT, type Own, own } from './own-desk.ts';

const OURS = { ...RECEIPT, producerRevision: CONTRACT.producer };

/** Another side behind a port of the host's own: what it was sent, what it was asked, and what it answers. */
class Elsewhere implements DownstreamPort {
  readonly home = 'external';
  sent = 0;
  asked = 0;
  answer: DeliveryAnswer | Error = new Error('the connection was lost after the other side had acted');
  says: LookupAnswer = { kind: 'unknown' };

  async deliver(): Promise<DeliveryAnswer> {
    this.sent += 1;
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }

  async lookUp(_request: LookupRequest): Promise<LookupAnswer> {
    this.asked += 1;
    return this.says;
  }
}

const LEASE_ENDS = T0 + 30;
const SETTLES = LEASE_ENDS + 10;

interface Lost {
  readonly desk: Own;
  readonly elsewhere: Elsewhere;
  readonly statusRef: string;
  readonly step: (now: number) => Promise<string>;
}

/** An operation that was sent once, and whose answer was lost. */
async function lost(t: TestContext, tool: Partial<OperationTool>, verdicts = false): Promise<Lost> {
  const elsewhere = new Elsewhere();
  const desk = await own(t, tool, { downstream: elsewhere, verdicts });
  const call = refundCall();
  await assert.rejects(desk.operations.dispatch(USER, call, { approvals: [approvalOf(call)], now: T0 }));
  const [view] = (await desk.operations.list(USER, { now: T0 })).operations;
  assert.ok(view);
  const { statusRef } = view;
  elsewhere.answer = { kind: 'done', receipt: OURS };
  return { desk, elsewhere, statusRef, step: (now) => desk.operations.process(statusRef, { workerId: 'other', now }) };
}

check('a tool that can be neither repeated nor asked is never sent a second time by a worker', async (t) => {
  const { desk, elsewhere, statusRef, step } = await lost(t, { effect: 'once' }, true);
  assert.equal(await step(T0 + 29), 'not_claimed');
  for (const now of [LEASE_ENDS, T0 + 9_999]) assert.equal(await step(now), 'outcome_unknown');
  assert.deepEqual([elsewhere.sent, elsewhere.asked], [1, 0]);
  assert.equal((await desk.operations.show(USER, statusRef, T0 + 9_999)).attempts, 1);
  const said = { verdict: 'done', reason: 'it is on the statement', now: T0 + 9_999 } as const;
  await desk.operations.settleByPerson(new Principal(USER.tenant, 'boss'), statusRef, said);
  assert.equal(await step(T0 + 10_000), 'settled');
});

check('a tool that honours its key is sent again by a worker, once the lease is over', async (t) => {
  const { elsewhere, step } = await lost(t, { effect: 'idempotent' });
  assert.equal(await step(T0 + 29), 'not_claimed');
  assert.equal(await step(LEASE_ENDS), 'succeeded');
  assert.deepEqual([elsewhere.sent, elsewhere.asked], [2, 0]);
});

check(
  'a tool that can be asked is asked before it is sent again, and what it says it did is not done again',
  async (t) => {
    const { desk, elsewhere, statusRef, step } = await lost(t, { effect: 'reconcilable' });
    assert.equal(await step(T0 + 29), 'not_claimed');
    assert.equal(elsewhere.asked, 0);
    assert.equal(await step(LEASE_ENDS), 'outcome_unknown');
    elsewhere.says = { kind: 'happened', receipt: OURS };
    assert.equal(await step(LEASE_ENDS), 'succeeded');
    assert.deepEqual([elsewhere.sent, elsewhere.asked], [1, 2]);
    assert.equal((await desk.operations.show(USER, statusRef, LEASE_ENDS)).known, 'done');
  },
);

check('a tool that can be asked is sent again only when it is final that it did not happen', async (t) => {
  const { elsewhere, step } = await lost(t, { effect: 'reconcilable' });
  elsewhere.says = { kind: 'not_happened' };
  assert.equal(await step(SETTLES - 1), 'outcome_unknown');
  assert.equal(elsewhere.sent, 1);
  assert.equal(await step(SETTLES), 'succeeded');
  assert.equal(elsewhere.sent, 2);
});

check('what another worker sent while the other side was asked is not sent again', async (t) => {
  const { desk, elsewhere, statusRef, step } = await lost(t, { effect: 'reconcilable' });
  elsewhere.lookUp = async () => {
    elsewhere.asked += 1;
    await desk.operations.takeLease(statusRef, { workerId: 'quicker', now: SETTLES, leaseSeconds: 1 });
    return { kind: 'not_happened' };
  };
  assert.equal(await step(SETTLES + 5), 'not_claimed');
  assert.equal(elsewhere.sent, 1);
});

check('the other side is not asked about what whoever made the call may not act on any more', async (t) => {
  let isAllowed = true;
  const { elsewhere, step } = await lost(t, { effect: 'reconcilable', authorize: () => isAllowed });
  isAllowed = false;
  assert.equal(await step(SETTLES), 'authorization_denied');
  assert.deepEqual([elsewhere.sent, elsewhere.asked], [1, 0]);
});

check('what nobody has sent yet is sent, whatever its tool can do', async (t) => {
  for (const effect of ['once', 'reconcilable'] as const) {
    const elsewhere = new Elsewhere();
    elsewhere.answer = { kind: 'done', receipt: OURS };
    const desk = await own(t, { effect }, { downstream: elsewhere });
    const call = refundCall();
    const terms = { approvals: [approvalOf(call)], now: T0, failure: 'after_intent_commit' } as const;
    const { downstream } = (await desk.operations.dispatch(USER, call, terms)).protected_audit;
    const step = desk.operations.process(String(downstream.status_ref), { workerId: 'worker', now: T0 });
    assert.equal(await step, 'succeeded');
    assert.deepEqual([elsewhere.sent, elsewhere.asked], [1, 0]);
  }
});

check('another side that never answers what became of a call holds nobody up, and settles nothing', async (t) => {
  const { desk, elsewhere, statusRef, step } = await lost(t, { effect: 'reconcilable' }, true);
  const signals: AbortSignal[] = [];
  elsewhere.lookUp = ({ signal }: LookupRequest) => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const call = refundCall();
  const expectedRequestSha256 = requestDigest(USER, CONTRACT, call.arguments);
  const query = { statusRef, expectedRequestSha256, now: SETTLES };
  const waiting = [
    step(SETTLES),
    desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), query).then(envelopeCode),
  ];
  while (signals.length < 2) await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(15_000);
  assert.deepEqual(await Promise.all(waiting), ['outcome_unknown', 'OUTCOME_UNKNOWN']);
  assert.ok(signals.every(({ aborted }) => aborted));
  assert.equal(elsewhere.sent, 1);
});
