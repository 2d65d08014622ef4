import {
  assess,
  type EffectObservation,
  type EffectOutcome,
  historyOf,
  type EffectRecord,
  type Postcondition,
  type RecordedExecution,
  unresolvedImpact,
} from '../../../src/effects/index.ts';
import { assert, check } from '../../support/index.ts';
import { note, RUN, ZEROS } from './fixture.ts';

type Settled = Exclude<RecordedExecution, 'running' | 'not_executed'>;
type Reading = 'no candidate' | 'newest not fresh' | 'newest undecided' | 'predicate false' | 'predicate true';

const target = note();
const FACTS = {
  exitCode: null,
  timedOut: false,
  outputTruncated: false,
  failureKind: '',
  jobState: '',
  remoteAcknowledged: false,
  external: false,
  mutationAttempted: false,
};

const exists: Postcondition = { target, predicate: 'exists', expected: '' };

function claimed(obligations: readonly Postcondition[] = [exists], effectId = 'e1', sequence = 1): EffectRecord {
  const operation = { tool: 'write', action: '', inputSha256: ZEROS, requestId: '' };
  const impactScope = obligations.length > 0 ? obligations.map((one) => one.target) : [target];
  return {
    type: 'claim',
    record: {
      effectId,
      runId: RUN,
      actionId: 'a1',
      sequence,
      operation,
      impactScope,
      dependencies: [],
      obligations,
      parentRunId: '',
      external: false,
    },
  };
}

function ended(execution: RecordedExecution, sequence = 2, effectId = 'e1'): EffectRecord {
  const impact = execution === 'not_executed' ? 'none' : 'possible';
  const rest = { facts: FACTS, cleanup: 'unknown', executionId: '', replayed: false } as const;
  const record: EffectOutcome = { effectId, sequence, execution, impact, ...rest };
  return { type: 'outcome', record };
}

function seen(change: Partial<EffectObservation> = {}): EffectRecord {
  return {
    type: 'observation',
    record: {
      observationId: `o${change.sequence ?? 3}`,
      sequence: 3,
      resource: target,
      mechanism: 'owned_record_read',
      coverage: 'complete',
      sourceActionId: 'r',
      sourceExecutionId: '',
      exists: true,
      contentSha256: '',
      evidenceEventId: '',
      ...change,
    },
  };
}

function verdictOf(records: readonly EffectRecord[]) {
  const claim = records.find((entry) => entry.type === 'claim');
  assert.ok(claim);
  const answer = assess(claim.record, historyOf(records));
  return { answer, verdict: answer.verdict, unresolved: unresolvedImpact(answer) };
}

const READINGS: Readonly<Record<Reading, readonly EffectRecord[]>> = {
  'no candidate': [],
  'newest not fresh': [seen(), claimed([exists], 'e2', 4)],
  'newest undecided': [seen(), seen({ sequence: 4, exists: null })],
  'predicate false': [seen(), seen({ sequence: 4, exists: false })],
  'predicate true': [seen({ exists: false }), seen({ sequence: 4 })],
};

// Verdict, then `U` where unresolved impact is true: the matrix of the contracts, cell by cell.
const MATRIX: Readonly<Record<Settled, Readonly<Record<Reading, string>>>> = {
  reported_success: {
    'no candidate': 'unverified',
    'newest not fresh': 'unverified',
    'newest undecided': 'unverified',
    'predicate false': 'contradicted',
    'predicate true': 'verified',
  },
  failed: {
    'no candidate': 'failed U',
    'newest not fresh': 'failed U',
    'newest undecided': 'failed U',
    'predicate false': 'contradicted',
    'predicate true': 'failed U',
  },
  timed_out: {
    'no candidate': 'unverified U',
    'newest not fresh': 'unverified U',
    'newest undecided': 'unverified U',
    'predicate false': 'contradicted',
    'predicate true': 'state_observed',
  },
  cancelled: {
    'no candidate': 'unverified U',
    'newest not fresh': 'unverified U',
    'newest undecided': 'unverified U',
    'predicate false': 'contradicted',
    'predicate true': 'state_observed',
  },
  interrupted: {
    'no candidate': 'unverified U',
    'newest not fresh': 'unverified U',
    'newest undecided': 'unverified U',
    'predicate false': 'contradicted',
    'predicate true': 'state_observed',
  },
};

for (const [execution, row] of Object.entries(MATRIX) as [Settled, Record<Reading, string>][])
  for (const [reading, expected] of Object.entries(row) as [Reading, string][])
    check(`one obligation, ${execution}, ${reading}: ${expected}`, () => {
      const { answer, verdict, unresolved } = verdictOf([claimed(), ended(execution), ...READINGS[reading]]);
      assert.equal(`${verdict}${unresolved ? ' U' : ''}`, expected);
      assert.equal(answer.execution, execution);
      assert.equal(answer.impact, 'possible');
      assert.equal(answer.cleanup, 'unknown');
      assert.deepEqual(answer.targets, [target]);
      assert.deepEqual(answer.observationIds.length, reading === 'no candidate' ? 0 : 1);
    });

const WITHOUT_READING = [
  ['A1', [claimed()], 'pending', 'attempted', null, true],
  ['A2', [claimed(), ended('not_executed')], 'not_executed', 'not_executed', 'none', false],
  ['A3', [claimed(), ended('running')], 'pending', 'running', 'possible', true],
  ['A4', [claimed([]), ended('failed')], 'failed', 'failed', 'possible', true],
  ['A5', [claimed([]), ended('reported_success')], 'unverified', 'reported_success', 'possible', false],
  ['A5 timed out', [claimed([]), ended('timed_out')], 'unverified', 'timed_out', 'possible', true],
  ['A5 interrupted', [claimed([]), ended('interrupted')], 'unverified', 'interrupted', 'possible', true],
  ['latest of two', [claimed([]), ended('running', 2), ended('failed', 3)], 'failed', 'failed', 'possible', true],
] as const;

