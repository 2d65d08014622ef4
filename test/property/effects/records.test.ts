import fc from 'fast-check';
import { canonicalJson } from '../../../src/core/index.ts';
import {
  assessAll,
  type EffectLog,
  type EffectRecord,
  openJournal,
  readRecord,
  recordDocument,
  unresolvedImpact,
} from '../../../src/effects/index.ts';
import { note, RUN, ZEROS } from '../../contracts/effects/fixture.ts';
import { assert, check } from '../../support/index.ts';

const text = fc.string({ maxLength: 20, unit: 'grapheme' }).filter((value) => !/[\0\r\n]/.test(value));
const id = text.filter((value) => value !== '');
const digest = fc.stringMatching(/^[0-9a-f]{64}$/);
const position = fc.integer({ min: 0, max: 1_000_000 });
const ref = fc
  .record({
    kind: fc.constantFrom('owned', 'filesystem', 'external'),
    role: id,
    rest: fc.array(text, { minLength: 1, maxLength: 6 }),
    incarnation: text,
    snapshotSha256: digest,
  })
  .map(({ kind, rest, role, incarnation, snapshotSha256 }) => ({
    kind,
    role,
    location: [kind, ...rest],
    incarnation,
    snapshotSha256,
  }));

const claim = fc
  .record({
    effectId: id,
    actionId: id,
    sequence: position,
    operation: fc.record({ tool: id, action: text, inputSha256: digest, requestId: text }),
    impactScope: fc.array(ref, { maxLength: 3 }),
    dependencies: fc.array(ref, { maxLength: 2 }),
    parentRunId: text,
    external: fc.boolean(),
  })
  .map(
    (made): EffectRecord => ({
      type: 'claim',
      record: {
        ...made,
        runId: RUN,
        obligations: made.impactScope.map((target) => ({ target, predicate: 'content_sha256', expected: ZEROS })),
      },
    }),
  );

const observation = fc
  .record({
    observationId: id,
    sequence: position,
    resource: ref,
    mechanism: fc.constantFrom('filesystem_read', 'job_state', 'execution_receipt'),
    coverage: fc.constantFrom('complete', 'partial'),
    sourceActionId: id,
    sourceExecutionId: text,
    exists: fc.constantFrom(true, false, null),
    contentSha256: digest,
    evidenceEventId: text,
  })
  .map(
    (made): EffectRecord => ({
      type: 'observation',
      record: { ...made, contentSha256: made.exists === true ? made.contentSha256 : '' },
    }),
  );

check('a record comes back from its document equal in every field, and the document is canonical as it stands', () => {
  fc.assert(
    fc.property(fc.oneof(claim, observation), (entry) => {
      const document = recordDocument(entry);
      const line = JSON.stringify(document);
      assert.equal(line, canonicalJson(document));
      assert.deepEqual(readRecord(entry.type, JSON.parse(line)), JSON.parse(JSON.stringify(entry)));
    }),
    { numRuns: 500 },
  );
});

check('a document with a key missing, one too many, or a value of another type is refused', () => {
  fc.assert(
    fc.property(fc.oneof(claim, observation), fc.nat(), fc.constantFrom('drop', 'add', 'retype'), (entry, at, how) => {
      const document: Record<string, unknown> = { ...recordDocument(entry) };
      const keys = Object.keys(document);
      const key = keys[at % keys.length] ?? '';
      if (how === 'drop') delete document[key];
      else if (how === 'add') document['forged'] = true;
      else document[key] = Symbol.for('nothing that JSON has');
      assert.throws(() => readRecord(entry.type, document), { code: 'EFFECT_RECORD_INVALID' });
    }),
    { numRuns: 500 },
  );
});

type Step = readonly [
  op: 'claim' | 'running' | 'success' | 'failed' | 'skip' | 'read',
  effect: number,
  exists: boolean,
];
const steps = fc.array(
  fc.tuple(fc.constantFrom('claim', 'running', 'success', 'failed', 'skip', 'read'), fc.nat({ max: 3 }), fc.boolean()),
  { maxLength: 25 },
);

check('no history without a fresh reading after a reported success is ever verified', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const log = openJournal(RUN, { directory: 'nowhere', durable: false });
      for (const [index, step] of list.entries()) await apply(log, step as Step, index);
      const history = await log.history();
      for (const answer of assessAll(history)) {
        const outcome = history.outcomes.findLast((one) => one.effectId === answer.effectId);
        const readings = history.observations.filter((one) => answer.observationIds.includes(one.observationId));
        if (answer.verdict === 'verified') {
          assert.equal(outcome?.execution, 'reported_success');
          assert.ok(
            readings.length > 0 && readings.every((one) => one.exists && one.sequence > (outcome?.sequence ?? 0)),
          );
        }
        if (answer.impact === 'none') assert.equal(unresolvedImpact(answer), false);
      }
      assert.equal(
        new Set([...history.claims, ...history.outcomes, ...history.observations].map((one) => one.sequence)).size,
        history.claims.length + history.outcomes.length + history.observations.length,
      );
    }),
    { numRuns: 300 },
  );
});

async function apply(log: EffectLog, [op, effect, exists]: Step, index: number): Promise<void> {
  const target = note(`n${effect % 2}`);
  const effectId = `e${effect}`;
  const ignored = (): void => undefined;
  const operation = { tool: 't', action: '', inputSha256: ZEROS };
  if (op === 'claim')
    await log
      .claim({
        effectId,
        actionId: effectId,
        operation,
        impactScope: [target],
        obligations: [{ target, predicate: 'exists' }],
      })
      .catch(ignored);
  else if (op === 'read') {
    const seen = { mechanism: 'owned_record_read', coverage: 'complete', sourceActionId: 'r', exists } as const;
    await log.observe({ observationId: `o${index}`, resource: target, ...seen });
  } else {
    const execution = (
      { running: 'running', success: 'reported_success', failed: 'failed', skip: 'not_executed' } as const
    )[op];
    await log.outcome({ effectId, execution, impact: op === 'skip' ? 'none' : 'possible' }).catch(ignored);
  }
}
