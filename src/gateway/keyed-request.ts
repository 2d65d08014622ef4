import { canonicalJson, digestJson, fail, type JsonObject, type JsonValue } from '../core/index.ts';
import { findReply, keepReply, type KeptReply, type KeyedRequest, type Token } from '../principals/index.ts';
import type { Tx } from '../store/index.ts';
import type { GatewayContext } from './context.ts';
import type { Route } from './route.ts';

/** Another request under the same key was faster: nothing of this one stands, and its reply is given. */
class FasterRequest extends Error {}

const KEY = /^[!-~]{1,200}$/;

/** A request that creates, under its key; IDEMPOTENCY_KEY_REQUIRED, or REQUEST_INVALID for one that is no key. */
export function keyedRequest(
  { id }: Pick<Route, 'id'>,
  token: Token,
  request: Request,
  asked: { readonly params: unknown; readonly body: JsonValue },
): KeyedRequest {
  const key = request.headers.get('idempotency-key');
  if (key === null)
    throw fail('IDEMPOTENCY_KEY_REQUIRED', 'A request that creates needs a key of its own.', {
      resolve: 'Send the header Idempotency-Key with a text of its own for each intent.',
    });
  if (!KEY.test(key))
    throw fail('REQUEST_INVALID', 'The idempotency key must be 1 to 200 visible ASCII characters.', {
      details: { where: 'header idempotency-key' },
    });
  return {
    principal: { tenantId: token.tenantId, subjectId: token.subjectId },
    key,
    requestSha256: digestJson({ route: id, params: asked.params as JsonObject, body: asked.body }),
  };
}

export interface KeyedReply extends KeptReply {
  readonly replayed: boolean;
}

export type Keep = (tx: Tx, reply: JsonObject, kept?: JsonObject) => Promise<void>;

/** The response of a request that had a key: it says whether it was answered before. */
export function keyedResponse(reply: KeyedReply | Response): Response {
  if (reply instanceof Response) return reply;
  const headers = { 'content-type': 'application/json', 'idempotency-replayed': String(reply.replayed) };
  return new Response(reply.text, { status: reply.status, headers });
}

export interface UploadAsked {
  /** Of the route. */
  readonly id: string;
  readonly status: number;
  readonly token: Token;
  readonly request: Request;
  /** Of the bytes that were sent. */
  readonly sha256: string;
}

/** Answers an upload that creates. A key is welcome and not needed: without one, each upload creates. */
export async function answerUpload(
  gateway: GatewayContext,
  { id, status, token, request, sha256 }: UploadAsked,
  run: (keep: Keep) => Promise<JsonObject>,
): Promise<JsonObject | Response> {
  if (!request.headers.has('idempotency-key')) return run(async () => undefined);
  const keyed = keyedRequest({ id }, token, request, { params: {}, body: { sha256 } });
  return keyedResponse(await answerKeyed(gateway, keyed, status, run));
}

/**
 * Answers a request that creates: as before where it is repeated, else by `run`, which must keep its reply in the
 * commit that creates. So whatever a repeated request meets, the thing is created once.
 */
export async function answerKeyed(
  { runtime }: GatewayContext,
  keyed: KeyedRequest,
  status: number,
  run: (keep: Keep) => Promise<JsonObject | Response>,
): Promise<KeyedReply | Response> {
  const { store, calls } = runtime;
  const find = () => store.read('gateway.kept-reply', (tx) => findReply(tx, keyed));
  const before = await find();
  if (before) return { ...before, replayed: true };
  const keep = async (tx: Tx, reply: JsonObject, kept = reply): Promise<void> => {
    const text = canonicalJson(kept);
    if (!(await keepReply(tx, calls.clock, keyed, { status, text }))) throw new FasterRequest();
  };
  try {
    const reply = await run(keep);
    return reply instanceof Response ? reply : { status, text: canonicalJson(reply), replayed: false };
  } catch (error) {
    const faster = error instanceof FasterRequest ? await find() : null;
    if (faster) return { ...faster, replayed: true };
    throw error;
  }
}
