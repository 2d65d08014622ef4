import {
  type Admission,
  appendEvent,
  auditSession,
  beginTurn,
  getSetting,
  listEvents,
  listGroupEvents,
  listGroups,
  listMessages,
  listSessions,
  listTurns,
  openGroup,
  openSession,
  putSetting,
  QUARANTINE_PREFIX,
  requireGroup,
  requireSession,
  REVERT_MARKER_PREFIX,
  sealGroup,
} from '../../../src/sessions/index.ts';
import { readFeed } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
import { AGENT, append, openCalls, openSessionWorld, OWNER, refusal, STRANGER } from '../../support/session-world.ts';

check('groups count per branch, events per group, and positions over the whole session', async () => {
  await using world = await openSessionWorld();
  const first = await openCalls(world);
  const one = await append(world, { groupId: first.groupId, type: 'proposed', actionId: 'a', toolCallId: 'c-1' });
  const second = await openCalls(world);
  const two = await append(world, { groupId: first.groupId, type: 'started', actionId: 'a', toolCallId: 'c-1' });
  const three = await append(world, { groupId: second.groupId, type: 'proposed', actionId: 'b' });
  assert.deepEqual([one.sequence, two.sequence, three.sequence], [0, 1, 0]);
  assert.deepEqual([one.position, two.position, three.position], [3, 6, 7]);
  const groups = await world.store.read('t', (tx) => listGroups(tx, OWNER, world.root));
  assert.deepEqual(
    groups.items.map((g) => [g.kind, g.ordinal, g.position]),
    [
      ['user', 0, 1],
      ['native_tools', 1, 2],
      ['user', 2, 4],
      ['native_tools', 3, 5],
    ],
  );
  const turns = await world.store.read('t', (tx) => listTurns(tx, OWNER, world.root));
  assert.deepEqual(
    turns.items.map((t) => [t.turnId, t.groups]),
    [
      [first.turnId, 2],
      [second.turnId, 2],
    ],
  );
});

check('what an event carries comes back as it was given, numbers in their spelling', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  await append(world, {
    groupId,
    type: 'proposed',
    actionId: 'a',
    toolCallId: 'c-1',
    wireId: 'w-1',
    canonicalArguments: { n: 12345678901234567890n, list: [1.5, null, true] },
    rawArguments: '{"n": 12345678901234567890}',
    sideEffectClass: 'workspace_write',
    resourceKeys: ['b', 'a'],
  });
  const page = await world.store.read('t', (tx) => listGroupEvents(tx, OWNER, groupId));
  const { eventId: _id, createdAt: _at, ...event } = page.items[0] ?? assert.fail();
  assert.deepEqual(event, {
    groupId,
    rootFrameId: world.root,
    sequence: 0,
    position: 3,
    type: 'proposed',
    actionId: 'a',
    toolCallId: 'c-1',
    wireId: 'w-1',
    canonicalArguments: { n: 12345678901234567890n, list: [1.5, null, true] },
    rawArguments: '{"n": 12345678901234567890}',
    result: null,
    sideEffectClass: 'workspace_write',
    resourceKeys: ['b', 'a'],
  });
});

check('the ledger refuses raw updates and deletes, and a group of it is sealed once', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'proposed', actionId: 'a' });
  const raw = world.raw();
  for (const text of [
    `UPDATE action_events SET type = 'result'`,
    `UPDATE action_events SET group_id = 'other'`,
    `DELETE FROM action_events`,
    `UPDATE action_groups SET kind = 'cell'`,
    `DELETE FROM action_groups`,
  ])
    assert.throws(() => raw.exec(text), /action ledger is append-only/, text);
  assert.throws(() => raw.exec(`UPDATE messages SET content = 'x'`), /immutable/);
  await world.store.write('t', (tx) => sealGroup(tx, groupId, 5));
  assert.equal((await refusal(world.store.write('t', (tx) => sealGroup(tx, groupId, 6)))).code, 'ACTION_GROUP_SEALED');
  assert.throws(() => raw.exec(`UPDATE action_groups SET sealed_at = NULL WHERE sealed_at IS NOT NULL`), /sealed/);
  raw.close();
  assert.equal((await world.store.read('t', (tx) => requireGroup(tx, OWNER, groupId))).sealedAt, 5);
});

