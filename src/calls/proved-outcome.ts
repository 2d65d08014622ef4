import { fail, HoldfastError, isJsonObject, JSON_PROFILES, readCanonicalJson, unixSeconds } from '../core/index.ts';
import {
  approvalDigest,
  effectIdentity,
  Principal as OperationPrincipal,
  requestDigest,
  statusRefOf,
  type StoredReceipt,
  type ToolContract,
  type WholeOperation,
} from '../operations/index.ts';
import type { Principal } from '../sessions/index.ts';
import type { CallsContext } from './context.ts';
import type { CallOutcome } from './outcome.ts';
import { outcomeOfWhole } from './settle.ts';

/**
 * As `outcomeOfStored`, from records that were proved first: what was asked, what allowed it and what came back must fit
 * each other and the reference under which the ledger has them. Its tool need not be known here, so the tool's own rules
 * are not asked. For whoever writes down what it answers with nobody looking. Throws OPERATION_RECORD_BROKEN, also where
 * the operation that the ledger names is gone.
 */
export async function provedOutcomeOfStored(
  context: Pick<CallsContext, 'operations' | 'clock'>,
  principal: Principal,
  statusRef: string,
): Promise<CallOutcome> {
  const whole = await readWhole(context, principal, statusRef);
  const finding = findingOf(whole, statusRef);
  if (finding !== null) throw broken(finding);
  return outcomeOfWhole(whole, unixSeconds(context.clock));
}

const broken = (finding: string, cause?: unknown): Error =>
  fail('OPERATION_RECORD_BROKEN', `A stored operation record is not what it must be: ${finding}.`, { cause });

async function readWhole(
  { operations }: Pick<CallsContext, 'operations'>,
  { tenant, subject }: Principal,
  statusRef: string,
): Promise<WholeOperation> {
  try {
    return await operations.stored(new OperationPrincipal(tenant, subject), statusRef);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'OPERATION_NOT_FOUND') throw broken('it is gone', error);
    throw error;
  }
}

function findingOf(whole: WholeOperation, statusRef: string): string | null {
  return intentFinding(whole, statusRef) ?? pairFinding(whole) ?? receiptFinding(whole);
}

/** What was asked for and allowed, by the digests that were taken when it was reserved. */
function intentFinding({ operation }: WholeOperation, statusRef: string): string | null {
  const { scope, revisions, requestSha256, approverId, first } = operation;
  const contract: ToolContract = { name: scope.tool, ...revisions };
  const input = storedJson(operation.argumentsJson, 'the stored arguments');
  if (!isJsonObject(input)) return 'the stored arguments are not an object';
  if (requestDigest(new OperationPrincipal(scope.tenant, scope.subject), contract, input) !== requestSha256)
    return 'its request/contract binding is another one';
  if (statusRefOf(effectIdentity(scope, requestSha256)) !== statusRef)
    return 'its status reference is not the computed one';
  const context = { ...first, idempotencyKey: scope.key };
  return approvalDigest(context, contract, requestSha256, approverId) === operation.approvalDigest
    ? null
    : 'the evidence of its approval does not fit the stored call';
}

/** Finished without all evidence, or evidence on what is not finished: neither can come about. */
function pairFinding({ operation, outbox, downstream, local }: WholeOperation): string | null {
  if (outbox === null) return 'it has no outbox row';
  const delivered = outbox.state === 'delivered';
  if (operation.state === 'succeeded')
    return delivered && downstream && local ? null : 'it succeeded without a delivered outbox row and both receipts';
  if (local !== null) return 'it has a local receipt and is not finished';
  return delivered ? 'its outbox row is delivered and it is not finished' : null;
}

function receiptFinding({ operation, downstream, local }: WholeOperation): string | null {
  for (const receipt of [downstream, local]) {
    if (receipt === null) continue;
    storedJson(receipt.resultJson, 'a stored result');
    if (receipt.requestSha256 !== operation.requestSha256 || receipt.effectRevision !== operation.revisions.effect)
      return 'a receipt is for another request';
  }
  if (downstream === null || local === null) return null;
  const fields = Object.keys(local) as (keyof StoredReceipt)[];
  return fields.every((field) => local[field] === downstream[field])
    ? null
    : 'its local receipt differs from the downstream one';
}

function storedJson(text: string, what: string) {
  try {
    return readCanonicalJson(text, JSON_PROFILES.operations);
  } catch (cause) {
    throw broken(`${what} cannot be read`, cause);
  }
}
