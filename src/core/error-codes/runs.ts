import type { ErrorCodeEntry } from './entry.ts';

/** Codes of runs. */
export const runsErrorCodes = {
  RUN_NOT_FOUND: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'List the runs that there are: holdfast runs list',
  },
  RUN_NOT_OWNED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'See how the run stands now: holdfast runs show RUN',
  },
  RUN_BUSY: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: true,
    resolve: 'Wait for whoever carries the run out, or stop it: holdfast runs stop RUN',
  },
  RUN_ENDED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Start a new run.',
  },
  RUN_RECORD_BROKEN: {
    family: 'corruption',
    http: 500,
    exit: 2,
    retryable: false,
    resolve: 'See what is damaged: holdfast audit. Restore a backup where the damage cannot be explained.',
  },
  RUN_DAMAGED: {
    family: 'corruption',
    http: 500,
    exit: 2,
    retryable: false,
    resolve:
      'See what is damaged: holdfast audit. Mend the record, or restore a backup; the next start recovers the run.',
  },
  RUN_TURNS_USED_UP: {
    family: 'limit',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Give the agent more turns (maxTurns), then resume the run: holdfast runs resume RUN --adopt',
  },
  RUN_BUDGET_USED_UP: {
    family: 'limit',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'Give the agent a larger budget, then resume the run: holdfast runs resume RUN --adopt',
  },
  RUN_CONFIG_CHANGED: {
    family: 'conflict',
    http: 409,
    exit: 1,
    retryable: false,
    resolve:
      'Define the agent with the model that the run began with, or let it go on as the agent is now: ' +
      'holdfast runs resume RUN --adopt',
  },
  RUN_CHILD_ENDED: {
    family: 'state',
    http: 409,
    exit: 1,
    retryable: false,
    resolve: 'See what the child run did: holdfast runs show RUN',
  },
  AGENT_UNKNOWN: {
    family: 'not_found',
    http: 404,
    exit: 2,
    retryable: false,
    resolve: 'Define the agent of that name in this process before the run is resumed.',
  },
  AGENT_EXISTS: {
    family: 'conflict',
    http: 409,
    exit: 2,
    retryable: false,
    resolve: 'Give each agent of a runtime a name of its own.',
  },
} as const satisfies Record<string, ErrorCodeEntry>;
