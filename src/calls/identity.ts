import { digestJson } from '../core/index.ts';
import type { ProviderProfile } from '../operations/index.ts';
import type { CallPlace } from './model.ts';

/** The provider profile of calls that Holdfast makes itself; the model's own provider stands in the action group. */
export const HOLDFAST_PROFILE: ProviderProfile = Object.freeze({
  provider: 'holdfast',
  apiFamily: 'calls',
  adapterRevision: 'holdfast-calls-v1',
});

/**
 * The idempotency key that the other side is given: minted by the host from run, action group and call id, so that
 * every delivery of one call has the same key, and no other call has it.
 */
export function idempotencyKey(place: Pick<CallPlace, 'runId'>, groupId: string, callId: string): string {
  return `hf-${digestJson({ run_id: place.runId, group_id: groupId, call_id: callId }).slice(0, 48)}`;
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

/** The effect id of a call: its operation's, cut from the same digest as the key. */
export function effectIdOf(place: Pick<CallPlace, 'runId'>, groupId: string, callId: string): string {
  return idempotencyKey(place, groupId, callId).slice(3, 35);
}
