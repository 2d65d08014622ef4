import { GatewayRefusal, type HoldfastClient } from '../../src/client/index.ts';
import type { Tool } from '../../src/index.ts';
import { noteTool } from '../calls/desk.ts';
import { assert, check, contract } from '../support/index.ts';
import { leapingClock, openWorld, untilRun, type World } from './world.ts';

interface Delivery {
  readonly subject: string;
  readonly roles: readonly string[];
}

/** A tool whose first delivery is interrupted, that may be called by whoever `mayCall` says, and notes for whom it ran. */
function letterTool(delivered: Delivery[], mayCall: (by: Delivery) => boolean): Tool {
  let first = true;
  return noteTool({
    effect: 'idempotent',
    timeoutMs: 1000,
    authorize: (_input, { subject, roles }) => mayCall({ subject, roles }),
    execute: (_input, { principal: { subject, roles } }) => {
      if (first) {
        first = false;
        throw new Error('the line broke');
      }
      delivered.push({ subject, roles });
      return { ok: true };
    },
  });
}

/** The unknown operation of a run that has come to its stand, whose lease is still running. */
async function unknownOperation(robin: HoldfastClient): Promise<string> {
  const { run_id: runId } = await robin.startRun({ task: 'go' });
  await untilRun(robin, runId, 'failed');
  const [operation] = (await robin.listOperations({ open: true })).operations;
  // It is shown as going on as long as its worker may be finishing it.
  assert.equal(operation?.progress, 'in_progress');
  return operation?.status_ref ?? '';
}

async function robinToken({ holdfast, url }: World, roles: readonly ('agent' | 'admin')[]) {
  const { HoldfastClient: Client } = await import('../../src/client/index.ts');
  const { createToken } = await import('../../src/principals/index.ts');
  const { clock, sessions } = holdfast.runtime.calls;
  const issued = await holdfast.runtime.store.write('test.token', (tx) =>
    createToken(tx, { clock, ids: sessions.ids }, { tenantId: 'local', subjectId: 'robin', roles }),
  );
  return { id: issued.token.tokenId, client: new Client({ url, token: issued.text }) };
}

contract(
  'OPS-92',
  'a delivery is judged by what its requester may do, not by the roles of whoever asks for it',
  async (t) => {
    const got: Delivery[] = [];
    const { options: holdfast, pastTheLease } = leapingClock();
    const world = await openWorld(t, { holdfast, tools: [letterTool(got, ({ roles }) => roles.includes('agent'))] });
    const robin = await world.client(['agent'], { subject: 'robin' });
    const ref = await unknownOperation(robin);
    const boss = await world.client(['admin'], { subject: 'boss' });
    const early = await boss.processOperation(ref);
    assert.equal(early.outcome, 'unknown', 'a lease is running');
    assert.match(early.reason ?? '', /lease/);
    assert.deepEqual(got, []);
    pastTheLease();
    assert.equal((await boss.showOperation(ref)).progress, 'unknown');
    const { outcome, reason } = await boss.processOperation(ref);
    assert.deepEqual([outcome, reason], ['done', null]);
    assert.deepEqual(got, [{ subject: 'robin', roles: ['agent'] }]);
  },
);

contract(
  'OPS-92 OPS-96',
  'roles that the requester has lost since, or has lost with its last token, deliver nothing; a denial is not final',
  async (t) => {
    const got: Delivery[] = [];
    const { options: holdfast, pastTheLease } = leapingClock();
    const world = await openWorld(t, { holdfast, tools: [letterTool(got, ({ roles }) => roles.includes('admin'))] });
    const robin = await robinToken(world, ['agent', 'admin']);
    const ref = await unknownOperation(robin.client);
    const boss = await world.client(['admin'], { subject: 'boss' });
    pastTheLease();
    const refused = async (message: RegExp): Promise<void> => {
      const answer = await boss.processOperation(ref).catch((error: unknown) => error);
      assert.ok(answer instanceof GatewayRefusal);
      assert.deepEqual([answer.code, answer.status], ['CALL_NOT_AUTHORIZED', 403]);
      assert.match(answer.message, message);
    };
    await boss.revokeToken(robin.id);
    await refused(/no token any more/);
    await robinToken(world, ['agent']);
    await refused(/You may not call take_note/);
    assert.equal((await boss.showOperation(ref)).outcome, 'unknown');
    assert.deepEqual(got, []);
    await robinToken(world, ['admin']);
    assert.equal((await boss.processOperation(ref)).outcome, 'done');
    assert.deepEqual(got, [{ subject: 'robin', roles: ['agent', 'admin'] }]);
  },
);

check('a call that was approved runs only if whoever began the run may still make it', async (t) => {
  const done: unknown[] = [];
  const tool = noteTool({
    needsApproval: true,
    authorize: (_input, { roles }) => roles.includes('admin'),
    execute: (input) => ({ n: done.push(input) }),
  });
  const world = await openWorld(t, { tools: [tool] });
  const approver = await world.client(['approver']);
  const approved = async (lose: (boss: HoldfastClient, tokenId: string) => Promise<unknown>) => {
    const robin = await robinToken(world, ['agent', 'admin']);
    const { run_id: runId } = await robin.client.startRun({ task: 'go' });
    const { pending } = await untilRun(robin.client, runId, 'waiting_confirmation');
    await lose(await world.client(['admin'], { subject: 'boss' }), robin.id);
    const { digest } = await approver.showApproval(pending[0] ?? '');
    await approver.decide(pending[0] ?? '', { decision: 'approve', digest });
    return (await untilRun(approver, runId, 'completed')).calls[0];
  };
  const gone = await approved((boss, id) => boss.revokeToken(id));
  assert.deepEqual([gone?.outcome, gone && 'code' in gone && gone.code], ['not_started', 'CALL_NOT_AUTHORIZED']);
  const less = await approved(async (boss, id) => {
    await robinToken(world, ['agent']);
    await boss.revokeToken(id);
  });
  assert.deepEqual([less?.outcome, done], ['not_started', []]);
  assert.equal((await approved(async () => undefined))?.outcome, 'done');
});

check('a run that is resumed sends nothing again for whoever may not make the call any more', async (t) => {
  const got: Delivery[] = [];
  const { options: holdfast, pastTheLease } = leapingClock();
  const world = await openWorld(t, { holdfast, tools: [letterTool(got, ({ roles }) => roles.includes('admin'))] });
  const robin = await robinToken(world, ['agent', 'admin']);
  const ref = await unknownOperation(robin.client);
  const boss = await world.client(['admin'], { subject: 'boss' });
  const { runs, principal } = world.holdfast.runtime;
  const [run] = (await boss.listRuns()).runs;
  pastTheLease();
  const resumed = async (): Promise<string> => {
    await (await runs.resume(principal, run?.run_id ?? '')).ended;
    return `${(await boss.showRun(run?.run_id ?? '')).status}, ${(await boss.showOperation(ref)).outcome}`;
  };
  await boss.revokeToken(robin.id);
  assert.equal(await resumed(), 'failed, unknown');
  await robinToken(world, ['agent']);
  assert.equal(await resumed(), 'failed, unknown');
  assert.deepEqual(got, []);
  await robinToken(world, ['admin']);
  assert.equal(await resumed(), 'completed, done');
  assert.equal(got.length, 1);
});
