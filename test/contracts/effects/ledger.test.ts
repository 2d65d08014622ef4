import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import {
  claim,
  claimNext,
  effectsSchema,
  listEffects,
  readHistory,
  recordObservation,
  recordOutcome,
  recoverInterrupted,
  settleNext,
  settleOperation,
  showEffect,
  verificationDocument,
  verifyRun,
} from '../../../src/effects/index.ts';
import { countingObserver, LOCAL_PRINCIPAL } from '../../../src/store/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { assert, check } from '../../support/index.ts';
import { claimOf, note, RUN, temporaryFolder } from './fixture.ts';

const run = { tenantId: 'local', runId: RUN };
const stranger = { tenantId: 'other', subjectId: 'someone' };
const success = { execution: 'reported_success', impact: 'possible' } as const;

async function ledger(t: TestContext) {
  const file = join(temporaryFolder(t), 'ledger.db');
  const counts = countingObserver();
  const store = await openSqliteStore({ file, schemas: [effectsSchema], observer: counts.observe });
  const outside = new DatabaseSync(file);
  t.after(async () => {
    outside.close();
    await store.close();
  });
  return { store, counts, outside };
}

check(
  'a claim, an outcome and an observation are a reading and an insert each, in whatever transaction they are put',
  async (t) => {
    const { store, counts } = await ledger(t);
    await store.write('t1', (tx) => claim(tx, run, { ...claimOf(note()), operationId: 'op' }));
    await store.write('t2', async (tx) => {
      await recordOutcome(tx, run, { effectId: 'e1', ...success });
      await recordObservation(tx, run, {
        observationId: 'o1',
        resource: note(),
        mechanism: 'owned_record_read',
        coverage: 'complete',
        sourceActionId: 'r',
        exists: true,
      });
    });
    assert.equal(counts.statementsOf('t1').length, 2);
    assert.equal(counts.statementsOf('t2').length, 4);
  },
);

check(
  'a claim and an ending whose positions nobody asks for are one statement each, and stand where others do',
  async (t) => {
    const { store, counts } = await ledger(t);
    await store.write('t', (tx) => claim(tx, run, claimOf(note())));
    await store.write('t1', (tx) => claimNext(tx, run, { ...claimOf(note(), 'e2'), operationId: 'op' }));
    assert.equal(await store.write('t2', (tx) => settleNext(tx, run, { effectId: 'e2', ...success })), true);
    assert.deepEqual([counts.statementsOf('t1').length, counts.statementsOf('t2').length], [1, 1]);
    const { claims, outcomes } = await store.read('look', (tx) => readHistory(tx, run));
    assert.deepEqual(
      claims.map(({ effectId, sequence }) => [effectId, sequence]),
      [
        ['e1', 1],
        ['e2', 2],
      ],
    );
    assert.deepEqual(
      outcomes.map(({ effectId, sequence }) => [effectId, sequence]),
      [['e2', 3]],
    );
    const again = store.write('again', (tx) => claimNext(tx, run, claimOf(note(), 'e2')));
    await assert.rejects(again, { code: 'EFFECT_CONFLICT' });
    assert.equal(await store.write('again', (tx) => settleNext(tx, run, { effectId: 'e2', ...success })), false);
    const unclaimed = store.write('none', (tx) => settleNext(tx, run, { effectId: 'e3', ...success }));
    await assert.rejects(unclaimed, { code: 'EFFECT_NOT_FOUND' });
    const theirs = { tenantId: 'other', runId: RUN };
    const ofOthers = store.write('theirs', (tx) => settleNext(tx, theirs, { effectId: 'e1', ...success }));
    await assert.rejects(ofOthers, { code: 'EFFECT_NOT_FOUND' });
    assert.equal((await store.read('look', (tx) => readHistory(tx, run))).outcomes.length, 1);
  },
);

check('a claim goes with the transaction that it was put into', async (t) => {
  const { store } = await ledger(t);
  const failing = store.write('together', async (tx) => {
    await claim(tx, run, claimOf(note()));
    throw new Error('the neighbour did not land');
  });
  await assert.rejects(failing, { message: 'the neighbour did not land' });
  assert.equal((await store.read('look', (tx) => readHistory(tx, run))).claims.length, 0);
});

check('effects of an open operation stay pending through recovery; settling it writes their outcome', async (t) => {
  const { store } = await ledger(t);
  await store.write('claims', async (tx) => {
    await claim(tx, run, { ...claimOf(note(), 'attached'), operationId: 'op-1' });
    await claim(tx, run, { ...claimOf(note(), 'attached-too'), operationId: 'op-1' });
    await claim(tx, run, { ...claimOf(note(), 'other'), operationId: 'op-2' });
    await claim(tx, run, claimOf(note(), 'alone'));
  });
  const recovered = await store.write('recover', (tx) => recoverInterrupted(tx, run));
  assert.deepEqual(
    recovered.map((one) => one.effectId),
    ['alone'],
  );
  const verdicts = async () =>
    (await store.read('look', (tx) => verifyRun(tx, LOCAL_PRINCIPAL, run))).effects.map((one) => one.now.verdict);
  assert.deepEqual(await verdicts(), ['pending', 'pending', 'pending', 'unverified']);
  const settle = (tenantId: string) =>
    store.write('settle', (tx) => settleOperation(tx, { tenantId, operationId: 'op-1' }, success));
  assert.deepEqual(await settle('other'), []);
  assert.deepEqual(await settle('local'), [run, run]);
  assert.deepEqual(await settle('local'), [], 'settled once');
  assert.deepEqual(await verdicts(), ['unverified', 'unverified', 'pending', 'unverified']);
});

