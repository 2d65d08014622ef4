import { type DownstreamPort, requestDigest, statusQueryCall } from '../../../src/operations/index.ts';
import { refundCall, T0, USER } from '../../fixtures/refund-desk/calls.ts';
import { REFUND_SPEC } from '../../fixtures/refund-desk/refund-tool.ts';
import { assert, check } from '../../support/index.ts';
import { codeOf, freshDesk, RECEIPT, statusRefIn } from './desk.ts';

/** Answers that say nothing, whatever word a delivery or a look-up has for "it happened". */
const UNREADABLE: readonly (readonly [what: string, answer: (yes: string) => unknown])[] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['a text', (yes) => yes],
  ['a word nobody has', () => ({ kind: 'accepted', receipt: RECEIPT })],
  ['no word', () => ({ receipt: RECEIPT })],
  ['no receipt', (yes) => ({ kind: yes })],
  ['a receipt of null', (yes) => ({ kind: yes, receipt: null })],
  ['a receipt without its id', (yes) => ({ kind: yes, receipt: { ...RECEIPT, receiptId: undefined } })],
  ['a receipt whose id is a number', (yes) => ({ kind: yes, receipt: { ...RECEIPT, receiptId: 5 } })],
  ['a receipt whose id is blank', (yes) => ({ kind: yes, receipt: { ...RECEIPT, receiptId: ' ' } })],
  ['a receipt with NUL', (yes) => ({ kind: yes, receipt: { ...RECEIPT, downstreamRequestId: 'a\0b' } })],
  ['a result that is an object', (yes) => ({ kind: yes, receipt: { ...RECEIPT, resultJson: {} } })],
  ['a resource of null', (yes) => ({ kind: yes, receipt: { ...RECEIPT, resourceRevision: null } })],
];

for (const [what, answer] of UNREADABLE)
  check(`an other side that answers with ${what} leaves it unknown, delivered or asked`, async (t) => {
    const downstream = {
      home: 'external',
      deliver: async () => answer('done'),
      lookUp: async () => answer('happened'),
    } as unknown as DownstreamPort;
    const { desk } = await freshDesk(t, { verdicts: true, downstream });
    const call = refundCall();
    const approvals = desk.approve(USER, call, 'valid', T0);
    const told = await desk.operations.dispatch(USER, call, { approvals, now: T0 });
    assert.equal(codeOf(told), 'OUTCOME_UNKNOWN');
    const statusRef = statusRefIn(told);
    const expectedRequestSha256 = requestDigest(USER, REFUND_SPEC.contract, call.arguments);
    const asked = { statusRef, expectedRequestSha256, now: T0 + 999 };
    const found = await desk.operations.queryStatus(USER, statusQueryCall(call, statusRef), asked);
    assert.equal(codeOf(found), 'OUTCOME_UNKNOWN');
    const { downstream_receipts: theirs, local_receipts: ours } = await desk.operations.counts();
    assert.deepEqual([theirs, ours], [0, 0]);
    assert.equal((await desk.operations.show(USER, statusRef, T0 + 999)).known, 'unknown');
  });

for (const [what, reason, told] of [
  ['no text', 5, 'no reason was given'],
  ['a text with NUL', 'a\0b', 'a\u{fffd}b'],
  ['half a character', 'a\ud800', 'a\u{fffd}'],
] as const)
  check(`an other side that did not do it is believed, its reason being ${what}`, async (t) => {
    const downstream = {
      home: 'external',
      deliver: async () => ({ kind: 'not_done', reason }),
    } as unknown as DownstreamPort;
    const { desk } = await freshDesk(t, { verdicts: true, downstream });
    const call = refundCall();
    const approvals = desk.approve(USER, call, 'valid', T0);
    await desk.operations.dispatch(USER, call, { approvals, now: T0 });
    const [view] = (await desk.operations.list(USER, { now: T0 })).operations;
    assert.deepEqual([view?.known, view?.verdict?.reason], ['not_done', told]);
  });
