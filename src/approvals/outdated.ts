import { fail } from '../core/index.ts';
import type { RequestedAction } from './model.ts';

/** What a request is bound to that is another by now: allowed, it would be refused when it is used. */
export interface Outdated {
  readonly part: 'toolRevision' | 'policyRevision';
  readonly why: string;
}

/** Whether an action is still what would be carried out; null where it is, or where this process cannot tell. */
export type Fits = (action: RequestedAction) => Outdated | null;

/** Throws APPROVAL_BINDING_MISMATCH for an action that would be refused when it is used: nobody allows what cannot run. */
export function refuseOutdated(action: RequestedAction, fits: Fits): void {
  const outdated = fits(action);
  if (outdated === null) return;
  throw fail('APPROVAL_BINDING_MISMATCH', outdated.why, {
    details: { part: outdated.part },
    resolve:
      'Reject it: the run is told when it goes on, and can ask anew for what would be carried out now: ' +
      `holdfast approvals reject ${action.requestId}`,
  });
}
