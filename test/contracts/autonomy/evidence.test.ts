import { type GroupEvidence, judge, type Judgement } from '../../../src/autonomy/index.ts';
import type { JsonValue } from '../../../src/core/index.ts';
import { assert, check } from '../../support/index.ts';

type Line = GroupEvidence['lines'][number];

const line = (type: string, result: JsonValue = null, sideEffectClass: string | null = 'workspace_write'): Line => ({
  type,
  action: 'a',
  sideEffectClass,
  result,
});
const told = (state: string): Line => line('permission_resolved', { state });
const calls = (...lines: Line[]): GroupEvidence => ({ kind: 'native_tools', lines, attempts: [] });
const attempted = (kind: string, states: readonly (string | null)[], ...lines: Line[]): GroupEvidence => ({
  kind,
  lines,
  attempts: states.map((terminalState) => ({ started: terminalState !== 'cancelled', terminalState })),
});

const PROPOSED = line('proposed');
const DONE = line('result', { status: 'ok', is_error: false, output_committed: true });
const NOT_DONE = line('result', { status: 'failed', is_error: true, output_committed: false });
const UNCLEAR = line('result', { status: 'unknown' });

/** Each ledger, and whether it carries `completed`, `failed` and `outcome_unknown`. */
const TABLE: readonly (readonly [name: string, group: GroupEvidence, ...claims: ('yes' | 'no' | 'open')[]])[] = [
  ['nothing at all', calls(), 'open', 'no', 'no'],
  ['a proposal alone', calls(PROPOSED), 'open', 'open', 'yes'],
  ['a proposed read alone', calls(line('proposed', null, 'read')), 'open', 'open', 'no'],
  ['a write that was done', calls(PROPOSED, DONE), 'yes', 'no', 'no'],
  ['a write that was not done', calls(PROPOSED, NOT_DONE), 'no', 'yes', 'no'],
  ['a write whose result says nothing', calls(PROPOSED, UNCLEAR), 'no', 'no', 'yes'],
  ['a write that was unknown and is known since', calls(PROPOSED, UNCLEAR, DONE), 'yes', 'no', 'no'],
  ['a write that failed and is told as done later', calls(PROPOSED, NOT_DONE, DONE), 'no', 'yes', 'no'],
  ['a write that was done and then says nothing', calls(PROPOSED, DONE, UNCLEAR), 'no', 'no', 'yes'],
  ['a failed write of which nothing says whether it stands', calls(PROPOSED, line('failed')), 'no', 'no', 'no'],
  ['a write that timed out', calls(PROPOSED, line('timed_out')), 'no', 'no', 'yes'],
  ['a denied write', calls(PROPOSED, told('denied')), 'no', 'yes', 'no'],
  ['a write whose permission timed out', calls(PROPOSED, told('timed_out')), 'no', 'yes', 'no'],
  ['an allowed write without a result', calls(PROPOSED, told('allowed')), 'open', 'open', 'yes'],
  ['an edited, allowed and done write', calls(PROPOSED, told('cancelled'), told('allowed'), DONE), 'yes', 'no', 'no'],
  ['a write of an unnamed class, done', calls(line('proposed', null, null), DONE), 'yes', 'no', 'no'],
  ['a proposal without an id', calls({ ...PROPOSED, action: null }), 'no', 'no', 'no'],
  ['an open attempt', attempted('native_tools', [null], PROPOSED, DONE), 'open', 'open', 'no'],
  ['an attempt that ended unknown', attempted('native_tools', ['outcome_unknown'], PROPOSED), 'no', 'no', 'yes'],
  ['an attempt that never started', attempted('native_tools', ['cancelled'], PROPOSED), 'no', 'open', 'no'],
  ['an attempt that died', attempted('code', ['abandoned']), 'no', 'no', 'yes'],
  ['code that ran and was observed', attempted('code', ['completed'], line('observation')), 'yes', 'no', 'no'],
  ['code that nobody observed', attempted('code', ['completed']), 'open', 'no', 'no'],
  ['a cell that failed', attempted('cell', ['failed']), 'no', 'yes', 'no'],
  ['another kind, completed', { kind: 'plan', lines: [line('completed')], attempts: [] }, 'yes', 'no', 'no'],
  ['another kind, unended', { kind: 'plan', lines: [line('note')], attempts: [] }, 'open', 'no', 'no'],
];

const word = (judgement: Judgement): 'yes' | 'no' | 'open' => {
  if (judgement.supported) return 'yes';
  return judgement.refusal === 'evidence' ? 'no' : 'open';
};

check('each ledger carries exactly the claims of the table', () => {
  for (const [name, group, ...claims] of TABLE) {
    const words = (['completed', 'failed', 'outcome_unknown'] as const).map((status) => word(judge(status, [group])));
    assert.deepEqual(words, claims, name);
  }
});

check('groups are judged together: one failure is enough, one success is not', () => {
  const read = calls(line('proposed', null, 'read_only'), line('result', { status: 'completed' }, 'read_only'));
  assert.deepEqual(judge('failed', [read, calls(PROPOSED, NOT_DONE)]), { supported: true, committed: false });
  assert.equal(word(judge('failed', [read])), 'no');
  assert.equal(word(judge('completed', [read, calls(PROPOSED)])), 'open');
  assert.deepEqual(judge('failed', [calls(PROPOSED, DONE), calls(PROPOSED, NOT_DONE)]), {
    supported: true,
    committed: true,
  });
  for (const status of ['completed', 'failed', 'outcome_unknown'] as const)
    assert.equal(word(judge(status, [])), 'open');
});
