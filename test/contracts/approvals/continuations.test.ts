import {
  activateContinuation,
  consumeContinuation,
  type ContinuedAction,
  decide,
  type PermissionRequest,
  revokeContinuations,
} from '../../../src/approvals/index.ts';
import { ask, read, say, use } from '../../support/approval-world.ts';
import { assert, check } from '../../support/index.ts';
import { AGENT, openSessionWorld, OWNER, refusal, type SessionWorld } from '../../support/session-world.ts';

const FAR = 10 ** 15;

async function allowedAfterRestart(world: SessionWorld): Promise<PermissionRequest> {
  const request = await ask(world);
  await world.store.write('t', (tx) =>
    decide(tx, world.context, OWNER, [{ ...say(request), resolutionContext: 'after_restart' }]),
  );
  return request;
}

const activate = (world: SessionWorld, request: PermissionRequest, until = FAR) =>
  world.store.write('t', (tx) => activateContinuation(tx, world.context, OWNER, request.action.requestId, until));

const resume = (world: SessionWorld, change: Partial<ContinuedAction> = {}) =>
  world.store.write('t', (tx) =>
    consumeContinuation(tx, world.context, AGENT, {
      rootFrameId: world.root,
      tool: 'dangerous_tool',
      target: 'result.txt',
      sideEffectClass: 'workspace_write',
      arguments: { fixed: 'fixed', value: 1 },
      by: 'execution-2',
      ...change,
    }),
  );

check('an allow given after a restart is continued once, by exactly its action', async () => {
  await using world = await openSessionWorld();
  const request = await allowedAfterRestart(world);
  assert.equal(await resume(world), null);
  await activate(world, request);
  const others = [
    { tool: 'safe_tool' },
    { target: 'other.txt' },
    { sideEffectClass: 'read' },
    { resourceKeys: ['a'] },
    { dangerous: true },
    { projectId: 'project-local' },
    { arguments: { value: 2, fixed: 'fixed' } },
  ];
  for (const other of others) assert.equal(await resume(world, other), null);
  assert.equal((await resume(world))?.action.requestId, request.action.requestId);
  assert.equal(await resume(world), null);
  assert.equal((await refusal(use(world, request))).code, 'APPROVAL_CONSUMED');
  const { status } = await read(world, request);
  assert.ok(status.state === 'allowed' && status.use.use === 'consumed' && status.use.by === 'execution-2');
});

check('a continuation ends with its time, with a revocation, and with the use of its permission', async () => {
  await using world = await openSessionWorld();
  const timed = await allowedAfterRestart(world);
  await activate(world, timed, world.clock.nowMs());
  assert.equal(await resume(world), null);
  await activate(world, timed);
  assert.equal(await world.store.write('t', (tx) => revokeContinuations(tx, timed.action.groupId)), 1);
  assert.equal(await resume(world), null);
  await activate(world, timed);
  await use(world, timed);
  assert.equal(await resume(world), null);
  assert.equal((await refusal(activate(world, timed))).code, 'APPROVAL_NOT_GIVEN');
});

check('only what was allowed after a restart can be continued', async () => {
  await using world = await openSessionWorld();
  const pending = await ask(world);
  assert.equal((await refusal(activate(world, pending))).code, 'APPROVAL_NOT_GIVEN');
  await world.store.write('t', (tx) => decide(tx, world.context, OWNER, [say(pending)]));
  assert.equal((await refusal(activate(world, pending))).code, 'APPROVAL_NOT_GIVEN');
});
