import type { Limit } from './limit.ts';

/** Bounds of the way of one call, and of the runs that make calls. */
export const callsLimits = {
  callIdCharacters: { max: 255, unit: 'code units', why: 'The operations contract for identifiers.' },
  rawArgumentsShown: {
    max: 4096,
    unit: 'code units',
    why: 'Arguments that could not be read are kept for a person to look at, not to be used.',
  },
  callTwinsConsidered: {
    max: 1000,
    unit: 'items',
    why: 'Approved calls of one tool that nobody knows the end of; with more of them the tool is not fit to be called.',
  },
  callReasonCharacters: {
    max: 2000,
    unit: 'code units',
    why: 'What another program says about its failure is kept and shown, and must stay readable.',
  },
  runParallelCalls: {
    max: 16,
    unit: 'items',
    why: 'Calls of one reply side by side; more would crowd out other runs.',
  },
  runTurns: { max: 1000, unit: 'items', why: 'A run that asks its model more often than this is a loop.' },
  runDepth: { max: 8, unit: 'levels', why: 'Runs below runs; deeper ones are a loop of agents asking each other.' },
  runTree: { max: 1000, unit: 'items', why: 'A run and all below it are read and stopped together.' },
  runsCarriedOnAtOnce: {
    max: 32,
    unit: 'items',
    why: 'Decided runs that one process carries on side by side; a provider refuses more turns at once, and each holds its history.',
  },
  closeWaitMs: { max: 600_000, unit: 'ms', why: 'The longest time-out of any tool: no call answers later.' },
  runModelRetries: { max: 10, unit: 'times', why: 'A model that fails so often will not answer soon.' },
  runRetryPauseMs: { max: 60_000, unit: 'ms', why: 'The first pause; later ones grow from it.' },
  runTaskCodePoints: { max: 262_144, unit: 'code points', why: 'A task is read by people and sent to a model whole.' },
} as const satisfies Record<string, Limit>;
