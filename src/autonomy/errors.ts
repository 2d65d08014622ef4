import { type ErrorCode, fail, HoldfastError } from '../core/index.ts';

/** The proofs that are taken again at every read, by the names that their failures carry. */
export type ProofName =
  | 'run'
  | 'result review'
  | 'permission assessment'
  | 'repair ledger'
  | 'verification'
  | 'event payload';

/** What is stored disagrees with itself: neither side of it is believed. */
export function unproved(proof: ProofName, why: string, cause?: unknown): HoldfastError {
  return fail('AUTO_PROOF_FAILED', `The ${proof} proof failed: ${why}.`, { details: { proof }, cause });
}

export function requireProof(holds: boolean, proof: ProofName, why: string): void {
  if (!holds) throw unproved(proof, why);
}

export const abandoned = (): HoldfastError =>
  fail('AUTO_RUN_ABANDONED', 'The auto run belongs to an abandoned branch tail and is not current at the branch head.');

export const keyConflict = (): HoldfastError =>
  fail('AUTO_KEY_CONFLICT', 'This idempotency key was used for another request.');

export function wrongPhase(what: string, status: string): HoldfastError {
  return fail('AUTO_WRONG_PHASE', `${what} cannot be done now: the state is ${status}.`, { details: { status } });
}

/** The code of an error of ours, or null. */
export const codeOf = (error: unknown): ErrorCode | null => (error instanceof HoldfastError ? error.code : null);

/** Whether an error says that what is stored does not hold together: not that the store could not be read just now. */
export function isOfRecords(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && !code.startsWith('STORE_');
}
