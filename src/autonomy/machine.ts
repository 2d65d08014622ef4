import type { FindingStatus, LiveStatus, RunStatus, TerminalStatus } from './model.ts';

/** What moves a run. `audit` is any step of a permission assessment: it never changes the status. */
export type RunStep =
  | 'candidate'
  | 'review_start'
  | 'review_end'
  | 'audit'
  | 'repair_start'
  | 'repair_bind'
  | 'repair_completed'
  | 'repair_failed'
  | 'repair_unknown';

const RUN: Readonly<Record<LiveStatus, Partial<Record<RunStep, LiveStatus>>>> = {
  running: { candidate: 'candidate', audit: 'running' },
  candidate: { candidate: 'candidate', audit: 'candidate', review_start: 'reviewing', repair_start: 'repairing' },
  reviewing: { audit: 'reviewing', review_end: 'candidate' },
  repairing: {
    audit: 'repairing',
    repair_bind: 'repairing',
    repair_completed: 'running',
    repair_failed: 'candidate',
    repair_unknown: 'repairing',
  },
};

/** Which ends each state allows. From `repairing` only the repair itself ends the run, as paused. */
const ENDS: Readonly<Record<LiveStatus, (end: TerminalStatus) => boolean>> = {
  running: (end) => end !== 'verified',
  candidate: () => true,
  reviewing: () => false,
  repairing: (end) => end === 'paused',
};

const isLive = (status: RunStatus): status is LiveStatus => Object.hasOwn(RUN, status);

export const isTerminal = (status: RunStatus): boolean => !isLive(status);

/** The state after a step, or null where the state does not allow it. */
export function nextStatus(status: RunStatus, step: RunStep): LiveStatus | null {
  return isLive(status) ? (RUN[status][step] ?? null) : null;
}

/** Whether a run in this state may end so. */
export const mayEnd = (status: RunStatus, end: TerminalStatus): boolean => isLive(status) && ENDS[status](end);

export type FindingStep = 'claim' | 'addressed' | 'not_addressed';

const FINDING: Readonly<Record<FindingStatus, Partial<Record<FindingStep, FindingStatus>>>> = {
  open: { claim: 'claimed' },
  claimed: { addressed: 'addressed_pending_review', not_addressed: 'unaddressed' },
  unaddressed: { claim: 'claimed' },
  addressed_pending_review: {},
};

export const nextFinding = (status: FindingStatus, step: FindingStep): FindingStatus | null =>
  FINDING[status][step] ?? null;
