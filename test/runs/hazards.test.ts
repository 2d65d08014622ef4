// Hazards of approvals in composed runs, one row each: what goes wrong, what is answered, and that nothing ran for it.
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { Holdfast, type HoldfastOptions, type ModelFunction, type Run, tool } from '../../src/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

/** One runtime beside another on the same folder: the second actor, with its own connections and instance. */
interface World {
  readonly run: Run;
  readonly here: Holdfast;
  readonly there: Holdfast;
  readonly dataDir: string;
  ran(): number;
  wait(ms: number): void;
  /** Decides the first request, as it was shown at the beginning. */
  decide(by: Holdfast, said?: object, digest?: string): Promise<unknown>;
  edit(sql: string): void;
}

const schema = z.strictObject({ note: z.string().max(20), count: z.number().int() });
const model: ModelFunction = ({ messages }) =>
  messages.some((message) => message.role === 'assistant')
    ? `told: ${messages.at(-1)?.text ?? ''}`
    : { calls: [{ callId: 'c1', toolName: 'send', arguments: { note: 'a', count: 1 } }] };

async function worldOf(t: TestContext, options: HoldfastOptions = {}): Promise<World> {
  const dataDir = join(await temporaryFolder(t), 'data');
  let laterMs = 0;
  let ran = 0;
  const clock = { nowMs: () => Date.now() + laterMs };
  const sending = () =>
    tool({
      name: 'send',
      description: 'Sends.',
      inputSchema: schema,
      effect: 'once',
      needsApproval: true,
      editable: ['note'],
      execute: () => ({ ran: (ran += 1) }),
    });
  const open = () => Holdfast.open({ clock, ...options, dataDir });
  const here = await open();
  const there = await open();
  t.after(() => Promise.all([here.close(), there.close()]));
  there.agent({ model, tools: [sending()] });
  const run = await here.agent({ model, tools: [sending()] }).run('go');
  const [request] = run.pending;
  assert.ok(request);
  const { requestId } = request;
  return {
    run,
    here,
    there,
    dataDir,
    ran: () => ran,
    wait: (ms) => void (laterMs += ms),
    decide: ({ runtime }, said = { decision: 'approve' }, digest = request.digest) =>
      runtime.approvals.decide(runtime.principal, [{ requestId, digest, decision: 'approve', ...said }]),
    edit(sql) {
      const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
      db.exec(sql);
      db.close();
    },
  };
}

const stopIt = ({ run, there }: World) => there.runtime.runs.stop(there.runtime.principal, run.id);
const DAY_MS = 25 * 3_600_000;
const edited = (note: unknown, count: unknown = 1) => ({ editedArguments: { note, count } });
const elsewhere = ({ there }: World, principal: object) => {
  const { approvals, principal: own } = there.runtime;
  return { approvals, principal: { ...own, ...principal } };
};
async function decideAs(world: World, principal: object): Promise<unknown> {
  const { approvals, principal: who } = elsewhere(world, principal);
  const [request] = world.run.pending;
  const said = { requestId: request?.requestId ?? '', digest: request?.digest ?? '', decision: 'approve' } as const;
  return approvals.decide(who, [said]);
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
  ['decide a stopped run', 'APPROVAL_ALREADY_DECIDED', async (w) => (await stopIt(w), w.decide(w.here))],
  [
    'decide a stopped run from elsewhere',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (await w.run.stop(), w.decide(w.there)),
  ],
  ['resume a stopped run', 'RUN_ENDED', async (w) => (await stopIt(w), w.run.resume())],
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
  ['decide after the time was over', 'APPROVAL_EXPIRED', (w) => (w.wait(DAY_MS), w.decide(w.here))],
  ['decide elsewhere after the time was over', 'APPROVAL_EXPIRED', (w) => (w.wait(DAY_MS), w.decide(w.there))],
  [
    'decide after the sweep',
    'APPROVAL_ALREADY_DECIDED',
    async (w) => (w.wait(DAY_MS), await w.there.runtime.approvals.sweep(), w.decide(w.here)),
  ],
  ['decide as another tenant', 'APPROVAL_NOT_FOUND', (w) => decideAs(w, { tenant: 'other' })],
  ['decide without the role', 'APPROVER_NOT_ALLOWED', (w) => decideAs(w, { roles: [] })],
  [
    'resume as another tenant',
    'RUN_NOT_FOUND',
    ({ there, run }) => there.runtime.runs.resume({ ...there.runtime.principal, tenant: 'other' }, run.id),
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

for (const [what, code, act] of HAZARDS)
  check(`hazard: ${what} is ${code}, and nothing ran`, async (t) => {
    const world = await worldOf(t);
    await assert.rejects(async () => act(world), { code });
    assert.equal(world.ran(), 0);
  });

check('hazards that are no refusals: late use, a stop during a decision, resuming undecided and twice', async (t) => {
  const late = await worldOf(t);
  await late.decide(late.there);
  late.wait(DAY_MS);
  await late.run.resume();
  assert.equal(late.ran(), 0, 'a permission whose time is over is not used');
  const stopped = await worldOf(t);
  await Promise.allSettled([stopped.decide(stopped.here), stopIt(stopped)]);
  await assert.rejects(stopped.run.resume(), { code: 'RUN_ENDED' });
  assert.equal(stopped.ran(), 0, 'a decision during a stop runs nothing');
  const undecided = await worldOf(t);
  await undecided.run.resume();
  assert.equal(undecided.run.status, 'waiting_confirmation');
  assert.equal(undecided.ran(), 0);
  await undecided.decide(undecided.there);
  const { principal } = undecided.here.runtime;
  const both = [undecided.here, undecided.there].map(
    async ({ runtime }) => (await runtime.runs.resume(principal, undecided.run.id)).ended,
  );
  await Promise.allSettled(both);
  assert.equal(undecided.ran(), 1, 'two that resume at once make the call once');
});
