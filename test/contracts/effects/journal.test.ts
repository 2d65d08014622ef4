import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type EffectLog, loadJournal, openJournal, recordDocument } from '../../../src/effects/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { claim, claimOf, missingTarget, note, RUN, temporaryFolder } from './fixture.ts';
import { fileHome, linesOf } from './homes.ts';

const DAMAGED = { code: 'EFFECT_JOURNAL_DAMAGED' };
const UNSAFE = { code: 'EFFECT_JOURNAL_UNSAFE' };

/** A journal with one claim, made by a log that is still open. */
async function withOneClaim(t: TestContext) {
  const folder = temporaryFolder(t);
  const home = fileHome(t, folder);
  const log = home.open();
  const made = await claim(log, note());
  return { folder, home, log, made, load: () => loadJournal(RUN, { directory: home.directory }) };
}

contract(
  'EFF-04',
  'the journal and its lock are private to their owner, and so is a folder that was made',
  async (t) => {
    const { home } = await withOneClaim(t);
    assert.equal(statSync(home.path).mode & 0o777, 0o600);
    assert.equal(statSync(home.path.replace(/jsonl$/, 'lock')).mode & 0o777, 0o600);
    assert.equal(statSync(home.directory).mode & 0o777, 0o700);
  },
);

contract('EFF-05 EFF-06', 'a claim whose folder is a file is refused and leaves no trace', async (t) => {
  const folder = temporaryFolder(t);
  const blocker = join(folder, 'not-a-directory');
  writeFileSync(blocker, 'x');
  const log = openJournal(RUN, { directory: blocker });
  await assert.rejects(claim(log, note()), { code: 'EFFECT_NOT_DURABLE' });
  assert.deepEqual((await log.history()).claims, []);
  assert.equal(readFileSync(blocker, 'utf8'), 'x');
});

contract('EFF-18', 'a torn last line is left out, and loading leaves it where it is', async (t) => {
  const { home, load } = await withOneClaim(t);
  appendFileSync(home.path, '{"v":1,"type":"outcome","rec');
  const before = readFileSync(home.path);
  assert.equal((await (await load()).history()).claims.length, 1);
  assert.deepEqual(readFileSync(home.path), before);
});

contract('EFF-19', 'a complete line that is no record makes the whole journal refused', async (t) => {
  const { home, load } = await withOneClaim(t);
  appendFileSync(home.path, '{"v":1,"type":"outcome","rec');
  appendFileSync(home.path, '\n{"v":1,"type":"outcome","record":{"forged":true}}\n');
  await assert.rejects(load(), DAMAGED);
});

contract('EFF-20', 'an outcome with the word of a verdict is forged, and refused', async (t) => {
  const { home, log, made, load } = await withOneClaim(t);
  const outcome = { effectId: made.effectId, execution: 'failed', impact: 'possible' } as const;
  const other = openJournal(RUN, { directory: home.directory, durable: false });
  await other.claim(claimOf(note()));
  const record = await other.outcome(outcome);
  assert.ok(record);
  const honest = recordDocument({ type: 'outcome', record });
  appendFileSync(
    home.path,
    `${JSON.stringify({ v: 1, type: 'outcome', record: { ...honest, execution: 'verified' } }).replaceAll(':', ': ')}\n`,
  );
  await assert.rejects(load(), DAMAGED);
  assert.equal((await log.history()).outcomes.length, 0);
  assert.equal(log.degraded, true, 'a live log answers with what it has and says that it is degraded');
});

contract('EFF-21 EFF-22', 'a journal with a second name is refused, on load and on the next claim', async (t) => {
  const { folder, home, log, load } = await withOneClaim(t);
  linkSync(home.path, join(folder, 'alias.jsonl'));
  await assert.rejects(load(), UNSAFE);
  await assert.rejects(claim(log, note(), 'e2', 'a2'), UNSAFE);
  assert.equal(linesOf(home.path).length, 1);
});

