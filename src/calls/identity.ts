import { digestJson, isId } from '../core/index.ts';
import type { ProviderProfile } from '../operations/index.ts';
import type { Tool } from '../tools/index.ts';
import type { CallPlace } from './model.ts';

/** The provider profile of calls that Holdfast makes itself; the model's own provider stands in the action group. */
export const HOLDFAST_PROFILE: ProviderProfile = Object.freeze({
  provider: 'holdfast',
  apiFamily: 'calls',
  adapterRevision: 'holdfast-calls-v1',
});

/** The digits of an id that tell its millisecond, and its place in that. */
const TIME_DIGITS = 16;

/**
 * The idempotency key that the other side is given: minted by the host from run, action group and call id, so that
 * every delivery of one call has the same key, and no other call has it. It begins with the time of its action group:
 * indexes over it, and over ids cut from it, grow at one end, and calls that share a commit share pages of them.
 */
export function idempotencyKey(place: Pick<CallPlace, 'runId'>, groupId: string, callId: string): string {
  const time = isId(groupId) ? groupId.slice(0, TIME_DIGITS) : '';
  const digest = digestJson({ run_id: place.runId, group_id: groupId, call_id: callId });
  return `hf-${time}${digest.slice(0, 48 - time.length)}`;
}

/** The same for a call whose host names it by a key of its own; only its digest is kept. */
export function keyOfHost(hostKey: string): string {
  return `hk-${digestJson({ host_key: hostKey }).slice(0, 48)}`;
}

/** The key of one call, whoever minted it. */
export function keyOfCall(of: {
  readonly place: Pick<CallPlace, 'runId'>;
  readonly groupId: string;
  readonly call: { readonly callId: string };
  readonly hostKey?: string;
}): string {
  return of.hostKey === undefined ? idempotencyKey(of.place, of.groupId, of.call.callId) : keyOfHost(of.hostKey);
}

/** The effect id of a call: its operation's, cut from the key that is minted for it. */
export function effectIdOf(mintedKey: string): string {
  return mintedKey.slice(3, 35);
}

/** The receipt ids of a call whose tool tells none: one pair an operation, in the order of the effect ids. */
export function receiptIdsOf(effectId: string, statusRef: string) {
  const identity = `${effectId.slice(0, TIME_DIGITS)}-${statusRef.slice('status_'.length)}`;
  return { receiptId: `receipt-${identity}`, downstreamRequestId: `request-${identity}` };
}

const DIGEST_DIGITS = 16;

/**
 * The revision of a tool that a permission is bound to: that of its policy, with a digest of those of its arguments,
 * output and effect where one of them was ever changed. What was approved meant what they said; how the tool does it
 * (`handler`, `producer`) may change.
 */
export function approvedRevision({ name, revisions }: Pick<Tool, 'name' | 'revisions'>): string {
  const { policy, inputSchema, outputSchema, effect } = revisions;
  const first = `${name}-v1`;
  if ([inputSchema, outputSchema, effect].every((revision) => revision === first)) return policy;
  const meaning = digestJson({ policy, inputSchema, outputSchema, effect });
  return `${policy}#${meaning.slice(0, DIGEST_DIGITS)}`;
}
