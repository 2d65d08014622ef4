import type { ReadTx, Row, Tx } from '../store/index.ts';
import { MAX_OTHER_ANSWERS } from './bounds.ts';
import type { OtherAnswer, StoredReceipt } from './model.ts';
import { exact, numbersOf } from './rows.ts';

const COLUMNS = `operation_pk, receipt_id, downstream_request_id, result_json, producer_revision, resource_revision,
  observed_at, told_at`;
const INSERT = `INSERT INTO operation_other_answers (number, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Whether two receipts of one operation tell of the same effect: times and revisions are the other side's to choose. */
export function tellTheSame(one: StoredReceipt, other: StoredReceipt): boolean {
  return (
    one.resultJson === other.resultJson &&
    one.receiptId === other.receiptId &&
    one.downstreamRequestId === other.downstreamRequestId &&
    one.requestSha256 === other.requestSha256 &&
    one.producerRevision === other.producerRevision &&
    one.effectRevision === other.effectRevision
  );
}

/**
 * Keeps what another delivery of the same key answered where that is not what the kept receipt says: the other side may
 * have carried it out twice. Each answer once, and the first `MAX_OTHER_ANSWERS`. Whether it was written now.
 */
export async function keepOtherAnswer(tx: Tx, pk: number, answer: StoredReceipt, now: number): Promise<boolean> {
  const kept = await answersOf(tx, [pk]);
  const { requestSha256, effectRevision } = answer;
  const isKnown = kept.some(({ answer: one }) => tellTheSame({ ...one, requestSha256, effectRevision }, answer));
  if (isKnown || kept.length >= MAX_OTHER_ANSWERS) return false;
  await tx.run(INSERT, [
    kept.length + 1,
    pk,
    answer.receiptId,
    answer.downstreamRequestId,
    answer.resultJson,
    answer.producerRevision,
    answer.resourceRevision,
    answer.observedAt,
    now,
  ]);
  return true;
}

export interface AnswerOf {
  readonly pk: number;
  readonly answer: OtherAnswer;
}

/** The other answers of so many operations, in the order in which they came. */
export async function answersOf(tx: ReadTx, pks: readonly number[]): Promise<readonly AnswerOf[]> {
  if (pks.length === 0) return [];
  const text = `SELECT ${COLUMNS} FROM operation_other_answers WHERE operation_pk IN (${pks.map(() => '?').join(', ')})
    ORDER BY operation_pk, number`;
  return (await tx.all(exact(text), pks)).map(answerOf);
}

function answerOf(row: Row): AnswerOf {
  const { plain } = numbersOf(row);
  const text = (column: string): string => plain[column] as string;
  return {
    pk: plain['operation_pk'] as number,
    answer: {
      receiptId: text('receipt_id'),
      downstreamRequestId: text('downstream_request_id'),
      resultJson: text('result_json'),
      producerRevision: text('producer_revision'),
      resourceRevision: text('resource_revision'),
      observedAt: text('observed_at'),
      toldAt: plain['told_at'] as number,
    },
  };
}
