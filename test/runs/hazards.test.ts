// Hazards of approvals in composed runs, one row each: what goes wrong, what is answered, and that nothing ran for it. Each
// three times: with a second actor that is another instance, with one that is another OS process, and with that process
// in the place of the one that began the run.
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { Holdfast, type Run } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { newDataFolder } from '../support/new-database.ts';
import { type Actor, actorHere, OtherProcess } from './elsewhere.ts';
import { ACTOR_OPTIONS, PAST_APPROVAL_MS, sendingAgent } from './hazard-agent.ts';

const otherProcess = new OtherProcess();
after(() => otherProcess.close());

const SECOND_ACTORS = ['another instance', 'another process', 'another process in the first place'] as const;
type SecondActor = (typeof SECOND_ACTORS)[number];

interface World {
  readonly run: Run;
  readonly here: Actor;
  readonly there: Actor;
  readonly dataDir: string;
  /** How often the call was carried out, wherever. */
  ran(): Promise<number>;
  wait(ms: number): void;
  /** Decides the first request, as it was shown at the beginning. */
  decide(by: Actor, said?: object, digest?: string): Promise<unknown>;
  edit(sql: string): void;
  /** Another run of the same agent, whose model uses its call id again. */
  again(): Promise<Run>;
}

async function worldOf(t: TestContext, second: SecondActor): Promise<World> {
  const dataDir = await newDataFolder(join(await temporaryFolder(t), 'data'));
  let laterMs = 0;
  const clock = { nowMs: () => Date.now() + laterMs };
  const counters: (() => number)[] = [];
  const open = async (): Promise<Holdfast> => {
    const holdfast = await Holdfast.open({ ...ACTOR_OPTIONS, clock, dataDir });
    t.after(() => holdfast.close());
    return holdfast;
  };
  const defined = (holdfast: Holdfast) => {
    const { agent, ran } = sendingAgent();
    counters.push(ran);
    return holdfast.agent(agent);
  };
  const mine = await open();
  const agent = defined(mine);
  const run = await agent.run('go');
  const [request] = run.pending;
  assert.ok(request);
  const { requestId } = request;
  const [here, there] = await actors();
  async function actors(): Promise<readonly [Actor, Actor]> {
    const first = actorHere(mine);
    if (second === 'another instance') {
      const beside = await open();
      defined(beside);
      return [first, actorHere(beside)];
    }
    const away = otherProcess.actor(dataDir, first.principal, () => laterMs);
    t.after(() => otherProcess.order({ dataDir, act: 'close', laterMs }));
    return second === 'another process' ? [first, away] : [away, first];
  }
  return {
    run,
    here,
    there,
    dataDir,
    async ran() {
      const elsewhere = second === 'another instance' ? 0 : await otherProcess.order({ dataDir, act: 'ran', laterMs });
      return counters.reduce((sum, count) => sum + count(), Number(elsewhere));
    },
    wait: (ms) => void (laterMs += ms),
    decide: (by, said = { decision: 'approve' }, digest = request.digest) =>
      by.decide(by.principal, [{ requestId, digest, decision: 'approve', ...said }]),
    again: () => agent.run('go', { rootFrameId: run.view.sessionId }),
    edit(sql) {
      const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
      db.exec(sql);
      db.close();
    },
  };
}

const stopIt = ({ run }: World, by: Actor) => by.stop(by.principal, run.id);
const edited = (note: unknown, count: unknown = 1) => ({ editedArguments: { note, count } });
async function decideAs({ run, there }: World, principal: object): Promise<unknown> {
  const [request] = run.pending;
  const said = { requestId: request?.requestId ?? '', digest: request?.digest ?? '', decision: 'approve' } as const;
  return there.decide({ ...there.principal, ...principal }, [said]);
}