contract('EFF-23', 'a run that only reads makes no file', async (t) => {
  const folder = temporaryFolder(t);
  const home = fileHome(t, folder);
  const log = home.open();
  const seen = { mechanism: 'filesystem_read', coverage: 'partial', sourceActionId: 'r1', exists: true } as const;
  await log.observe({ observationId: 'o1', resource: missingTarget(folder), ...seen });
  assert.equal(existsSync(home.path), false);
  assert.equal(existsSync(home.directory), false);
});

check('an observation kept only in memory uses a position up and is not written later', async (t) => {
  const home = fileHome(t, temporaryFolder(t));
  const log = home.open();
  const seen = { mechanism: 'owned_record_read', coverage: 'complete', sourceActionId: 'r', exists: true } as const;
  assert.equal((await log.observe({ observationId: 'o1', resource: note(), ...seen }))?.sequence, 1);
  assert.equal((await claim(log, note())).sequence, 2);
  assert.deepEqual(
    linesOf(home.path).map(({ type }) => type),
    ['claim'],
  );
  const history = await log.history();
  assert.deepEqual([history.claims.length, history.observations.length], [1, 1]);
});

check('lines are canonical, one object a line, and keep every byte when more are added', async (t) => {
  const { home, log } = await withOneClaim(t);
  const first = readFileSync(home.path, 'utf8');
  assert.match(first, /^\{"record":\{"action_id":"act-1",.*\},"type":"claim","v":1\}\n$/);
  await log.outcome({ effectId: 'e1', execution: 'not_executed', impact: 'none' });
  assert.ok(readFileSync(home.path, 'utf8').startsWith(first));
});

check('an append cuts a torn fragment off', async (t) => {
  const { home, log } = await withOneClaim(t);
  appendFileSync(home.path, '{"v":1,"ty');
  await claim(log, note(), 'e2');
  assert.deepEqual(
    linesOf(home.path).map(({ record }) => record['effect_id']),
    ['e1', 'e2'],
  );
});

const badLines: readonly (readonly [string, string])[] = [
  ['an empty line', '\n'],
  ['a version that is not known', '{"v":2,"type":"claim","record":{}}\n'],
  ['a version as a fraction', '{"v":1.0,"type":"claim","record":{}}\n'],
  ['one key more', '{"v":1,"type":"claim","record":{},"x":1}\n'],
  ['a key twice', '{"v":1,"v":1,"type":"claim","record":{}}\n'],
  ['a list', '[1]\n'],
  ['text that is not UTF-8', '\xff\n'],
];
for (const [what, line] of badLines)
  check(`a complete line is refused: ${what}`, async (t) => {
    const { home, load } = await withOneClaim(t);
    appendFileSync(home.path, Buffer.from(line, 'latin1'));
    await assert.rejects(load(), DAMAGED);
  });

check('lines that disagree with earlier ones are refused', async (t) => {
  for (const change of [{ sequence: 1 }, { effect_id: 'e1', sequence: 7 }]) {
    const { home, load } = await withOneClaim(t);
    const again = { ...linesOf(home.path)[0]?.record, effect_id: 'e9', ...change };
    appendFileSync(home.path, `${JSON.stringify({ v: 1, type: 'claim', record: again })}\n`);
    await assert.rejects(load(), DAMAGED, JSON.stringify(change));
  }
});

check('positions may have gaps and need not rise over the file', async (t) => {
  const { home, load } = await withOneClaim(t);
  const first = linesOf(home.path)[0];
  for (const sequence of [40, 17])
    appendFileSync(
      home.path,
      `${JSON.stringify({ ...first, record: { ...first?.record, effect_id: `e${sequence}`, sequence } })}\n`,
    );
  const log = await load();
  t.after(() => log.close());
  assert.deepEqual(
    (await log.history()).claims.map((one) => one.sequence),
    [1, 17, 40],
  );
  assert.equal((await claim(log, note(), 'next')).sequence, 41);
});

