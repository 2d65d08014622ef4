import { isBlank } from '../core/index.ts';
import type { DeliveryAnswer, LookupAnswer } from './downstream.ts';
import type { Receipt } from './model.ts';

const RECEIPT_TEXTS = [
  'receiptId',
  'downstreamRequestId',
  'resultJson',
  'producerRevision',
  'resourceRevision',
  'observedAt',
] as const satisfies readonly (keyof Receipt)[];

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** Proof that can be kept: every text of it there, none of them blank, or of a kind that no database takes. */
function isReceipt(value: unknown): value is Receipt {
  const fields = fieldsOf(value);
  return RECEIPT_TEXTS.every((name) => {
    const text = fields[name];
    return typeof text === 'string' && !isBlank(text) && text.isWellFormed() && !text.includes('\0');
  });
}

/**
 * What a delivery is known to have done, from whatever the port answered. Only the words that the port has are believed,
 * and `done` only with a receipt that can be kept: everything else says nothing either way.
 */
export function readDelivery(answer: unknown): DeliveryAnswer {
  const { kind, receipt, reason } = fieldsOf(answer);
  if (kind === 'done' && isReceipt(receipt)) return { kind, receipt };
  const told = typeof reason === 'string' ? reason : '';
  return kind === 'not_done' ? { kind, reason: told } : { kind: 'unknown', reason: told };
}

/** The same of an answer about what became of an operation. */
export function readLookup(answer: unknown): LookupAnswer {
  const { kind, receipt } = fieldsOf(answer);
  if (kind === 'happened' && isReceipt(receipt)) return { kind, receipt };
  return kind === 'not_happened' ? { kind } : { kind: 'unknown' };
}
