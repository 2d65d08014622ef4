import { compareCodePoints, fail, requireText, requireUnixSeconds } from '../core/index.ts';
import { MAX_IDENTIFIER_CHARS, MAX_PORTABLE_UNIX_SECONDS, MAX_ROLES, MAX_WORKER_ID_CHARS } from './bounds.ts';
import { type Principal, type ProviderProfile, ToolCall } from './model.ts';

/** Where a harness stops the code, to imitate a crash. Nothing after the named point is written. */
export const DISPATCH_FAILURES = ['none', 'after_intent_commit', 'after_claim', 'after_downstream_commit'] as const;
export const PROCESS_FAILURES = ['none', 'after_claim', 'after_downstream_commit'] as const;
export type DispatchFailure = (typeof DISPATCH_FAILURES)[number];
export type ProcessFailure = (typeof PROCESS_FAILURES)[number];

export function requireFailureWord<W extends string>(word: unknown, words: readonly W[]): W {
  const known = words.find((candidate) => candidate === word);
  if (known === undefined) throw fail('INVALID_VALUE', `failure must be one of: ${words.join(', ')}.`);
  return known;
}

/** Plain JavaScript may hand over anything where named values are due. */
export function requireRecord(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw fail('INVALID_VALUE', `${name} must be an object.`);
}

/** Nothing twice and in code point order, so that a role list has one spelling. */
function checkRoles(roles: unknown): void {
  if (!Array.isArray(roles) || !Object.isFrozen(roles)) throw fail('INVALID_VALUE', 'roles must be a fixed list.');
  if (roles.length > MAX_ROLES) throw fail('INVALID_VALUE', `roles may have at most ${MAX_ROLES} entries.`);
  const list = roles.map((role: unknown) => requireText('a role', role, MAX_IDENTIFIER_CHARS));
  for (let i = 1; i < list.length; i += 1) {
    if (compareCodePoints(list[i - 1] ?? '', list[i] ?? '') >= 0)
      throw fail('INVALID_VALUE', 'roles must be sorted and without repeats.');
  }
}

export function checkPrincipal(principal: Principal): void {
  requireText('tenant_id', principal.tenant, MAX_IDENTIFIER_CHARS);
  requireText('subject_id', principal.subject, MAX_IDENTIFIER_CHARS);
  checkRoles(principal.roles);
}

export function isRegisteredProfile(profiles: readonly ProviderProfile[], context: ProviderProfile): boolean {
  return profiles.some(
    (known) =>
      known.provider === context.provider &&
      known.apiFamily === context.apiFamily &&
      known.adapterRevision === context.adapterRevision,
  );
}

/** The identities that the host gives, in the contracts' order: the first that is wrong is named. */
export function checkHostContext(
  principal: Principal,
  call: ToolCall,
  now: number,
  profiles: readonly ProviderProfile[],
): void {
  requireUnixSeconds('now', now);
  if (!(call instanceof ToolCall)) throw fail('INVALID_VALUE', 'call must be a ToolCall.');
  requireRecord('principal', principal);
  requireText('tenant_id', principal.tenant, MAX_IDENTIFIER_CHARS);
  requireText('subject_id', principal.subject, MAX_IDENTIFIER_CHARS);
  requireText('call_id', call.callId, MAX_IDENTIFIER_CHARS);
  requireText('operation_id', call.operationId, MAX_IDENTIFIER_CHARS);
  requireText('name', call.name, MAX_IDENTIFIER_CHARS);
  requireText('provider', call.provider, MAX_IDENTIFIER_CHARS);
  requireText('api_family', call.apiFamily, MAX_IDENTIFIER_CHARS);
  requireText('response_id', call.responseId, MAX_IDENTIFIER_CHARS);
  requireText('adapter_revision', call.adapterRevision, MAX_IDENTIFIER_CHARS);
  checkRoles(principal.roles);
  if (call.idempotencyKey !== null) requireText('idempotency_key', call.idempotencyKey, MAX_IDENTIFIER_CHARS);
  if (!isRegisteredProfile(profiles, call))
    throw fail('INVALID_VALUE', 'provider, api_family and adapter_revision are not a registered provider profile.');
}

/** A worker's name and the lease it asks for; the lease must end at a portable second. */
export function checkLeaseRequest(workerId: string, now: number, leaseSeconds: number): void {
  requireText('worker_id', workerId, MAX_WORKER_ID_CHARS);
  requireUnixSeconds('now', now);
  if (!Number.isInteger(leaseSeconds) || leaseSeconds < 1)
    throw fail('INVALID_VALUE', 'lease_seconds must be a whole number of at least 1.');
  if (now + leaseSeconds > MAX_PORTABLE_UNIX_SECONDS)
    throw fail('INVALID_VALUE', 'now + lease_seconds must not pass the last portable second.');
}