check('a journal that others may write is refused; wider reading is narrowed', async (t) => {
  const { home, log, load } = await withOneClaim(t);
  chmodSync(home.path, 0o644);
  await claim(log, note(), 'e2');
  assert.equal(statSync(home.path).mode & 0o777, 0o600);
  chmodSync(home.path, 0o620);
  await assert.rejects(load(), UNSAFE);
  await assert.rejects(claim(log, note(), 'e3'), UNSAFE);
  chmodSync(home.path, 0o600);
  chmodSync(home.directory, 0o777);
  await assert.rejects(claim(log, note(), 'e3'), UNSAFE);
});

check('a journal behind a link, replaced, shortened or gone is refused', async (t) => {
  const { folder, home, log, load } = await withOneClaim(t);
  const aside = join(folder, 'aside.jsonl');
  const refused = (code: string, effectId: string) => assert.rejects(claim(log, note(), effectId), { code }, effectId);
  truncateSync(home.path, 10);
  await refused('EFFECT_JOURNAL_DAMAGED', 'shortened');
  renameSync(home.path, aside);
  await refused('EFFECT_JOURNAL_UNSAFE', 'gone');
  writeFileSync(home.path, '', { mode: 0o600 });
  await refused('EFFECT_JOURNAL_UNSAFE', 'replaced');
  renameSync(home.path, join(folder, 'other'));
  symlinkSync(aside, home.path);
  await assert.rejects(load(), UNSAFE);
  await assert.rejects(claim(log, note(), 'linked'));
  mkdirSync(join(folder, 'second', `${RUN}.jsonl`), { recursive: true });
  await assert.rejects(loadJournal(RUN, { directory: join(folder, 'second') }), UNSAFE);
});

check('two open logs of one run see each other and share the order', async (t) => {
  const home = fileHome(t, temporaryFolder(t));
  const [one, two] = [home.open(), home.open()];
  await Promise.all(Array.from({ length: 10 }, (_, i) => claim(i % 2 === 0 ? one : two, note(), `e${i}`)));
  await two.outcome({ effectId: 'e0', execution: 'reported_success', impact: 'possible' });
  assert.equal(await one.outcome({ effectId: 'e0', execution: 'failed', impact: 'possible' }), null);
  const seen = await Promise.all([one.history(), two.history()]);
  assert.deepEqual(seen[0], seen[1]);
  assert.deepEqual(
    seen[0]?.claims.map((made) => made.sequence),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
});

check('what another log settles hides what this one could only keep in memory', async (t) => {
  const home = fileHome(t, temporaryFolder(t));
  const log = home.open();
  const other = openJournal(RUN, { directory: home.directory });
  t.after(() => other.close());
  await claim(log, note());
  home.breakOtherWrites();
  await log.outcome({ effectId: 'e1', execution: 'reported_success', impact: 'possible' });
  await other.outcome({ effectId: 'e1', execution: 'failed', impact: 'possible' });
  const { outcomes } = await log.history();
  assert.deepEqual(
    outcomes.map((one) => one.execution),
    ['failed'],
  );
});

check('a log that is not durable has no path and makes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const log = openJournal(RUN, { directory: join(folder, 'fx'), durable: false });
  await claim(log, note());
  assert.equal(log.path, null);
  assert.equal(existsSync(join(folder, 'fx')), false);
  assert.equal((await (log as EffectLog).history()).claims.length, 1);
});

check('work of which another process tells while a recovery looks is left alone by it', async (t) => {
  const { log, made, load } = await withOneClaim(t);
  const recovering = await load();
  t.after(() => recovering.close());
  const look = recovering.history.bind(recovering);
  recovering.history = async () => {
    const before = await look();
    await log.outcome({ effectId: made.effectId, execution: 'running', impact: 'possible' });
    return before;
  };
  assert.deepEqual(await recovering.recoverInterrupted(), []);
  const outcomes = (await (await load()).history()).outcomes.map(({ execution }) => execution);
  assert.deepEqual(outcomes, ['running']);
});
