import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { envelopeCode, type Receipt, type ResultEnvelope } from '../../../src/operations/index.ts';
import { type DeskOptions, openDesk, type RefundDesk } from '../../fixtures/refund-desk/desk.ts';
import { temporaryFolder } from '../../support/index.ts';

/** What the other side answers where a test needs no answer of its own. */
export const RECEIPT: Receipt = {
  receiptId: 'receipt-1',
  downstreamRequestId: 'request-1',
  resultJson: '{"draft_id":"DRAFT-9","order_ref":"ORDER-7","reason":"duplicate"}',
  producerRevision: 'refunds-mock-v2',
  resourceRevision: 'draft-9-r1',
  observedAt: '2026-07-19T00:00:01Z',
};

/** A refund desk on a fresh database, closed when the test ends, and the file it is on. */
export async function freshDesk(
  t: TestContext,
  options: DeskOptions = {},
): Promise<{ readonly desk: RefundDesk; readonly file: string }> {
  const file = join(await temporaryFolder(t), 'runtime.db');
  const desk = await openDesk(file, options);
  t.after(() => desk.close());
  return { desk, file };
}

/** Another desk on the same file. */
export async function anotherDesk(t: TestContext, file: string, options: DeskOptions = {}): Promise<RefundDesk> {
  const desk = await openDesk(file, options);
  t.after(() => desk.close());
  return desk;
}

export const codeOf = envelopeCode;

export function deliveryOf(envelope: ResultEnvelope): string {
  return envelope.model_result.execution.delivery;
}

export function statusRefIn(envelope: ResultEnvelope): string {
  const { status_ref: statusRef } = envelope.protected_audit.downstream;
  if (statusRef === null) throw new Error('the answer carries no status reference');
  return statusRef;
}
