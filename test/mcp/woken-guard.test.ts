import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { viewOfRun } from '../../src/app/index.ts';
import { assert, check, movedClock } from '../support/index.ts';
import { elsewhere, type GuardWorld, guardWorld, OPEN_POLICY, outcomeOf, textOf } from './guard-world.ts';

const PROGRAM = join(import.meta.dirname, 'recovering-program.ts');
/** Longer than the lease of a guard, and than that of a call. */
const SLEPT_MS = 3_600_000;

/** A process of its own, for which the guard has slept so long, lets go of what the guard had; answers the run. */
async function takenForDead({ dataDir }: GuardWorld): Promise<string> {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, dataDir, String(SLEPT_MS)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const [runId, ...others] = JSON.parse(stdout) as string[];
  assert.ok(runId !== undefined && others.length === 0, 'the one run of the guard was let go of');
  return runId;
}

/** What the ledger says was sent, by run and in the order of the runs, with the state in which each run is. */
const ledgerOf = ({ dataDir }: GuardWorld) =>
  inDatabase(dataDir, (db) =>
    db
      .prepare(
        `SELECT t.status, group_concat(o.arguments_json, ' ' ORDER BY c.sequence) AS sent FROM traces t
         LEFT JOIN effect_records c ON c.run_id = t.trace_id AND c.type = 'claim'
         LEFT JOIN operations o ON o.status_ref = c.operation_id GROUP BY t.trace_id ORDER BY t.trace_id`,
      )
      .all()
      .map(({ status, sent }) => [status, sent]),
  );