check('tenants do not meet: same run, same effect id, neither conflict nor sight', async (t) => {
  const { store } = await ledger(t);
  await store.write('mine', (tx) => claim(tx, run, claimOf(note())));
  const theirs = { ...run, tenantId: 'other' };
  assert.equal((await store.write('theirs', (tx) => claim(tx, theirs, claimOf(note())))).sequence, 1);
  await store.write('settled', (tx) => recordOutcome(tx, theirs, { effectId: 'e1', ...success }));
  assert.equal((await store.read('look', (tx) => readHistory(tx, run))).outcomes.length, 0);
  const nothing = await store.read('look', (tx) => listEffects(tx, { tenantId: 'third', subjectId: 'x' }));
  assert.deepEqual(nothing, { effects: [] });
  const shown = store.read('look', (tx) =>
    showEffect(tx, { ...stranger, tenantId: 'third' }, { runId: RUN, effectId: 'e1' }),
  );
  await assert.rejects(shown, { code: 'EFFECT_NOT_FOUND' });
});

check('records never change and never go, whoever writes', async (t) => {
  const { store, outside } = await ledger(t);
  await store.write('claim', (tx) => claim(tx, run, claimOf(note())));
  for (const text of ["UPDATE effect_records SET effect_id = 'x'", 'DELETE FROM effect_records'])
    assert.throws(() => outside.exec(text), /effect records/);
});

check('rows that are no record are refused by the tables: words, shapes, a second end', async (t) => {
  const { store, outside } = await ledger(t);
  await store.write('claim', (tx) => claim(tx, run, claimOf(note())));
  await store.write('end', (tx) => recordOutcome(tx, run, { effectId: 'e1', ...success }));
  const insert = (columns: string, values: string) => () =>
    outside.exec(
      `INSERT INTO effect_records (tenant_id, run_id, sequence, type, body, ${columns}) VALUES ('local', '${RUN}', 9, ${values})`,
    );
  const bad = [
    insert('effect_id, execution, impact', `'outcome', '{}', 'e2', 'verified', 'possible'`),
    insert('effect_id, execution, impact', `'outcome', '{}', 'e2', 'failed', 'none'`),
    insert('effect_id, execution, impact', `'outcome', '{}', 'e2', 'not_executed', 'possible'`),
    insert('effect_id, execution, impact', `'outcome', '{}', 'e1', 'failed', 'possible'`),
    insert('effect_id', `'outcome', '{}', 'e2'`),
    insert('effect_id', `'observation', '{}', 'e2'`),
    insert('effect_id', `'claim', 'not json', 'e2'`),
    insert('effect_id', `'claim', '{}', 'e1'`),
    insert('effect_id', `'verdict', '{}', 'e2'`),
  ];
  for (const [index, forge] of bad.entries()) assert.throws(forge, /constraint/, String(index));
});

check('a row whose body was edited or does not fit its columns is damage, by its position', async (t) => {
  for (const body of ['{}', '[]', 'null', '{"sequence":1}']) {
    const { store, outside } = await ledger(t);
    outside.exec(
      `INSERT INTO effect_records (tenant_id, run_id, sequence, type, effect_id, body) VALUES ('local', '${RUN}', 3, 'claim', 'e1', '${body}')`,
    );
    const read = store.read('look', (tx) => readHistory(tx, run));
    await assert.rejects(read, { code: 'EFFECT_LEDGER_DAMAGED', message: /position 3/ }, body);
  }
});