check('what shows is written with the line it shows, and the audit finds each disagreement', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'proposed', actionId: 'a', toolCallId: 'c-1' });
  const text = { status: 'completed', is_error: false, content: 'forty-two' };
  await append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'c-1', result: text });
  await append(world, { groupId, type: 'result', actionId: 'b', toolCallId: 'c-2', result: { is_error: true } });
  const messages = await world.store.read('t', (tx) => listMessages(tx, OWNER, world.root));
  assert.deepEqual(
    messages.items.map((m) => [m.seq, m.role, m.content]),
    [
      [1, 'user', 'Do it.'],
      [2, 'assistant', 'I will.'],
      [3, 'tool', 'forty-two'],
      [4, 'tool', '{"is_error":true}'],
    ],
  );
  assert.deepEqual(messages.items[3]?.metadata, { tool_call_id: 'c-2', is_error: true });
  const clean = await world.store.read('t', (tx) => auditSession(tx, OWNER, world.root));
  assert.deepEqual([clean.groups, clean.events, clean.problemCount], [2, 3, 0]);
  const raw = world.raw();
  raw.exec('DROP TRIGGER trg_message_shows_ledger; DROP TRIGGER trg_action_event_no_delete');
  raw.exec(`UPDATE messages SET content = 'forty-three' WHERE seq = 3`);
  raw.exec(`DELETE FROM messages WHERE seq = 2`);
  raw.exec(`DELETE FROM action_events WHERE sequence = 0`);
  raw.close();
  const audit = await world.store.read('t', (tx) => auditSession(tx, OWNER, world.root));
  assert.deepEqual(audit.problems.map((p) => p.problem).toSorted(), [
    'message_differs',
    'message_missing',
    'sequence_gap',
  ]);
});

check('a body that fails leaves neither line nor message nor feed entry', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const before = await world.store.read('t', (tx) => readFeed(tx, { tenantId: 'local', after: 0 }));
  const failed = world.store.write('t', async (tx) => {
    await appendEvent(tx, world.context, AGENT, {
      groupId,
      type: 'result',
      actionId: 'a',
      toolCallId: 'c',
      result: {},
    });
    throw new Error('after the line');
  });
  assert.match((await refusal(failed)).message, /after the line/);
  const raw = world.raw();
  raw.exec(`CREATE TRIGGER faulty BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'no message'); END`);
  raw.close();
  await refusal(append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'c', result: {} }));
  const events = await world.store.read('t', (tx) => listEvents(tx, OWNER, world.root));
  assert.deepEqual(events.items, []);
  assert.deepEqual(await world.store.read('t', (tx) => readFeed(tx, { tenantId: 'local', after: 0 })), before);
});

check('an event that follows in the transaction that wrote the line before it is placed without a look', async () => {
  await using world = await openSessionWorld();
  const { store, context, root, counts } = world;
  const { turnId } = await openCalls(world);
  const group = { rootFrameId: root, branchId: root, turnId, kind: 'native_tools' } as const;
  const proposed = { type: 'proposed', actionId: 'a' } as const;
  const { groupId, at } = await store.write('together', async (tx) => {
    const opened = await openGroup(tx, context, AGENT, group);
    const first = await appendEvent(tx, context, AGENT, { ...proposed, groupId: opened.id, at: opened.next });
    const second = await appendEvent(tx, context, AGENT, { ...proposed, groupId: opened.id, at: first.next });
    assert.deepEqual([first.sequence, second.sequence], [0, 1]);
    assert.deepEqual([first.position, second.position], [opened.position + 1, opened.position + 2]);
    const taken = appendEvent(tx, context, AGENT, { ...proposed, groupId: opened.id, at: opened.next });
    await assert.rejects(taken, { code: 'STORE_CONSTRAINT' });
    return { groupId: opened.id, at: second.next };
  });
  const looks = (name: string) => counts.statementsOf(name).filter((text) => text.includes('AS has_pen')).length;
  assert.equal(looks('together'), 1, "the group's");
  const later = await store.write('later', (tx) => appendEvent(tx, context, AGENT, { ...proposed, groupId, at }));
  assert.deepEqual([later.sequence, looks('later')], [2, 1], 'a place of another transaction is not taken for good');
  const theirs = store.write('theirs', (tx) =>
    appendEvent(tx, context, STRANGER, { ...proposed, groupId, at: later.next }),
  );
  await assert.rejects(theirs, { code: 'ACTION_GROUP_NOT_FOUND' });
});

