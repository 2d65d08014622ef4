import type { JsonObject, JsonValue } from '../../src/core/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { endingOf } from '../../src/autonomy/supervise/reviewing.ts';
import { assert, check } from '../support/index.ts';

const LONG = `${'long/'.repeat(250)}name`;
const EVIDENCE: JsonObject = {
  artifacts: [
    { path: 'result.txt', sha256: 'a'.repeat(64) },
    { path: LONG, sha256: 'b'.repeat(64) },
  ],
  actions: [{ call_id: 'call-1' }],
};

const finding = (severity: string, claim = 'It is wrong.', evidence: JsonValue = ['result.txt']): JsonObject => ({
  severity,
  category: 'sum',
  claim,
  evidence,
});

const ended = (verdict: string, findings: readonly JsonObject[]) =>
  endingOf({ ok: true, document: { verdict, summary: 'So.', findings: [...findings] }, usage: {} }, EVIDENCE, 'review');

check('the same finding that is made twice counts as the worse one: a pass beside it is none', () => {
  for (const order of [
    ['minor', 'critical'],
    ['critical', 'minor'],
  ]) {
    const { verdict, findings } = ended(
      'pass',
      order.map((severity) => finding(severity)),
    );
    assert.equal(verdict, 'issues');
    assert.deepEqual(
      findings?.map(({ severity, findingId }) => [severity, findingId]),
      [['critical', 'review-finding-1']],
    );
  }
});

check('a pass beside more findings than are read is none', () => {
  const minor = Array.from({ length: LIMITS.autoFindings }, (_, i) => finding('minor', `It is wrong ${i}.`));
  assert.deepEqual([ended('pass', minor).status, ended('pass', minor).verdict], ['completed', 'pass']);
  const { status, verdict, findings } = ended('pass', [...minor, finding('critical')]);
  assert.deepEqual([status, verdict, findings?.length], ['completed', 'issues', LIMITS.autoFindings]);
});

check('what a finding names is named as the candidate names it, each once', () => {
  const { findings } = ended('issues', [finding('major', 'It is wrong.', [LONG, 'call-1', 'result.txt', LONG])]);
  const [found] = findings ?? [];
  assert.equal(found?.evidenceRefs?.length, 3);
  assert.ok(found.evidenceRefs.every((ref) => ref.length <= LIMITS.autoKeyCodePoints));
  assert.ok(found.versionIds?.every((id) => id.length <= LIMITS.autoKeyCodePoints));
});

check('a claim that is blank as the record sees it is no claim', () => {
  assert.equal(ended('issues', [finding('major', '\u001c')]).status, 'failed');
});