check('a list is paged newest first, with what was reported and nothing judged', async (t) => {
  const { store, counts } = await ledger(t);
  const runs = ['1', '2'].map((digit) => ({ tenantId: 'local', runId: digit.repeat(32) }));
  await store.write('claims', async (tx) => {
    for (const one of runs)
      for (const id of ['a', 'b', 'c']) await claim(tx, one, { ...claimOf(note(), id), operationId: `op-${id}` });
    for (const one of runs) await recordOutcome(tx, one, { effectId: 'a', ...success });
    for (const one of runs) await recordOutcome(tx, one, { effectId: 'b', execution: 'running', impact: 'possible' });
  });
  const page = await store.read('page', (tx) => listEffects(tx, LOCAL_PRINCIPAL, { limit: 4 }));
  assert.deepEqual(
    page.effects.map((one) => [one.runId[0], one.effectId, one.execution, one.impact]),
    [
      ['2', 'c', 'attempted', null],
      ['2', 'b', 'running', 'possible'],
      ['2', 'a', 'reported_success', 'possible'],
      ['1', 'c', 'attempted', null],
    ],
  );
  assert.equal(page.effects[0]?.operationId, 'op-c');
  assert.ok(page.next);
  const before = page.next;
  const rest = await store.read('page', (tx) => listEffects(tx, LOCAL_PRINCIPAL, { limit: 4, before }));
  assert.deepEqual([rest.effects.map((one) => one.effectId), rest.next], [['b', 'a'], undefined]);
  const one = await store.read('page', (tx) => listEffects(tx, LOCAL_PRINCIPAL, { runId: '1'.repeat(32) }));
  assert.deepEqual(
    one.effects.map((entry) => entry.effectId),
    ['c', 'b', 'a'],
  );
  assert.equal(counts.statementsOf('page').length, 4, 'a page each, and where the cursor stands');
  await assert.rejects(
    store.read('page', (tx) => listEffects(tx, LOCAL_PRINCIPAL, { limit: 201 })),
    { code: 'LIMIT_REACHED' },
  );
  await assert.rejects(
    store.read('page', (tx) => listEffects(tx, LOCAL_PRINCIPAL, { limit: 0 })),
    { code: 'INVALID_VALUE' },
  );
});

check('verifying a run tells reported from verified, and then from now', async (t) => {
  const { store } = await ledger(t);
  const reading = { resource: note(), mechanism: 'owned_record_read', coverage: 'complete', exists: true } as const;
  await store.write('story', async (tx) => {
    await claim(tx, run, claimOf(note(), 'e1', 'a1'));
    await recordOutcome(tx, run, { effectId: 'e1', ...success });
    await recordObservation(tx, run, { observationId: 'o1', sourceActionId: 'a1', ...reading });
    await claim(tx, run, claimOf(note(), 'e2', 'a2'));
    await recordOutcome(tx, run, { effectId: 'e2', execution: 'timed_out', impact: 'possible' });
  });
  const found = await store.read('verify', (tx) => verifyRun(tx, LOCAL_PRINCIPAL, run));
  assert.deepEqual(
    found.effects.map((one) => [one.atCompletion.verdict, one.now.verdict, one.unresolvedImpact]),
    [
      ['verified', 'unverified', false],
      ['unverified', 'unverified', true],
    ],
  );
  assert.deepEqual(
    [found.summary.effects, found.summary.reportedSuccess, found.summary.verified, found.summary.unresolved],
    [2, 1, 0, 1],
  );
  const first = await store.read('verify', (tx) => verifyRun(tx, LOCAL_PRINCIPAL, { ...run, limit: 1 }));
  assert.deepEqual([first.effects.length, first.next], [1, 1]);
  const second = await store.read('verify', (tx) => verifyRun(tx, LOCAL_PRINCIPAL, { ...run, limit: 1, after: 1 }));
  assert.deepEqual([second.effects[0]?.claim.effectId, second.next], ['e2', undefined]);
  const shown = await store.read('show', (tx) => showEffect(tx, LOCAL_PRINCIPAL, { runId: RUN, effectId: 'e1' }));
  const document = verificationDocument(shown);
  assert.deepEqual(Object.keys(document), ['effect_id', 'tool', 'at_completion', 'now', 'unresolved_impact']);
  assert.deepEqual(Object.keys(document['now'] as object), [
    'action_id',
    'cleanup',
    'effect_id',
    'execution',
    'impact',
    'observation_ids',
    'reason',
    'targets',
    'verdict',
  ]);
});

check('a full run takes no more claims or readings, but every end', async (t) => {
  const { store } = await ledger(t);
  await store.write('fill', async (tx) => {
    for (let i = 1; i <= 10_000; i += 1)
      await claim(tx, run, { ...claimOf(note(), `e${i}`), impactScope: [], obligations: [] });
  });
  const full = { code: 'LIMIT_REACHED' };
  await assert.rejects(
    store.write('more', (tx) => claim(tx, run, claimOf(note(), 'more'))),
    full,
  );
  await assert.rejects(
    store.write('more', (tx) => claimNext(tx, run, claimOf(note(), 'more'))),
    full,
  );
  const seen = { observationId: 'o', resource: note(), mechanism: 'job_state', coverage: 'partial' } as const;
  await assert.rejects(
    store.write('more', (tx) => recordObservation(tx, run, seen)),
    full,
  );
  const running = { effectId: 'e1', execution: 'running', impact: 'possible' } as const;
  await assert.rejects(
    store.write('more', (tx) => recordOutcome(tx, run, running)),
    full,
  );
  assert.equal(
    (await store.write('end', (tx) => recordOutcome(tx, run, { effectId: 'e1', ...success })))?.sequence,
    10_001,
  );
  assert.equal((await store.read('look', (tx) => readHistory(tx, run))).outcomes.length, 1);
});