check('hooks are told of an event in a group that its own transaction has opened, and only of that', async () => {
  await using world = await openSessionWorld();
  const told: boolean[] = [];
  const admit = async (_tx: unknown, admission: Admission): Promise<void> => {
    if (admission.what === 'event') told.push(admission.groupIsNew);
  };
  const context = { ...world.context, hooks: [{ admit }] };
  const { groupId: older, turnId } = await openCalls(world);
  const { root } = world;
  const proposed = { type: 'proposed', actionId: 'a' } as const;
  const next = await world.store.write('t', async (tx) => {
    const group = { rootFrameId: root, branchId: root, turnId, kind: 'native_tools' } as const;
    const opened = await openGroup(tx, context, AGENT, group);
    const first = await appendEvent(tx, context, AGENT, { ...proposed, groupId: opened.id, at: opened.next });
    await appendEvent(tx, context, AGENT, { ...proposed, groupId: opened.id, at: first.next });
    const there = await appendEvent(tx, context, AGENT, { ...proposed, groupId: older });
    const { next } = await appendEvent(tx, context, AGENT, { ...proposed, groupId: older, at: there.next });
    return next;
  });
  await world.store.write('t', (tx) => appendEvent(tx, context, AGENT, { ...proposed, groupId: older, at: next }));
  assert.deepEqual(told, [true, true, false, false, false]);
});

check("another tenant's session, group and branch are not found, for reading and for writing", async () => {
  await using world = await openSessionWorld();
  const { store, context, root } = world;
  const { groupId, turnId } = await openCalls(world);
  const codes = [
    await refusal(store.read('t', (tx) => requireSession(tx, STRANGER, root))),
    await refusal(store.read('t', (tx) => listMessages(tx, STRANGER, root))),
    await refusal(store.read('t', (tx) => listGroupEvents(tx, STRANGER, groupId))),
    await refusal(store.write('t', (tx) => appendEvent(tx, context, STRANGER, { groupId, type: 'proposed' }))),
    await refusal(
      store.write('t', (tx) =>
        openGroup(tx, context, STRANGER, { rootFrameId: root, branchId: root, turnId, kind: 'cell' }),
      ),
    ),
    await refusal(store.write('t', (tx) => openSession(tx, context, STRANGER, { projectId: 'project-local' }))),
  ];
  assert.deepEqual(
    codes.map((error) => error.code),
    [
      'SESSION_NOT_FOUND',
      'SESSION_NOT_FOUND',
      'ACTION_GROUP_NOT_FOUND',
      'ACTION_GROUP_NOT_FOUND',
      'BRANCH_NOT_FOUND',
      'PROJECT_NOT_FOUND',
    ],
  );
  assert.deepEqual((await store.read('t', (tx) => listSessions(tx, STRANGER))).items, []);
});

check(
  'quarantine stops every line but an import; a revert marker lets observations through; any value counts',
  async () => {
    await using world = await openSessionWorld();
    const { store, context, root } = world;
    const { groupId, turnId } = await openCalls(world);
    await append(world, { groupId, type: 'started', actionId: 'a', toolCallId: 'c' });
    const group = { rootFrameId: root, branchId: root, turnId, kind: 'cell' };
    const mark = (key: string, value: string | null) =>
      store.write('t', (tx) => putSetting(tx, context, root, key, value));
    await mark(`${REVERT_MARKER_PREFIX}x`, '');
    assert.equal((await refusal(append(world, { groupId, type: 'started', actionId: 'b' }))).code, 'SESSION_REVERTING');
    assert.equal(
      (await refusal(store.write('t', (tx) => openGroup(tx, context, AGENT, group)))).code,
      'SESSION_REVERTING',
    );
    await append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'c', result: {} });
    await mark(`${REVERT_MARKER_PREFIX}x`, null);
    await mark(`${QUARANTINE_PREFIX}${root}`, '');
    assert.equal(await store.read('t', (tx) => getSetting(tx, root, `${QUARANTINE_PREFIX}${root}`)), '');
    assert.equal((await store.read('t', (tx) => requireSession(tx, OWNER, root))).trustState, 'quarantined_import');
    const late = append(world, { groupId, type: 'result', actionId: 'a', toolCallId: 'c', result: {} });
    assert.equal((await refusal(late)).code, 'SESSION_QUARANTINED');
    const imported = { id: 'imported-group', createdAt: 7 };
    const old = await store.write('t', (tx) => openGroup(tx, context, AGENT, { ...group, imported }));
    assert.deepEqual([old.id, old.messageSeq], ['imported-group', null]);
  },
);

