import { approvalSessionHooks, listRules, putRule } from '../../../src/approvals/index.ts';
import {
  allocateAttempt,
  beginRestore,
  createCheckpoint,
  deleteSession,
  forkBranch,
  openSession,
  putSetting,
  QUARANTINE_PREFIX,
  queueTicket,
  type SessionHooks,
} from '../../../src/sessions/index.ts';
import { approvalsOf, ask, say } from '../../support/approval-world.ts';
import { assert, check } from '../../support/index.ts';
import {
  AGENT,
  append,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

/** A row in every table that a session has rows in. */
async function fill(world: SessionWorld): Promise<void> {
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'a', result: {} });
  const request = await ask(world, { groupId });
  await approvalsOf(world).decide(OWNER, [say(request, { editedArguments: { value: 2, fixed: 'fixed' } })]);
  const { context, root } = world;
  await world.store.write('t', async (tx) => {
    const place = { rootFrameId: root, branchId: root };
    await allocateAttempt(tx, context, AGENT, { groupId, producingCellId: 'cell' });
    await createCheckpoint(tx, context, OWNER, { ...place, reason: 'one' });
    const two = await createCheckpoint(tx, context, OWNER, { ...place, reason: 'two' });
    await forkBranch(tx, context, OWNER, { rootFrameId: root, fromCheckpointId: two.checkpointId });
    await queueTicket(tx, context, OWNER, { rootFrameId: root, owner: 'o', reason: 'r', leaseMs: 1000 });
    const rule = { tool: 't', pattern: '*', decision: 'ask' } as const;
    await putRule(tx, context, OWNER, { ...rule, scope: 'conversation', scopeId: root });
    await putRule(tx, context, OWNER, { ...rule, scope: 'project', scopeId: 'project-local' });
    const restore = { kind: 'revert', targetCheckpointId: two.checkpointId, undoTreeId: null } as const;
    await beginRestore(tx, context, OWNER, { ...restore, rootFrameId: root });
    await putSetting(tx, context, root, `${QUARANTINE_PREFIX}${root}`, '{}');
  });
}

const TABLES = [
  'sessions',
  'session_branches',
  'session_settings',
  'session_tickets',
  'session_checkpoints',
  'restore_operations',
  'execution_attempts',
  'action_groups',
  'action_events',
  'messages',
  'permission_requests',
];

/** Rows of one session, table by table. */
function rowsOf(world: SessionWorld, rootFrameId: string): Record<string, number> {
  const raw = world.raw();
  const count = (table: string): number =>
    Number(raw.prepare(`SELECT COUNT(*) AS n FROM ${table} WHERE root_frame_id = ?`).get(rootFrameId)?.['n']);
  const counts = Object.fromEntries(TABLES.map((table) => [table, count(table)]));
  raw.close();
  return counts;
}

const remove = (world: SessionWorld, principal = OWNER) =>
  world.store.write('t', (tx) => deleteSession(tx, world.context, principal, world.root));

check('a session goes whole, with its requests and its own rules; its neighbours stay', async () => {
  await using world = await openSessionWorld([approvalSessionHooks]);
  const neighbour = await world.store.write('t', (tx) =>
    openSession(tx, world.context, OWNER, { projectId: 'project-local' }),
  );
  await fill(world);
  assert.ok(
    Object.values(rowsOf(world, world.root)).every((count) => count > 0),
    'every table has rows',
  );
  assert.equal((await refusal(remove(world, STRANGER))).code, 'SESSION_NOT_FOUND');
  await remove(world);
  assert.deepEqual(rowsOf(world, world.root), Object.fromEntries(TABLES.map((table) => [table, 0])));
  assert.equal(rowsOf(world, neighbour)['session_branches'], 1);
  const rules = await world.store.read('t', (tx) => listRules(tx, OWNER, 'project', 'project-local'));
  assert.equal(rules.length, 1);
  const raw = world.raw();
  assert.deepEqual(raw.prepare('PRAGMA foreign_key_check').all(), []);
  raw.close();
  assert.equal((await refusal(remove(world))).code, 'SESSION_NOT_FOUND');
});

check('a room that must keep something refuses the deletion, and nothing is removed', async () => {
  const keeper: SessionHooks = {
    async onDelete() {
      throw new Error('an audit of this session must stay');
    },
  };
  await using world = await openSessionWorld([approvalSessionHooks, keeper]);
  await fill(world);
  const before = rowsOf(world, world.root);
  assert.match((await refusal(remove(world))).message, /must stay/);
  assert.deepEqual(rowsOf(world, world.root), before);
  const raw = world.raw();
  assert.throws(() => raw.exec('DELETE FROM action_events'), /append-only/);
  raw.close();
});
