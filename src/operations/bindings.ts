import type { Tx } from '../store/index.ts';
import { INSERT_BINDING, READ_BINDING } from './queries.ts';
import type { PreparedRequest } from './request.ts';

/** Whether a call identity is new, was used for exactly this before, or for something else. */
export type BindingAnswer = 'new' | 'same' | 'conflict';

/**
 * Binds a provider call identity to what it is used for, whole: key, operation, purpose and request. The first use
 * stands for ever.
 */
export async function bindCall(tx: Tx, request: PreparedRequest, now: number): Promise<BindingAnswer> {
  const { principal, call, fingerprint } = request;
  const identity = [
    principal.tenant,
    principal.subject,
    call.provider,
    call.apiFamily,
    call.responseId,
    call.callId,
  ] as const;
  const inserted = await tx.run(INSERT_BINDING, [...identity, fingerprint, now]);
  if (inserted.changes === 1) return 'new';
  const row = await tx.get(READ_BINDING, identity);
  return row?.['fingerprint_sha256'] === fingerprint ? 'same' : 'conflict';
}