type Hazard = readonly [what: string, code: string, act: (world: World) => Promise<unknown>];
const HAZARDS: readonly Hazard[] = [
  ['approve twice', 'APPROVAL_ALREADY_DECIDED', async (w) => (await w.decide(w.here), w.decide(w.here))],
  [
    'approve twice, from two instances',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await w.decide(w.here), w.decide(w.there)),
  ],
  [
    'approve what was rejected elsewhere',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await w.decide(w.there, { decision: 'reject' }), w.decide(w.here)),
  ],
  [
    'reject what was approved elsewhere',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await w.decide(w.there), w.decide(w.here, { decision: 'reject' })),
  ],
  ['decide a stopped run', 'APPROVAL_ALREADY_DECIDED', async (w) => (await stopIt(w, w.there), w.decide(w.here))],
  [
    'decide a stopped run from elsewhere',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await stopIt(w, w.here), w.decide(w.there)),
  ],
  [
    'resume a stopped run',
    'RUN_ENDED',
    async (w) => (await stopIt(w, w.there), w.here.resume(w.here.principal, w.run.id)),
  ],
  ['decide with the digest of something else', 'APPROVAL_DIGEST_MISMATCH', (w) => w.decide(w.here, {}, 'f'.repeat(64))],
  [
    'decide elsewhere with the digest of something else',
    'APPROVAL_DIGEST_MISMATCH',
    (w) => w.decide(w.there, {}, '0'.repeat(64)),
  ],
  ['decide what does not exist', 'APPROVAL_NOT_FOUND', (w) => w.decide(w.here, { requestId: 'f'.repeat(32) })],
  ['edit to a value outside the schema', 'APPROVAL_ARGUMENTS_INVALID', (w) => w.decide(w.here, edited('x'.repeat(21)))],
  ['edit to a value outside the schema, elsewhere', 'APPROVAL_ARGUMENTS_INVALID', (w) => w.decide(w.there, edited(7))],
  ['edit a field that may not be edited', 'APPROVAL_EDIT_FORBIDDEN', (w) => w.decide(w.here, edited('b', 2))],
  [
    'edit a field in',
    'APPROVAL_EDIT_FORBIDDEN',
    (w) => w.decide(w.here, { editedArguments: { note: 'b', count: 1, all: 1 } }),
  ],
  ['edit a field away', 'APPROVAL_EDIT_FORBIDDEN', (w) => w.decide(w.there, { editedArguments: { note: 'b' } })],
  ['edit with a rejection', 'INVALID_VALUE', (w) => w.decide(w.here, { decision: 'reject', ...edited('b') })],
  [
    'approve the request that an edit superseded',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await w.decide(w.there, edited('b')), w.decide(w.here)),
  ],
  ['decide after the time was over', 'APPROVAL_EXPIRED', (w) => (w.wait(PAST_APPROVAL_MS), w.decide(w.here))],
  [
    'decide elsewhere after the time was over',
    'APPROVAL_EXPIRED',
    (w) => (w.wait(PAST_APPROVAL_MS), w.decide(w.there)),
  ],
  [
    'decide after the sweep',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (w.wait(PAST_APPROVAL_MS), await w.there.sweep(), w.decide(w.here)),
  ],
  ['decide as another tenant', 'APPROVAL_NOT_FOUND', (w) => decideAs(w, { tenant: 'other' })],
  ['decide without the role', 'APPROVER_NOT_ALLOWED', (w) => decideAs(w, { roles: [] })],
  [
    'resume as another tenant',
    'RUN_NOT_FOUND',
    ({ there, run }) => there.resume({ ...there.principal, tenant: 'other' }, run.id),
  ],
  [
    'resume where the agent is not defined',
    'AGENT_UNKNOWN',
    async ({ dataDir, run }) => {
      await using other = await Holdfast.open({ dataDir });
      return await other.runtime.runs.resume(other.runtime.principal, run.id);
    },
  ],
  [
    'decide a request whose stored arguments were edited',
    'APPROVAL_CORRUPT',
    (w) => {
      w.edit(`DROP TRIGGER trg_permission_action_immutable;
      UPDATE permission_requests SET canonical_arguments = '{"count":1,"note":"z"}'`);
      return w.decide(w.there);
    },
  ],
  [
    'approve two at once from two instances',
    'APPROVAL_ALREADY_DECIDED',
    (w) => Promise.all([w.decide(w.here), w.decide(w.there)]),
  ],
];

for (const second of SECOND_ACTORS)
  for (const [what, code, act] of HAZARDS)
    check(`hazard with ${second}: ${what} is ${code}, and nothing ran`, async (t) => {
      const world = await worldOf(t, second);
      await assert.rejects(async () => act(world), { code });
      assert.equal(await world.ran(), 0);
    });

for (const second of SECOND_ACTORS)
  check(`hazards with ${second} that are no refusals: late use, a stop during a decision, resuming`, async (t) => {
    const late = await worldOf(t, second);
    await late.decide(late.there);
    late.wait(PAST_APPROVAL_MS);
    await late.here.resume(late.here.principal, late.run.id);
    assert.equal(await late.ran(), 0, 'a permission whose time is over is not used');
    const stopped = await worldOf(t, second);
    await Promise.allSettled([stopped.decide(stopped.here), stopIt(stopped, stopped.there)]);
    await assert.rejects(stopped.here.resume(stopped.here.principal, stopped.run.id), { code: 'RUN_ENDED' });
    assert.equal(await stopped.ran(), 0, 'a decision during a stop runs nothing');
    const expiring = await worldOf(t, second);
    expiring.wait(PAST_APPROVAL_MS);
    await Promise.allSettled([expiring.here.sweep(), expiring.decide(expiring.there)]);
    await expiring.here.resume(expiring.here.principal, expiring.run.id);
    assert.equal(await expiring.ran(), 0, 'a decision while it expires runs nothing');
    const undecided = await worldOf(t, second);
    assert.ok(await undecided.there.resume(undecided.there.principal, undecided.run.id));
    assert.equal((await undecided.run.refresh()).status, 'waiting_confirmation');
    assert.equal(await undecided.ran(), 0);
    await undecided.decide(undecided.there);
    const both = [undecided.here, undecided.there].map((by) => by.resume(by.principal, undecided.run.id));
    await Promise.allSettled(both);
    assert.equal(await undecided.ran(), 1, 'two that resume at once make the call once');
  });

for (const second of SECOND_ACTORS)
  check(`hazards with ${second}: a decision for an older call never reaches a newer one`, async (t) => {
    const world = await worldOf(t, second);
    await world.decide(world.there, { decision: 'reject' });
    await world.here.resume(world.here.principal, world.run.id);
    assert.equal((await world.run.refresh()).status, 'completed');
    const next = await world.again();
    assert.equal(next.pending.length, 1);
    await assert.rejects(world.decide(world.there), { code: 'APPROVAL_ALREADY_DECIDED' });
    const [request] = next.pending;
    const crossed = { requestId: request?.requestId ?? '', digest: world.run.pending[0]?.digest ?? 'f'.repeat(64) };
    await assert.rejects(world.there.decide(world.there.principal, [{ ...crossed, decision: 'approve' }]), {
      code: 'APPROVAL_DIGEST_MISMATCH',
    });
    assert.equal((await next.refresh()).status, 'waiting_confirmation');
    assert.equal(await world.ran(), 0);
  });
