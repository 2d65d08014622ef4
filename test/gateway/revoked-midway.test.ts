import { type GatewayRefusal, HoldfastClient } from '../../src/client/index.ts';
import { assert, check } from '../support/index.ts';
import { exported, sendBytes, sessionWithWorkspace, staged } from './package-world.ts';
import { openWorld, untilRun, type World } from './world.ts';

/** A world in which one can wait until a request's token was looked at. */
async function watchedWorld(t: Parameters<typeof openWorld>[0]) {
  let looked = (): void => undefined;
  const observer = (event: { readonly kind: string; readonly name?: string }): void => {
    if (event.kind === 'statement' && event.name === 'gateway.token') looked();
  };
  const world = await openWorld(t, { holdfast: { observer } });
  const admin = await world.client(['admin']);
  /** The body, of which the second half comes once the token was good for the first, and is revoked since. */
  const halved = (body: Buffer, tokenId: string): ReadableStream<Uint8Array> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    looked = resolve;
    const halves = [body.subarray(0, 2), body.subarray(2)].map((half) => Uint8Array.from(half));
    return new ReadableStream({
      async pull(controller) {
        const half = halves.shift();
        if (half === undefined) return controller.close();
        if (halves.length === 0) {
          await promise;
          looked = () => undefined;
          await admin.revokeToken(tokenId);
        }
        controller.enqueue(half);
      },
    });
  };
  return { world, admin, halved };
}

check('a token that is revoked while the body of its decision comes decides nothing', async (t) => {
  const { world, admin, halved } = await watchedWorld(t);
  const agent = await world.client(['agent'], { subject: 'worker' });
  const { token, token_id } = await admin.createToken({ subject: 'boss', roles: ['approver'], expires_at: null });
  const { run_id } = await agent.startRun({ task: 'go' });
  await untilRun(agent, run_id, 'waiting_confirmation');
  const [request] = (await admin.listApprovals({ which: 'pending' })).requests;
  assert.ok(request);
  const body = Buffer.from(JSON.stringify({ decision: 'approve', digest: request.digest }));
  const path = `/api/v1/approvals/${request.decision_id}/decision`;
  const headers = { 'content-type': 'application/json' };
  const said = await sendBytes(world, path, token ?? '', halved(body, token_id), headers);
  assert.deepEqual([said.status, said.code], [401, 'TOKEN_INVALID']);
  assert.equal((await admin.showApproval(request.decision_id)).status, 'pending');
});

check('and one that is revoked while its package comes imports nothing', async (t) => {
  const { world, admin, halved } = await watchedWorld(t);
  const { root } = await sessionWithWorkspace(world, { 'a.txt': 'x' });
  const { bytes } = await exported(world, root, await world.token(['agent']));
  const { token, token_id } = await admin.createToken({ subject: 'mover', roles: ['agent'], expires_at: null });
  const said = await sendBytes(world, '/api/v1/sessions/import', token ?? '', halved(bytes, token_id));
  assert.deepEqual([said.status, said.code], [401, 'TOKEN_INVALID']);
  assert.equal((await admin.listSessions()).sessions.length, 1);
});

check('nor is a package given to one that was revoked while its export waited for whoever writes', async (t) => {
  const { world, admin } = await watchedWorld(t);
  const { root } = await sessionWithWorkspace(world, { 'a.txt': 'x' });
  const { token, token_id } = await admin.createToken({ subject: 'taker', roles: ['agent'], expires_at: null });
  const { histories, principal } = world.holdfast.runtime;
  const asked = await histories.pen.hold(principal, root, { owner: 'run', reason: 'run' }, async () => {
    const answer = exported(world, root, token ?? '');
    while (!(await isQueued(world))) await new Promise((settle) => setTimeout(settle, 10));
    await admin.revokeToken(token_id);
    return { answer };
  });
  const { status, bytes } = await asked.answer;
  assert.deepEqual([status, bytes.toString().includes('TOKEN_INVALID')], [401, true]);
  assert.deepEqual(staged(world), []);
  assert.equal((await exported(world, root, await world.token(['agent']))).status, 200);
});

/** Whether somebody waits for the pen of a session. */
async function isQueued({ holdfast }: World): Promise<boolean> {
  const row = await holdfast.runtime.store.read('test.queued', (tx) =>
    tx.get("SELECT 1 FROM session_tickets WHERE state = 'queued'"),
  );
  return row !== undefined;
}

check('nor is a session removed, or a checkpoint of it made, by one that was revoked while it waited', async (t) => {
  const { world, admin } = await watchedWorld(t);
  const { root } = await sessionWithWorkspace(world, { 'a.txt': 'x' });
  const { histories, principal } = world.holdfast.runtime;
  const checkpoints = async () => (await admin.listCheckpoints(root)).checkpoints.length;
  const before = await checkpoints();
  const whileWaiting = async (ask: (client: HoldfastClient) => Promise<unknown>) => {
    const { token, token_id } = await admin.createToken({ subject: 'late', roles: ['admin'], expires_at: null });
    const late = new HoldfastClient({ url: world.url, token: token ?? '' });
    const asked = await histories.pen.hold(principal, root, { owner: 'run', reason: 'run' }, async () => {
      const answer = ask(late).then(
        () => 'done',
        (error: GatewayRefusal) => error.code,
      );
      while (!(await isQueued(world))) await new Promise((settle) => setTimeout(settle, 10));
      await admin.revokeToken(token_id);
      return { answer };
    });
    return asked.answer;
  };
  assert.equal(await whileWaiting((client) => client.createCheckpoint(root, { reason: 'late' })), 'TOKEN_INVALID');
  assert.equal(await whileWaiting((client) => client.removeSession(root)), 'TOKEN_INVALID');
  assert.equal(await checkpoints(), before);
  assert.deepEqual(await admin.removeSession(root), { ok: true });
});
