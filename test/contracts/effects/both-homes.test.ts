import { isDeepStrictEqual } from 'node:util';
import {
  assess,
  type EffectLog,
  readRecord,
  recordDocument,
  type ResourceRef,
  unresolvedImpact,
} from '../../../src/effects/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { claim, claimOf, missingTarget, note, RUN, temporaryFolder, ZEROS } from './fixture.ts';
import { HOMES } from './homes.ts';

const read = { mechanism: 'filesystem_read', sourceActionId: 'r1', exists: true } as const;

for (const kind of HOMES) {
  contract(
    'EFF-01 EFF-02 EFF-03',
    `${kind.name}: a claim is on disk, alone and whole, before it returns`,
    async (t) => {
      const folder = temporaryFolder(t);
      const home = await kind.make(t, folder);
      const log = home.open();
      const before = home.forced();
      const made = await claim(log, missingTarget(folder));
      assert.ok(home.forced() > before, 'data was forced to disk before the claim returned');
      const stored = home.stored();
      assert.deepEqual(
        stored.map(({ type }) => type),
        ['claim'],
      );
      const document = { run_id: RUN, ...stored[0]?.record };
      assert.deepEqual(readRecord('claim', document).record, made);
    },
  );

  contract(
    'EFF-07 EFF-08 EFF-09',
    `${kind.name}: a failed outcome degrades the log and stays in its memory`,
    async (t) => {
      const folder = temporaryFolder(t);
      const home = await kind.make(t, folder);
      const log = home.open();
      const made = await claim(log, missingTarget(folder));
      home.breakOtherWrites();
      await log.outcome({ effectId: made.effectId, execution: 'reported_success', impact: 'possible' });
      assert.equal(log.degraded, true);
      assert.equal(assess(made, await log.history()).execution, 'reported_success');
      const reloaded = await home.reload();
      assert.equal(assess(made, await reloaded.history()).verdict, 'pending');
      assert.deepEqual(
        home.stored().map(({ type }) => type),
        ['claim'],
      );
    },
  );

  contract(
    'EFF-10 EFF-11 EFF-12 EFF-13',
    `${kind.name}: after a restart what had not settled is interrupted`,
    async (t) => {
      const folder = temporaryFolder(t);
      const target = missingTarget(folder);
      const home = await kind.make(t, folder);
      const { settled, pending } = await stopWithOneUnsettled(home.open(), target);
      const reloaded = await home.reload();
      assert.equal(assess(settled, await reloaded.history()).verdict, 'unverified');
      const appended = await reloaded.recoverInterrupted();
      assert.deepEqual(
        appended.map((one) => [one.effectId, one.execution, one.impact, one.replayed]),
        [['e2', 'interrupted', 'possible', true]],
      );
      const answer = assess(pending, await reloaded.history());
      assert.equal(answer.verdict, 'unverified');
      assert.equal(unresolvedImpact(answer), true);
    },
  );

  contract('EFF-14 EFF-15', `${kind.name}: recovery runs once; a second one adds nothing`, async (t) => {
    const folder = temporaryFolder(t);
    const home = await kind.make(t, folder);
    await stopWithOneUnsettled(home.open(), missingTarget(folder));
    await (await home.reload()).recoverInterrupted();
    const again = await home.reload();
    assert.deepEqual(await again.recoverInterrupted(), []);
    assert.deepEqual(
      home.stored().map(({ type }) => type),
      ['claim', 'outcome', 'observation', 'claim', 'outcome'],
    );
  });

  contract('EFF-16 EFF-17', `${kind.name}: work running in the background is left alone by recovery`, async (t) => {
    const folder = temporaryFolder(t);
    const home = await kind.make(t, folder);
    const log = home.open();
    const made = await claim(log, missingTarget(folder));
    await log.outcome({ effectId: made.effectId, execution: 'running', impact: 'possible' });
    const reloaded = await home.reload();
    assert.deepEqual(await reloaded.recoverInterrupted(), []);
    assert.equal(assess(made, await reloaded.history()).verdict, 'pending');
  });

  check(`${kind.name}: a forged success is not read back as anything`, async (t) => {
    const folder = temporaryFolder(t);
    const home = await kind.make(t, folder);
    const made = await claim(home.open(), missingTarget(folder));
    const record = {
      effectId: made.effectId,
      sequence: 2,
      execution: 'failed',
      impact: 'possible',
      facts: { exitCode: null, timedOut: false, outputTruncated: false, failureKind: '', jobState: '' },
      cleanup: 'not_applicable',
      executionId: '',
      replayed: false,
    } as const;
    const facts = { ...record.facts, remoteAcknowledged: false, external: false, mutationAttempted: false };
    home.forge('outcome', {
      ...recordDocument({ type: 'outcome', record: { ...record, facts } }),
      execution: 'verified',
    });
    const reloaded = await home.reload().catch((error: unknown) => error);
    if (kind.name === 'files') assert.equal((reloaded as { code: string }).code, 'EFFECT_JOURNAL_DAMAGED');
    else {
      const history = await (reloaded as Awaited<ReturnType<typeof home.reload>>).history();
      assert.deepEqual(history, { claims: [], outcomes: [], observations: [] });
      assert.equal((reloaded as { degraded: boolean }).degraded, true);
    }
  });

  contract('EFF-24', `${kind.name}: a run that only reads knows its one observation`, async (t) => {
    const folder = temporaryFolder(t);
    const log = (await kind.make(t, folder)).open();
    const resource = missingTarget(folder);
    await log.observe({ observationId: 'o1', resource, coverage: 'partial', ...read });
    assert.equal((await log.history()).observations.length, 1);
    assert.equal(log.degraded, false);
  });

  contract('EFF-25 EFF-26 EFF-27 EFF-28', `${kind.name}: only ids that the server makes name a run`, async (t) => {
    const home = await kind.make(t);
    for (const forged of ['../escape', '', 'A'.repeat(32), 'a'.repeat(31)])
      assert.throws(() => home.openRun(forged), { code: 'EFFECT_RUN_ID_INVALID' }, forged);
  });

  contract(
    'EFF-30',
    `${kind.name}: the scope of an owned record comes back whole, its revision included`,
    async (t) => {
      const home = await kind.make(t);
      const record = note();
      await home.open().claim({
        effectId: 'e1',
        actionId: 'a1',
        operation: { tool: 'manage_notes', action: '', inputSha256: ZEROS },
        impactScope: [record],
      });
      const { claims } = await (await home.reload()).history();
      assert.deepEqual(claims[0]?.impactScope, [{ ...record }]);
      assert.equal(claims[0]?.impactScope[0]?.incarnation, 'rev-1');
    },
  );

  check(`${kind.name}: a repeated effect id is refused and leaves no trace`, async (t) => {
    const home = await kind.make(t);
    const log = home.open();
    await claim(log, note(), 'e1');
    await assert.rejects(claim(log, note(), 'e1', 'other'), { code: 'EFFECT_CONFLICT' });
    assert.equal((await log.history()).claims.length, 1);
    assert.equal((await claim(log, note(), 'e2')).sequence, 2, 'the refused claim used no position up');
  });

  check(`${kind.name}: a settled effect takes no further outcome; one that runs does`, async (t) => {
    const home = await kind.make(t);
    const log = home.open();
    await claim(log, note());
    const run = { effectId: 'e1', execution: 'running', impact: 'possible' } as const;
    assert.equal((await log.outcome(run))?.sequence, 2);
    assert.equal((await log.outcome(run))?.sequence, 3);
    assert.equal((await log.outcome({ ...run, execution: 'failed' }))?.sequence, 4);
    assert.equal(await log.outcome({ ...run, execution: 'reported_success' }), null);
    await assert.rejects(log.outcome({ ...run, effectId: 'nobody' }), { code: 'EFFECT_NOT_FOUND' });
    assert.equal(log.degraded, false);
    assert.equal(home.stored().length, 4);
  });

  check(`${kind.name}: an observation id is taken once`, async (t) => {
    const log = (await kind.make(t)).open();
    await claim(log, note());
    const seen = { observationId: 'o1', resource: note(), coverage: 'complete', sourceActionId: 'r' } as const;
    assert.equal((await log.observe({ ...seen, mechanism: 'owned_record_read' }))?.sequence, 2);
    assert.equal(await log.observe({ ...seen, mechanism: 'owned_record_read' }), null);
  });

  check(`${kind.name}: invalid records are refused before anything is written`, async (t) => {
    const home = await kind.make(t);
    const log = home.open();
    const good = claimOf(note());
    const bad = { code: 'EFFECT_RECORD_INVALID' };
    await assert.rejects(log.claim({ ...good, effectId: '' }), bad);
    await assert.rejects(log.claim({ ...good, actionId: 'two\nlines' }), bad);
    await assert.rejects(log.claim({ ...good, impactScope: [] }), bad, 'an obligation outside the scope');
    await assert.rejects(log.claim({ ...good, operation: { ...good.operation, inputSha256: 'F'.repeat(64) } }), bad);
    const many = Array.from({ length: 65 }, (_, i) => note(`n${i}`));
    await assert.rejects(log.claim({ ...good, impactScope: many }), { code: 'LIMIT_REACHED' });
    assert.deepEqual(home.stored(), []);
  });

  check(
    `${kind.name}: claims made together share what is forced to disk, and each is durable when it returns`,
    async (t) => {
      const home = await kind.make(t);
      const log = home.open();
      await claim(log, note(), 'first');
      const before = home.forced();
      const made = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          const one = await claim(log, note(), `e${i}`);
          const there = home.stored().some(({ record }) => isDeepStrictEqual(record['effect_id'], one.effectId));
          return { sequence: one.sequence, there };
        }),
      );
      assert.equal(home.forced() - before, 1);
      assert.ok(made.every(({ there }) => there));
      assert.deepEqual(
        made.map(({ sequence }) => sequence),
        Array.from({ length: 20 }, (_, i) => i + 2),
      );
    },
  );
}

async function stopWithOneUnsettled(log: EffectLog, target: ResourceRef) {
  const settled = await claim(log, target, 'e1', 'a1');
  await log.outcome({ effectId: 'e1', execution: 'reported_success', impact: 'possible', executionId: 'a1:x' });
  await log.observe({ observationId: 'o1', resource: target, coverage: 'complete', ...read });
  const pending = await claim(log, target, 'e2', 'a2');
  return { settled, pending };
}
