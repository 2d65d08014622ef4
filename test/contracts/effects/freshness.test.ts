import {
  assess,
  assessAll,
  assessAtCompletion,
  type EffectLog,
  freshness,
  openJournal,
  type ResourceRef,
} from '../../../src/effects/index.ts';
import { assert, check } from '../../support/index.ts';
import { claim, claimOf, note, RUN, ZEROS } from './fixture.ts';

/** Freshness is judged on histories that a log made, so that positions are those of real use. */
function memoryLog(): EffectLog {
  return openJournal(RUN, { directory: 'nowhere', durable: false });
}

let readings = 0;
async function look(log: EffectLog, resource: ResourceRef = note(), change: object = {}) {
  readings += 1;
  const seen = { mechanism: 'owned_record_read', coverage: 'complete', sourceActionId: 'r', exists: true } as const;
  const observation = await log.observe({ observationId: `o${readings}`, resource, ...seen, ...change });
  assert.ok(observation);
  return observation;
}

const done = (effectId: string) => ({ effectId, execution: 'reported_success', impact: 'possible' }) as const;
const skipped = (effectId: string) => ({ effectId, execution: 'not_executed', impact: 'none' }) as const;

check('FRESH-5: nothing later, nothing in flight: fresh', async () => {
  const log = memoryLog();
  await claim(log, note());
  await log.outcome(done('e1'));
  const seen = await look(log);
  assert.equal(freshness(seen, await log.history()), 'fresh');
});

check('FRESH-2: a later claim on it makes a reading stale unless it is known to have changed nothing', async () => {
  const log = memoryLog();
  const seen = await look(log);
  await claim(log, note('elsewhere'), 'far');
  assert.equal(freshness(seen, await log.history()), 'fresh', 'a claim on something else');
  await claim(log, note(), 'e1');
  assert.equal(freshness(seen, await log.history()), 'stale', 'a claim without an outcome');
  await log.outcome(skipped('e1'));
  assert.equal(freshness(seen, await log.history()), 'fresh', 'the tool was never reached');
  await log.claim({ ...claimOf(note(), 'e2'), impactScope: [], obligations: [] });
  await log.outcome(done('e2'));
  assert.equal(freshness(seen, await log.history()), 'stale', 'unknown scope touches everything');
});

check('FRESH-2: dependencies do not count', async () => {
  const log = memoryLog();
  const seen = await look(log);
  const elsewhere = note('elsewhere');
  await log.claim({ ...claimOf(elsewhere, 'e1'), dependencies: [note()] });
  assert.equal(freshness(seen, await log.history()), 'fresh');
});

check('FRESH-3: a later reading of another object at the same place makes it stale', async () => {
  const log = memoryLog();
  const seen = await look(log, note('n1', 'rev-1'));
  await look(log, note('n1', 'rev-1'));
  assert.equal(freshness(seen, await log.history()), 'fresh');
  await look(log, note('n2', 'rev-2'));
  assert.equal(freshness(seen, await log.history()), 'fresh', 'elsewhere');
  await look(log, note('n1', 'rev-2'));
  assert.equal(freshness(seen, await log.history()), 'stale');
});

check('FRESH-1: a receipt is never stale, but can be unsettled', async () => {
  for (const mechanism of ['execution_receipt', 'remote_acknowledgement'] as const) {
    const log = memoryLog();
    await claim(log, note(), 'e1');
    const early = await look(log, note(), { mechanism });
    await log.outcome(done('e1'));
    const receipt = await look(log, note(), { mechanism });
    await claim(log, note(), 'e2');
    const history = await log.history();
    assert.equal(freshness(receipt, history), 'fresh', mechanism);
    assert.equal(freshness(early, history), 'unsettled', mechanism);
  }
});

check('FRESH-4: what was in flight when it was seen leaves it unsettled, whatever is recorded later', async () => {
  const log = memoryLog();
  await claim(log, note(), 'e1');
  const during = await look(log);
  await log.outcome({ ...done('e1'), execution: 'running' });
  const running = await look(log);
  await log.outcome(done('e1'));
  const after = await look(log);
  const history = await log.history();
  assert.deepEqual(
    [during, running, after].map((seen) => freshness(seen, history)),
    ['unsettled', 'unsettled', 'fresh'],
  );
});

check('the newest reading decides: an older, better one never replaces it', async () => {
  const log = memoryLog();
  const made = await claim(log, note());
  await log.outcome(done('e1'));
  await look(log);
  assert.equal(assess(made, await log.history()).verdict, 'verified');
  await look(log, note(), { exists: null, coverage: 'partial' });
  assert.equal(assess(made, await log.history()).verdict, 'unverified');
});

check('the verdict at completion stays what it was when a later claim makes its reading stale', async () => {
  const log = memoryLog();
  const made = await claim(log, note(), 'e1', 'a1');
  await log.outcome(done('e1'));
  await look(log, note(), { sourceActionId: 'a1' });
  await claim(log, note(), 'e2', 'a2');
  await look(log, note(), { exists: false, sourceActionId: 'r2' });
  const history = await log.history();
  assert.equal(assessAtCompletion(made, history).verdict, 'verified');
  assert.equal(assess(made, history).verdict, 'unverified');
});

check('assessing a history gives one answer a claim, in order of position', async () => {
  const log = memoryLog();
  for (const effectId of ['b', 'a', 'c']) await claim(log, note(effectId), effectId);
  await log.outcome(done('a'));
  const answers = assessAll(await log.history());
  assert.deepEqual(
    answers.map((one) => [one.effectId, one.verdict]),
    [
      ['b', 'pending'],
      ['a', 'unverified'],
      ['c', 'pending'],
    ],
  );
});

check('a claim needs no obligations and may come from another log', async () => {
  const log = memoryLog();
  await log.claim({ effectId: 'e1', actionId: 'a1', operation: { tool: 't', action: '', inputSha256: ZEROS } });
  await log.outcome(done('e1'));
  const elsewhere = await claim(memoryLog(), note());
  await look(log);
  assert.equal(assess(elsewhere, await log.history()).verdict, 'verified');
});
