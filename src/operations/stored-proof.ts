import { approvalDigest, effectIdentity, requestDigest, statusRefOf } from './digests.ts';
import { HoldfastError, isBlank } from '../core/index.ts';
import { readStoredJson, readStoredObject, recordBroken, timesFinding } from './evidence.ts';
import { Principal, type StoredReceipt } from './model.ts';
import { sameReceipt, type WholeOperation } from './rows.ts';

/** What cannot come about: finished without all evidence or with a verdict, or evidence on what is not finished. */
export function pairFinding({ operation, outbox, downstream, local }: WholeOperation): string | null {
  if (operation.state === 'succeeded') {
    const whole = outbox?.state === 'delivered' && downstream !== null && local !== null;
    if (!whole) return 'it succeeded without a delivered outbox row and both receipts';
    return operation.verdict === null ? null : 'it succeeded and has a verdict';
  }
  if (local !== null) return 'it has a local receipt and is not finished';
  return outbox?.state === 'delivered' ? 'its outbox row is delivered and it is not finished' : null;
}

/**
 * Proves a stored operation from its own records: what was asked, what allowed it and what came back must fit each other
 * and the reference that it goes by elsewhere. The tool need not be known here, so its own rules are not asked, and
 * neither is who may approve now. Throws OPERATION_RECORD_BROKEN at the first thing that does not fit.
 */
export function proveStored(whole: WholeOperation, statusRef: string): void {
  const finding = recordFinding(whole, statusRef);
  if (finding !== null) throw recordBroken(finding);
}

/** What `proveStored` would throw, as words for people, or null where everything fits. */
export function storedDamage(whole: WholeOperation): string | null {
  try {
    proveStored(whole, whole.operation.statusRef);
    return null;
  } catch (error) {
    if (error instanceof HoldfastError) return error.message;
    throw error;
  }
}

/** The same as a finding, or null; throws for a text that is no canonical JSON. */
export function recordFinding(whole: WholeOperation, statusRef: string): string | null {
  return intentFinding(whole, statusRef) ?? outboxFinding(whole) ?? pairFinding(whole) ?? receiptFinding(whole);
}

/** By the digests that were taken when it was reserved. */
function intentFinding({ operation }: WholeOperation, statusRef: string): string | null {
  const { scope, revisions, requestSha256, approverId, first } = operation;
  const contract = { name: scope.tool, ...revisions };
  const input = readStoredObject(operation.argumentsJson, 'the stored arguments');
  if (requestDigest(new Principal(scope.tenant, scope.subject), contract, input) !== requestSha256)
    return 'its request/contract binding is another one';
  if (statusRefOf(effectIdentity(scope, requestSha256)) !== statusRef)
    return 'its status reference is not the computed one';
  const context = { ...first, idempotencyKey: scope.key };
  const digest = approvalDigest(context, contract, requestSha256, approverId);
  if (isBlank(operation.approvalId) || operation.approvalDigest !== digest)
    return 'the evidence of its approval does not fit the stored call';
  return timesFinding(operation);
}

function outboxFinding({ outbox }: WholeOperation): string | null {
  return outbox === null ? 'it has no outbox row' : null;
}

function receiptFinding({ operation, downstream, local }: WholeOperation): string | null {
  const isOfRequest = (receipt: StoredReceipt): boolean => {
    readStoredJson(receipt.resultJson, 'a stored result');
    return (
      receipt.requestSha256 === operation.requestSha256 &&
      receipt.effectRevision === operation.revisions.effect &&
      receipt.producerRevision === operation.revisions.producer
    );
  };
  for (const receipt of [downstream, local])
    if (receipt !== null && !isOfRequest(receipt)) return 'a receipt is for another request';
  if (downstream === null || local === null || sameReceipt(local, downstream)) return null;
  return 'its local receipt differs from the downstream one';
}
