import { type Clock, fail, LIMITS, requireText, requireWithin, sha256Hex } from '../core/index.ts';
import type { PrincipalRef, ReadTx, Tx } from '../store/index.ts';
import * as sql from './queries.ts';

/** A request that creates, under its key. `requestSha256` covers all that makes it this request. */
export interface KeyedRequest {
  readonly principal: PrincipalRef;
  readonly key: string;
  readonly requestSha256: string;
}

/** What such a request was answered. `text` is the body, byte for byte. */
export interface KeptReply {
  readonly status: number;
  readonly text: string;
}

/**
 * What the same request was answered before; null where the key is new. Another request under the key is refused with
 * IDEMPOTENCY_CONFLICT, a reply that was changed outside with REPLY_CORRUPT.
 */
export async function findReply(tx: ReadTx, request: KeyedRequest): Promise<KeptReply | null> {
  const { tenantId, subjectId } = request.principal;
  const key = requireText('the idempotency key', request.key, LIMITS.requestKeyCodePoints);
  const row = await tx.get(sql.SELECT_REPLY, [tenantId, subjectId, key]);
  if (!row) return null;
  if (row['request_sha256'] !== request.requestSha256)
    throw fail('IDEMPOTENCY_CONFLICT', 'This idempotency key belongs to another request.');
  const text = String(row['reply']);
  if (sha256Hex(text) !== row['reply_sha256'])
    throw fail('REPLY_CORRUPT', 'The kept reply is not the one that was given.');
  return { status: Number(row['status']), text };
}

/**
 * Keeps the reply in the transaction that creates what it tells of. False where another request under the same key was
 * faster: then nothing of this one may stand.
 */
export async function keepReply(tx: Tx, clock: Clock, request: KeyedRequest, reply: KeptReply): Promise<boolean> {
  requireWithin('keptReplyBytes', Buffer.byteLength(reply.text));
  const now = clock.nowMs();
  await tx.run(sql.FORGET_REPLIES, [now - LIMITS.keptReplyMs, LIMITS.forgottenReplies]);
  const { tenantId, subjectId } = request.principal;
  const { changes } = await tx.run(sql.INSERT_REPLY, [
    tenantId,
    subjectId,
    request.key,
    request.requestSha256,
    reply.status,
    reply.text,
    sha256Hex(reply.text),
    now,
  ]);
  return changes === 1;
}