for (const [row, records, verdict, execution, impact, unresolved] of WITHOUT_READING)
  check(`ASSESS-${row}: ${verdict}`, () => {
    const found = verdictOf([...records, seen({ sequence: 9 })]);
    assert.deepEqual(
      [found.verdict, found.answer.execution, found.answer.impact, found.unresolved, found.answer.observationIds],
      [verdict, execution, impact, unresolved, []],
    );
    assert.ok(found.answer.reason.length > 0);
  });

const other = note('n2');
const two: readonly Postcondition[] = [exists, { target: other, predicate: 'exists', expected: '' }];
const at = (sequence: number, resource: typeof target, value: boolean | null) =>
  seen({ sequence, resource, exists: value });

const SEVERAL = [
  ['both true', 'reported_success', [at(3, target, true), at(4, other, true)], 'verified', ['o3', 'o4']],
  ['one unread', 'reported_success', [at(3, target, true)], 'unverified', ['o3']],
  ['one false', 'reported_success', [at(3, target, true), at(4, other, false)], 'contradicted', ['o3', 'o4']],
  ['false before unread', 'timed_out', [at(3, target, false)], 'contradicted', ['o3']],
  ['failed, one false and one true', 'failed', [at(3, target, false), at(4, other, true)], 'failed', ['o3', 'o4']],
  ['failed, one false and one unread', 'failed', [at(3, target, false)], 'contradicted', ['o3']],
  ['failed, one true and one unread', 'failed', [at(3, target, true)], 'failed', ['o3']],
] as const;

for (const [what, execution, readings, verdict, ids] of SEVERAL)
  check(`several obligations, ${what}: ${verdict}`, () => {
    const { answer } = verdictOf([claimed(two), ended(execution), ...readings]);
    assert.equal(answer.verdict, verdict);
    assert.deepEqual(answer.observationIds, ids);
  });

const digest = 'd'.repeat(64);
const otherDigest = 'e'.repeat(64);
const PREDICATES = [
  ['exists', { exists: true }, 'true'],
  ['exists', { exists: false }, 'false'],
  ['exists', { exists: null }, 'undecided'],
  ['exists', { exists: true, coverage: 'partial' }, 'true'],
  ['absent', { exists: false }, 'true'],
  ['absent', { exists: true }, 'false'],
  ['absent', { exists: null }, 'undecided'],
  ['absent', { exists: false, coverage: 'partial' }, 'true'],
  ['content_sha256', { contentSha256: digest }, 'true'],
  ['content_sha256', { contentSha256: otherDigest }, 'false'],
  ['content_sha256', { exists: false }, 'false'],
  ['content_sha256', { exists: false, coverage: 'partial' }, 'false'],
  ['content_sha256', { contentSha256: digest, coverage: 'partial' }, 'undecided'],
  ['content_sha256', {}, 'undecided'],
  ['content_changed', { contentSha256: otherDigest }, 'true'],
  ['content_changed', { contentSha256: digest }, 'false'],
  ['content_changed', { exists: false }, 'false'],
  ['content_changed', { contentSha256: otherDigest, coverage: 'partial' }, 'undecided'],
  ['content_changed', {}, 'undecided'],
  ['exists', { mechanism: 'filesystem_read' }, 'no candidate'],
  ['exists', { mechanism: 'execution_receipt' }, 'no candidate'],
  ['exists', { resource: other }, 'no candidate'],
  ['exists', { resource: { ...target, incarnation: 'rev-2', role: 'other', snapshotSha256: digest } }, 'true'],
] as const;

for (const [predicate, reading, expected] of PREDICATES)
  check(`${predicate} by ${JSON.stringify(reading)}: ${expected}`, () => {
    const content = predicate === 'content_sha256' || predicate === 'content_changed';
    const obligation: Postcondition = { target, predicate, expected: content ? digest : '' };
    const { answer } = verdictOf([claimed([obligation]), ended('reported_success'), seen(reading)]);
    const verdicts = { true: 'verified', false: 'contradicted', undecided: 'unverified', 'no candidate': 'unverified' };
    assert.equal(answer.verdict, verdicts[expected]);
    assert.equal(answer.observationIds.length, expected === 'no candidate' ? 0 : 1);
  });

check('a reading at or before the outcome is no candidate, whatever it shows', () => {
  const early = [claimed(), seen({ sequence: 2 }), ended('reported_success', 3)];
  assert.equal(verdictOf(early).verdict, 'unverified');
  assert.deepEqual(verdictOf(early).answer.observationIds, []);
});

check('kinds without a verifying mechanism stay unverified', () => {
  for (const kind of ['process', 'process_launch', 'background_job', 'browser_session'] as const) {
    const resource = { ...target, kind, location: [kind, 'x'] };
    const obligation: Postcondition = { target: resource, predicate: 'exists', expected: '' };
    const readings = (['job_state', 'process_ownership', 'browser_session', 'filesystem_read'] as const).map(
      (mechanism, i) => seen({ resource, mechanism, sequence: 3 + i }),
    );
    assert.equal(
      verdictOf([claimed([obligation]), ended('reported_success'), ...readings]).verdict,
      'unverified',
      kind,
    );
  }
});
