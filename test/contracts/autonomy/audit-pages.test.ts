import { proveAssessment } from '../../../src/autonomy/assessment-proof.ts';
import { AUDIT_PAGE } from '../../../src/autonomy/queries.ts';
import { assert, check, contract } from '../../support/index.ts';
import {
  type AutonomyWorld,
  assessed,
  audits,
  behind,
  candidate,
  completeAssessment,
  openAutonomyWorld,
  ordinalOf,
  passReview,
  start,
  startReview,
} from '../../support/autonomy-world.ts';
import { refusal } from '../../support/session-world.ts';

/** What one page of one row costs: reads of the log, proofs, and rows. */
async function cost(count: number): Promise<{ selects: number; proofs: number; rows: number }> {
  let proofs = 0;
  await using world = await openAutonomyWorld({
    assessment: (...given) => {
      proofs += 1;
      return proveAssessment(...given);
    },
  });
  await start(world);
  for (let index = 0; index < count; index += 1) {
    await assessed(world, String(index));
    await completeAssessment(world, String(index));
  }
  proofs = 0;
  world.counts.reset();
  const rows = await audits(world, { limit: 1 });
  const selects = world.counts.events.filter(
    (event) =>
      event.kind === 'statement' &&
      event.text.trimStart().toUpperCase().startsWith('SELECT') &&
      event.text.toUpperCase().includes('FROM AUTO_MODE_EVENTS'),
  ).length;
  return { selects, proofs, rows: rows.length };
}

contract('AUT-51 AUT-52 AUT-53 AUT-54', 'a page costs what the page holds, with 8 audits as with 64', async () => {
  const small = await cost(8);
  assert.equal(small.rows, 1);
  assert.ok(small.selects >= 1 && small.selects <= 2, String(small.selects));
  assert.equal(small.proofs, 1);
  assert.deepEqual(await cost(64), small);
});

/** A starts, B starts, B ends, A ends. */
async function overlapping(): Promise<AutonomyWorld> {
  const world = await openAutonomyWorld();
  await start(world);
  for (const name of ['a', 'b']) await assessed(world, name);
  for (const name of ['b', 'a']) await completeAssessment(world, name);
  return world;
}

const shown = (rows: readonly Record<string, unknown>[]) => rows.map((row) => [row['audit_id'], row['status']]);

contract('AUT-55 AUT-56 AUT-57', 'an audit stands where it ended, once, page after page', async () => {
  await using world = await overlapping();
  const first = await audits(world, { limit: 1 });
  assert.deepEqual(shown(first), [['permission-audit-a', 'completed']]);
  const second = await audits(world, { limit: 1, before: ordinalOf(first[0]) });
  assert.deepEqual(shown(second), [['permission-audit-b', 'completed']]);
  assert.deepEqual(await audits(world, { limit: 1, before: ordinalOf(second[0]) }), []);
});

contract('AUT-58', 'a page is asked for by ordinal or by audit id, with the same answer', async () => {
  await using world = await overlapping();
  const [first] = await audits(world, { limit: 1 });
  const byOrdinal = await audits(world, { limit: 1, before: ordinalOf(first) });
  assert.deepEqual(await audits(world, { limit: 1, before: 'permission-audit-a' }), byOrdinal);
  assert.equal(byOrdinal.length, 1);
});

check('pages together show every audit once, of each kind and of both', async () => {
  await using world = await openAutonomyWorld();
  await start(world);
  for (const name of ['a', 'b', 'c']) await assessed(world, name);
  await candidate(world);
  await startReview(world);
  await completeAssessment(world, 'b');
  await passReview(world);
  const seen: unknown[] = [];
  let before: string | undefined;
  for (;;) {
    const page = await audits(world, { limit: 1, ...(before === undefined ? {} : { before }) });
    if (page.length === 0) break;
    seen.push(page[0]?.['audit_id']);
    before = ordinalOf(page[0]);
  }
  const expected = ['audit-pass', 'permission-audit-b', 'permission-audit-c', 'permission-audit-a'];
  assert.deepEqual(seen, expected);
  assert.deepEqual(shown(await audits(world, { subjectKind: 'result_review' })), [['audit-pass', 'completed']]);
  const permissions = await audits(world, { subjectKind: 'permission_review' });
  assert.deepEqual(
    permissions.map((row) => row['audit_id']),
    expected.slice(1),
  );
  assert.equal((await refusal(audits(world, { before: 'no-such-audit' }))).code, 'INVALID_VALUE');
  assert.equal((await refusal(audits(world, { subjectKind: 'other' }))).code, 'INVALID_VALUE');
  assert.equal((await refusal(audits(world, { limit: 0 }))).code, 'INVALID_VALUE');
});

check('the plan of a page reads no more of the log than the page, whatever the log holds', async () => {
  await using world = await openAutonomyWorld();
  const plan = behind(world, (db) => db.prepare(`EXPLAIN QUERY PLAN ${AUDIT_PAGE}`).all('[]', '[]', 1, 1, 'root'));
  const steps = plan.map((step) => String(step['detail'])).filter((step) => /^(SEARCH|SCAN) [aexy] /.test(step));
  assert.equal(steps.length, 4);
  for (const step of steps)
    assert.match(step, /USING INDEX (auto_mode_audits_by_\w+|sqlite_autoindex_auto_mode_events_1) /);
});