function inDatabase<T>(dataDir: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const told = /was taken for one of a dead process/g;
const statesOf = (world: GuardWorld, runId: string) =>
  elsewhere(world.dataDir, async ({ runtime }) => {
    const { status, calls } = await viewOfRun(runtime, runtime.principal, runId);
    return [status, ...calls.map(({ outcome }) => outcome?.state ?? null)];
  });

check(
  'a guard that was taken for dead goes on in a run of its own, and writes nothing more under the other',
  async (t) => {
    const world = await guardWorld(t);
    await world.call('write', { a: 1 }, 1);
    await takenForDead(world);
    world.send({ id: 2, method: 'tools/call', params: { name: 'write', arguments: { a: 2 } } });
    world.send({ id: 3, method: 'tools/call', params: { name: 'write', arguments: { a: 3 } } });
    for (const answer of [await world.next(), await world.next()]) assert.equal(outcomeOf(answer), undefined);
    await world.call('read', {}, 4);
    const [before, after, ...more] = ledgerOf(world);
    assert.deepEqual(more, [], 'one run was begun, whoever asked for it');
    assert.deepEqual(before, ['stopped', '{"a":1}']);
    assert.deepEqual([after?.[0], String(after?.[1]).split(' ').toSorted()], ['running', ['{"a":2}', '{"a":3}']]);
    assert.deepEqual(world.effects().length, 3, 'what the server did is what the ledger says');
    assert.equal(world.errors().match(told)?.length, 1, 'it is said once');
    assert.equal(await world.end(), 0);
    assert.deepEqual(
      ledgerOf(world).map(([status]) => status),
      ['stopped', 'completed'],
    );
    await elsewhere(world.dataDir, async ({ runtime }) =>
      assert.deepEqual([runtime.reconciled, (await runtime.operations.audit()).passed], [[], true]),
    );
  },
);

check('the run that goes on is held by a living process: nobody lets go of it', async (t) => {
  const world = await guardWorld(t);
  await takenForDead(world);
  await world.call('write', { a: 1 }, 1);
  await elsewhere(world.dataDir, async ({ runtime }) => assert.deepEqual(runtime.reconciled, []));
  await world.call('write', { a: 2 }, 2);
  assert.deepEqual(ledgerOf(world), [
    ['stopped', null],
    ['running', '{"a":1} {"a":2}'],
  ]);
});

check('what was under way when its guard was taken for dead is unknown until it is known', async (t) => {
  const world = await guardWorld(t);
  const hangs = { name: 'hangs', arguments: { a: 0 } };
  world.send({ id: 0, method: 'tools/call', params: hangs });
  world.send({ id: 1, method: 'tools/call', params: { name: 'gathers', arguments: { of: 2, a: 1 } } });
  while (world.effects().length < 2) await pause(5);
  const runId = await takenForDead(world);
  assert.deepEqual((await statesOf(world, runId)).slice(0, 1), ['stopped']);
  const unknown = await world.next();
  assert.deepEqual([unknown.id, outcomeOf(unknown)?.outcome], [0, 'unknown'], textOf(unknown));
  assert.deepEqual(await statesOf(world, runId), ['stopped', 'unknown', 'unknown']);
  world.send({ id: 2, method: 'tools/call', params: { name: 'gathers', arguments: { of: 2, a: 2 } } });
  const answers = [await world.next(), await world.next()];
  assert.deepEqual(new Set(answers.map(({ id }) => id)), new Set([1, 2]));
  for (const answer of answers) assert.equal(outcomeOf(answer), undefined, 'the server answered');
  assert.deepEqual(await statesOf(world, runId), ['stopped', 'unknown', 'done']);
  assert.deepEqual(ledgerOf(world).at(1), ['running', '{"a":2,"of":2}']);
  assert.equal(world.effects().length, 3);
});

/** Every write waits for a person, for a day. */
const HOLDING = { ...OPEN_POLICY, hold_seconds: 86_400, rules: [] };

/** Decides everything that waits. */
const approveAll = (world: GuardWorld): Promise<number> =>
  elsewhere(world.dataDir, async ({ runtime: { approvals, principal } }) => {
    const { items } = await approvals.pending(principal);
    for (const { requestId, digest } of items)
      await approvals.decide(principal, [{ requestId, digest, decision: 'approve' }]);
    return items.length;
  });

check(
  'a call that waited when its guard was taken for dead is refused by a code, and asks anew when it is called again',
  async (t) => {
    const world = await guardWorld(t, { waitMs: 0, policy: HOLDING });
    const ask = async () => outcomeOf(await world.call('write', { a: 1 }))?.code;
    assert.equal(await ask(), 'APPROVAL_PENDING');
    await takenForDead(world);
    assert.equal(await approveAll(world), 0, 'it was taken back');
    assert.equal(await ask(), 'APPROVAL_REVOKED');
    assert.equal(await ask(), 'APPROVAL_PENDING');
    assert.equal(await approveAll(world), 1);
    assert.equal(await ask(), undefined);
    assert.deepEqual(ledgerOf(world), [
      ['stopped', null],
      ['running', '{"a":1}'],
    ]);
    assert.equal(world.effects().length, 1);
  },
);

check('a permission that was given before its guard slept holds for nothing that begins after it woke', async (t) => {
  const clock = movedClock();
  const world = await guardWorld(t, { waitMs: 0, clock, policy: HOLDING });
  const ask = async () => outcomeOf(await world.call('write', { a: 1 }))?.code;
  assert.equal(await ask(), 'APPROVAL_PENDING');
  assert.equal(await approveAll(world), 1);
  clock.advance(SLEPT_MS);
  assert.equal(await ask(), 'APPROVAL_PENDING', 'nobody else has looked yet, and it asks anew all the same');
  assert.deepEqual(world.effects(), []);
  assert.deepEqual(
    ledgerOf(world).map(([status]) => status),
    ['stopped', 'running'],
  );
  assert.equal(await approveAll(world), 1);
  assert.equal(await ask(), undefined);
  assert.equal(world.effects().length, 1);
  assert.equal(await world.end(), 0);
});

check('a run that a person asked to stop is stopped, also where its guard was taken for dead after that', async (t) => {
  const world = await guardWorld(t);
  await world.call('write', { a: 1 }, 1);
  await elsewhere(world.dataDir, async ({ runtime: { runs, principal } }) => {
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    await runs.stop(principal, run?.runId ?? '');
  });
  await takenForDead(world);
  assert.equal(outcomeOf(await world.call('write', { a: 2 }, 2))?.code, 'CALL_SKIPPED');
  assert.equal(world.effects().length, 1);
  assert.deepEqual(ledgerOf(world), [['stopped', '{"a":1}']]);
});

const stopAsked = ({ dataDir }: GuardWorld) =>
  inDatabase(dataDir, (db) => db.prepare(`SELECT reference FROM feed WHERE kind = 'run.stop_requested'`).all());

check('a person who asks to stop a run that was let go of while its guard slept stops that guard', async (t) => {
  const world = await guardWorld(t, { waitMs: 0, policy: { ...OPEN_POLICY, rules: [OPEN_POLICY.rules[1]] } });
  await world.call('write', { a: 1 }, 1);
  assert.equal(outcomeOf(await world.call('read', {}, 2))?.code, 'APPROVAL_PENDING');
  const runId = await takenForDead(world);
  for (const _time of ['once', 'again'])
    await elsewhere(world.dataDir, async ({ runtime: { runs, principal } }) => {
      const { state, stopRequested } = await runs.stop(principal, runId);
      assert.deepEqual([state.status, stopRequested], ['stopped', true]);
    });
  assert.deepEqual(
    stopAsked(world).map(({ reference }) => reference),
    [runId],
    'it is told once',
  );
  assert.equal(outcomeOf(await world.call('write', { a: 2 }, 3))?.code, 'CALL_SKIPPED');
  assert.equal(outcomeOf(await world.call('read', {}, 4))?.outcome, 'not_started', 'nor what had waited');
  assert.deepEqual(ledgerOf(world), [['stopped', '{"a":1}']]);
  assert.equal(world.effects().length, 1);
  assert.equal(await world.end(), 0);
});

check('a stop that is asked for while its guard wakes is kept, too', async (t) => {
  const world = await guardWorld(t);
  await world.call('write', { a: 1 }, 1);
  const runId = await takenForDead(world);
  inDatabase(world.dataDir, (db) =>
    db.exec(`CREATE TRIGGER meanwhile AFTER INSERT ON instances
      BEGIN UPDATE traces SET stop_requested_at = updated_at WHERE trace_id = '${runId}'; END`),
  );
  assert.equal(outcomeOf(await world.call('write', { a: 2 }, 2))?.code, 'CALL_SKIPPED');
  assert.equal(outcomeOf(await world.call('write', { a: 3 }, 3))?.code, 'CALL_SKIPPED');
  assert.deepEqual(ledgerOf(world), [['stopped', '{"a":1}']]);
  assert.doesNotMatch(world.errors(), told);
  assert.equal(await world.end(), 0);
});

check('to ask for the stop of a run that ended by itself, or of an agent, changes nothing', async (t) => {
  const world = await guardWorld(t);
  await world.call('write', { a: 1 }, 1);
  assert.equal(await world.end(), 0);
  await elsewhere(world.dataDir, async (holdfast) => {
    const { runs, principal } = holdfast.runtime;
    const [run] = (await runs.list(principal, { limit: 1 })).items;
    assert.ok(run);
    assert.deepEqual(await runs.stop(principal, run.runId), run);
    const { id } = await holdfast.agent({ model: () => 'done' }).run('go');
    inDatabase(world.dataDir, (db) => db.exec(`UPDATE traces SET status = 'stopped' WHERE trace_id = '${id}'`));
    assert.equal((await runs.stop(principal, id)).stopRequested, false);
  });
  assert.deepEqual(stopAsked(world), []);
});

check(
  'a call that repeats a key from before is answered as before, and written down in the run that goes on',
  async (t) => {
    const world = await guardWorld(t);
    const keyed = (id: number) =>
      world.call('write', { a: 1 }, id, { _meta: { 'holdfast/idempotency_key': 'order-7' } });
    await keyed(1);
    const runId = await takenForDead(world);
    assert.match(textOf(await keyed(2)), /written/);
    assert.equal(await world.end(), 0);
    assert.equal(world.effects().length, 1);
    assert.deepEqual(await statesOf(world, runId), ['stopped', 'done']);
  },
);

check('while no run can be begun nothing is sent, and the call after that begins one', async (t) => {
  const world = await guardWorld(t);
  await takenForDead(world);
  inDatabase(world.dataDir, (db) =>
    db.exec(`CREATE TRIGGER no_more BEFORE INSERT ON instances BEGIN SELECT RAISE(ABORT, 'no room'); END`),
  );
  assert.equal(outcomeOf(await world.call('write', { a: 1 }, 1))?.outcome, 'not_started');
  assert.deepEqual(world.effects(), []);
  inDatabase(world.dataDir, (db) => db.exec('DROP TRIGGER no_more'));
  assert.equal(outcomeOf(await world.call('write', { a: 2 }, 2)), undefined);
  assert.deepEqual(ledgerOf(world), [
    ['stopped', null],
    ['running', '{"a":2}'],
  ]);
});

check('where each run is taken at once, the call is refused by a code', async (t) => {
  const world = await guardWorld(t);
  await takenForDead(world);
  inDatabase(world.dataDir, (db) =>
    db.exec(`CREATE TRIGGER taken AFTER INSERT ON instances
      BEGIN UPDATE instances SET lease_until_ms = started_at_ms WHERE instance_id = new.instance_id; END`),
  );
  const answer = await world.call('write', { a: 1 }, 1);
  assert.deepEqual([outcomeOf(answer)?.outcome, outcomeOf(answer)?.code], ['not_started', 'RUN_NOT_OWNED']);
  assert.deepEqual(world.effects(), []);
});
