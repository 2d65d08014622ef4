import { fail, HoldfastError } from '../core/index.ts';
import { withRoutes } from './over-http.ts';

/** Headers of every answer: nothing is cached, framed, sniffed or run, and no other origin may read it. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** Whatever was thrown, as an error of ours: what has no code may carry paths or secrets, so only its kind is told. */
export function asKnown(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const kind = error instanceof Error ? error.name : typeof error;
  return fail('UNEXPECTED', `The request ended in an error that has no code (${kind}).`, { cause: error });
}

/** The one form of every refusal: `{"error": …}` with the status of its row in the error table, and routes beside commands. */
export function errorResponse(error: HoldfastError): Response {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  const { retry_after: retryAfter, allow } = error.details ?? {};
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  if (error.code === 'METHOD_NOT_ALLOWED' && allow !== undefined) headers['allow'] = String(allow);
  if (error.httpStatus === 401) headers['www-authenticate'] = 'Bearer';
  return new Response(JSON.stringify({ error: withRoutes(error.toJSON()) }), { status: error.httpStatus, headers });
}
