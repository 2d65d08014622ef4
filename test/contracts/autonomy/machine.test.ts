import {
  mayEnd,
  nextFinding,
  nextStatus,
  type RunStatus,
  type RunStep,
  type TerminalStatus,
} from '../../../src/autonomy/index.ts';
import { assert, check } from '../../support/index.ts';

const STEPS: readonly RunStep[] = [
  'candidate',
  'review_start',
  'review_end',
  'audit',
  'repair_start',
  'repair_bind',
  'repair_completed',
  'repair_failed',
  'repair_unknown',
];

/** The contract's table of a run, written out: state, step, next state. */
const MOVES: readonly (readonly [RunStatus, RunStep, RunStatus])[] = [
  ['running', 'candidate', 'candidate'],
  ['running', 'audit', 'running'],
  ['candidate', 'candidate', 'candidate'],
  ['candidate', 'review_start', 'reviewing'],
  ['candidate', 'audit', 'candidate'],
  ['candidate', 'repair_start', 'repairing'],
  ['reviewing', 'review_end', 'candidate'],
  ['reviewing', 'audit', 'reviewing'],
  ['repairing', 'audit', 'repairing'],
  ['repairing', 'repair_bind', 'repairing'],
  ['repairing', 'repair_completed', 'running'],
  ['repairing', 'repair_failed', 'candidate'],
  ['repairing', 'repair_unknown', 'repairing'],
];
const TERMINAL: readonly TerminalStatus[] = [
  'verified',
  'completed_with_issues',
  'review_unavailable',
  'blocked_by_guardian',
  'cancelled',
  'failed',
  'paused',
];
const STATES: readonly RunStatus[] = [
  'running',
  'candidate',
  'reviewing',
  'repairing',
  ...TERMINAL,
  'unverified_import',
];

check('a run moves as the table says, and in no other way', () => {
  const moves = STATES.flatMap((state) =>
    STEPS.flatMap((step) => {
      const next = nextStatus(state, step);
      return next === null ? [] : [[state, step, next]];
    }),
  );
  assert.deepEqual(moves, MOVES);
});

check('a run ends from running or as a candidate, verified only as one, and paused by its repair', () => {
  const ends = (state: RunStatus): TerminalStatus[] => TERMINAL.filter((end) => mayEnd(state, end));
  assert.deepEqual(ends('running'), TERMINAL.slice(1));
  assert.deepEqual(ends('candidate'), TERMINAL);
  assert.deepEqual(ends('reviewing'), []);
  assert.deepEqual(ends('repairing'), ['paused']);
  for (const state of STATES.slice(4)) assert.deepEqual(ends(state), []);
});

check('a finding is claimed, then addressed or not, and may be claimed again only then', () => {
  const states = ['open', 'claimed', 'unaddressed', 'addressed_pending_review'] as const;
  const table = states.map((state) =>
    (['claim', 'addressed', 'not_addressed'] as const).map((step) => nextFinding(state, step)),
  );
  assert.deepEqual(table, [
    ['claimed', null, null],
    [null, 'addressed_pending_review', 'unaddressed'],
    ['claimed', null, null],
    [null, null, null],
  ]);
});