check('a hook has its say in the transaction: what it refuses is not written', async () => {
  const seen: string[] = [];
  await using world = await openSessionWorld([
    {
      async admit(tx, admission) {
        seen.push(admission.what === 'event' ? `${admission.type} ${admission.observes}` : admission.what);
        await tx.get('SELECT 1');
        if (admission.what === 'event' && !admission.observes && seen.length > 3) throw new Error('not now');
      },
    },
  ]);
  const { groupId } = await openCalls(world);
  await append(world, { groupId, type: 'proposed', actionId: 'a' });
  assert.match((await refusal(append(world, { groupId, type: 'started', actionId: 'a' }))).message, /not now/);
  await append(world, { groupId, type: 'permission_resolved', actionId: 'a', result: { state: 'denied' } });
  await refusal(append(world, { groupId, type: 'permission_resolved', actionId: 'a', result: { state: 'allowed' } }));
  assert.deepEqual(seen, [
    'group',
    'group',
    'proposed false',
    'started false',
    'permission_resolved true',
    'permission_resolved false',
  ]);
  const events = await world.store.read('t', (tx) => listEvents(tx, OWNER, world.root));
  assert.deepEqual(
    events.items.map((event) => event.type),
    ['proposed', 'permission_resolved'],
  );
});

check('pages follow one another without gap or repeat, and a wrong cursor or limit is refused', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  for (let i = 0; i < 7; i += 1) await append(world, { groupId, type: 'observation', actionId: `a${i}` });
  const seen: (string | null)[] = [];
  let after: string | null = '0';
  while (after !== null) {
    const from: string = after;
    const page = await world.store.read('t', (tx) => listEvents(tx, OWNER, world.root, { after: from, limit: 3 }));
    seen.push(...page.items.map((event) => event.actionId));
    after = page.next;
  }
  assert.deepEqual(seen, ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  for (const query of [{ after: 'x' }, { limit: 0 }, { limit: 1.5 }])
    assert.equal(
      (await refusal(world.store.read('t', (tx) => listEvents(tx, OWNER, world.root, query)))).code,
      'INVALID_VALUE',
    );
});

check('bad words, ids and texts are refused before anything is stored', async () => {
  await using world = await openSessionWorld();
  const { groupId, turnId } = await openCalls(world);
  const { store, context, root } = world;
  const group = { rootFrameId: root, branchId: root, turnId, kind: 'cell' };
  const refused = [
    append(world, { groupId, type: 'Not a word' }),
    append(world, { groupId, type: 'result', actionId: ' ' }),
    append(world, { groupId, type: 'result', rawArguments: 'a\0b' }),
    append(world, { groupId, type: 'result', actionId: 'x'.repeat(513) }),
    store.write('t', (tx) => openGroup(tx, context, AGENT, { ...group, turnId: '' })),
    store.write('t', (tx) => openGroup(tx, context, AGENT, { ...group, kind: 'x'.repeat(65) })),
  ];
  const codes = await Promise.all(refused.map(async (promise) => (await refusal(promise)).code));
  assert.deepEqual(codes, [...Array<string>(5).fill('INVALID_VALUE'), 'LIMIT_REACHED']);
  assert.deepEqual((await store.read('t', (tx) => listEvents(tx, OWNER, root))).items, []);
  assert.ok(await append(world, { groupId, type: 'result', actionId: 'x'.repeat(512) }));
});

check('a turn, a session id and a branch id are taken once, and the feed tells each thing', async () => {
  await using world = await openSessionWorld();
  const { store, context, root } = world;
  const again = store.write('t', (tx) =>
    openSession(tx, context, OWNER, { projectId: 'project-local', rootFrameId: root }),
  );
  assert.equal((await refusal(again)).code, 'SESSION_EXISTS');
  await store.write('t', (tx) => beginTurn(tx, context, AGENT, { rootFrameId: root, branchId: root, content: 'Hi' }));
  const feed = await store.read('t', (tx) => readFeed(tx, { tenantId: 'local', after: 0 }));
  assert.deepEqual(
    feed.entries.map((entry) => entry.kind),
    ['session.opened', 'action_group.opened'],
  );
});
