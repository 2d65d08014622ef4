import type pc from 'picocolors';
import { displayText, type JsonObject } from '../core/index.ts';
import type { KnownOutcome, OperationView } from '../operations/index.ts';

type Colours = ReturnType<typeof pc.createColors>;

/** What is known of an operation, for a person. */
const KNOWN_WORDS = {
  not_tried: 'unknown: accepted, and nobody has tried it yet',
  in_progress: 'unknown: a worker may be carrying it out right now',
  unknown: 'unknown: it may or may not have happened',
  done: 'done',
  not_done: 'not done',
} as const satisfies Record<KnownOutcome, string>;

function known(view: OperationView, colours: Colours): string {
  const words = KNOWN_WORDS[view.known];
  if (view.known === 'done') return colours.green(words);
  return view.known === 'not_done' ? colours.yellow(words) : colours.red(words);
}

/** One operation in one line. */
export function operationRow(view: OperationView, colours: Colours): string {
  return `${view.statusRef}  ${displayText(view.tool)}  ${known(view, colours)}`;
}

/** An operation whole: what is known, what is not, and the one command that settles it. */
export function operationLines(view: OperationView, colours: Colours): readonly string[] {
  const { verdict, receipt, lateReceipt, statusRef } = view;
  return [
    `${displayText(view.tool)}  ${known(view, colours)}`,
    `  reference  ${statusRef}`,
    `  arguments  ${displayText(view.argumentsJson)}`,
    `  approved   ${displayText(view.approverId)}`,
    `  key        ${displayText(view.idempotencyKey)}`,
    `  tries      ${view.attempts}`,
    ...(receipt ? [`  receipt    ${displayText(receipt.receiptId)}, ${receipt.observedAt}`] : []),
    ...(verdict
      ? [
          `  verdict    ${verdict.verdict} by ${verdict.source} ${displayText(verdict.decidedBy)}: ${displayText(verdict.reason)}`,
        ]
      : []),
    ...(lateReceipt
      ? [`  later      a receipt turned up after the verdict: ${displayText(lateReceipt.receiptId)}`]
      : []),
    ...settling(view),
  ];
}

function settling({ known: word, statusRef }: OperationView): readonly string[] {
  if (word === 'done' || word === 'not_done') return [];
  return [
    `  settle it  holdfast operations status ${statusRef}`,
    `         or  holdfast operations settle ${statusRef} --done|--not-done --reason TEXT`,
  ];
}

/** An operation as `--json` carries it. */
export function operationDocument(view: OperationView): JsonObject {
  const { receipt, verdict, lateReceipt } = view;
  return {
    status_ref: view.statusRef,
    tool: view.tool,
    subject: view.subject,
    state: view.state,
    // The one outcome type has no word for what is under way: until it is known, it is unknown.
    outcome: view.known === 'done' || view.known === 'not_done' ? view.known : 'unknown',
    progress: view.known,
    arguments: view.argumentsJson,
    request_sha256: view.requestSha256,
    idempotency_key: view.idempotencyKey,
    approval_id: view.approvalId,
    approver_id: view.approverId,
    attempts: view.attempts,
    lease_owner: view.leaseOwner,
    lease_until: view.leaseUntil,
    created_at: view.createdAt,
    completed_at: view.completedAt,
    receipt: receipt && { receipt_id: receipt.receiptId, observed_at: receipt.observedAt, result: receipt.resultJson },
    late_receipt: lateReceipt && { receipt_id: lateReceipt.receiptId, observed_at: lateReceipt.observedAt },
    verdict: verdict && {
      verdict: verdict.verdict,
      source: verdict.source,
      decided_by: verdict.decidedBy,
      reason: verdict.reason,
      decided_at: verdict.decidedAt,
    },
  };
}
