import * as sessions from '../../../src/sessions/index.ts';
import {
  addCell,
  addRecord,
  ANNOTATION,
  ARTIFACT,
  ARTIFACT_VERSION,
  CAPABILITY_STATE,
  CELL,
  changeCell,
  changeRecord,
  CHECKPOINT_STATE,
  COMPLETION_DELIVERY,
  countRecords,
  deleteSession,
  documentOf,
  endGeneration,
  ENVIRONMENT_SNAPSHOT,
  fromDocument,
  GENERATION,
  LINEAGE_EDGE,
  listRecords,
  MEMORY,
  OPERATION,
  PLAN,
  putSetting,
  QUARANTINE_PREFIX,
  RECOVERY_ENTRY,
  requireRecord,
  REVIEW_STEP,
  type Shape,
  walkRecords,
} from '../../../src/sessions/index.ts';
import type { Tx } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
import { openSessionWorld, OWNER, refusal, type SessionWorld, STRANGER } from '../../support/session-world.ts';

const SHAPES: readonly Shape[] = [
  ANNOTATION,
  ARTIFACT,
  ARTIFACT_VERSION,
  CAPABILITY_STATE,
  CELL,
  CHECKPOINT_STATE,
  COMPLETION_DELIVERY,
  ENVIRONMENT_SNAPSHOT,
  GENERATION,
  LINEAGE_EDGE,
  MEMORY,
  OPERATION,
  PLAN,
  RECOVERY_ENTRY,
  REVIEW_STEP,
];

const write = <T>(world: SessionWorld, body: (tx: Tx) => Promise<T>): Promise<T> => world.store.write('t', body);

check('every kind of record has the columns that its shape says, and a place', async () => {
  await using world = await openSessionWorld();
  const offered = Object.values(sessions).filter((one) => typeof one === 'object' && one !== null && 'table' in one);
  assert.equal(offered.length, SHAPES.length);
  using raw = world.raw();
  for (const shape of SHAPES) {
    const rows = raw.prepare('SELECT name FROM pragma_table_info(?)').all(shape.table);
    const said = ['root_frame_id', 'position', ...Object.values(shape.fields).map((field) => field.column)];
    assert.deepEqual(rows.map((row) => String(row['name'])).sort(), said.sort(), shape.kind);
  }
});

check('a record is kept, read back, and is the same document when it comes from its document', async () => {
  await using world = await openSessionWorld();
  const { root, context } = world;
  const plan = await write(world, (tx) =>
    addRecord(tx, context, OWNER, root, PLAN, { title: 'Fit', status: 'draft', steps: [{ text: 'look' }] }),
  );
  const read = await world.store.read('t', (tx) => requireRecord(tx, OWNER, root, PLAN, plan.id));
  assert.deepEqual(read, plan);
  const document = documentOf(PLAN, plan);
  assert.deepEqual(
    [document['plan_id'], document['title'], document['step_status'], document['created_at']],
    [plan.id, 'Fit', null, world.clock.nowMs()],
  );
  assert.deepEqual(fromDocument(PLAN, document), plan);
  const stranger = fromDocument(PLAN, { ...document, unknown: 1, root_frame_id: 'elsewhere' });
  assert.deepEqual(stranger, { ...plan, more: { unknown: 1 } });
  assert.deepEqual(documentOf(PLAN, stranger), { ...document, unknown: 1 });
  const refused = { code: 'INVALID_VALUE' };
  assert.throws(() => fromDocument(PLAN, { ...document, status: 'odd' }), refused);
  assert.throws(() => fromDocument(PLAN, []), refused);
});

check('pages follow the order of adding, and strangers find nothing', async () => {
  await using world = await openSessionWorld();
  const { root, context } = world;
  const add = (content: string) =>
    write(world, (tx) => addRecord(tx, context, OWNER, root, MEMORY, { block: 'project', content }));
  for (const content of ['a', 'b', 'c']) await add(content);
  const page = (after?: string) =>
    world.store.read('t', (tx) =>
      listRecords(tx, OWNER, root, MEMORY, { limit: 2, ...(after === undefined ? {} : { after }) }),
    );
  const first = await page();
  assert.deepEqual(
    first.items.map((one) => one.content),
    ['a', 'b'],
  );
  const second = await page(first.next ?? '');
  assert.deepEqual([second.items.map((one) => one.content), second.next], [['c'], null]);
  const walked = await world.store.read('t', async (tx) => {
    const all: string[] = [];
    for await (const one of walkRecords(tx, root, MEMORY)) all.push(one.content);
    return all;
  });
  assert.deepEqual(walked, ['a', 'b', 'c']);
  assert.deepEqual(await world.store.read('t', (tx) => countRecords(tx, root, MEMORY)), { records: 3, last: 3 });
  const id = first.items[0]?.id ?? '';
  const codes = await Promise.all(
    [
      world.store.read('t', (tx) => listRecords(tx, STRANGER, root, MEMORY)),
      world.store.read('t', (tx) => requireRecord(tx, STRANGER, root, MEMORY, id)),
      write(world, (tx) => addRecord(tx, context, STRANGER, root, MEMORY, { block: 'x', content: '' })),
      write(world, (tx) => changeRecord(tx, context, STRANGER, root, MEMORY, id, { content: 'mine' })),
    ].map(async (done) => (await refusal(done)).code),
  );
  assert.deepEqual(codes, ['SESSION_NOT_FOUND', 'RECORD_NOT_FOUND', 'SESSION_NOT_FOUND', 'RECORD_NOT_FOUND']);
});

check('in quarantine only an import writes, with its own id and time', async () => {
  await using world = await openSessionWorld();
  const { root, context } = world;
  await write(world, (tx) => putSetting(tx, context, root, QUARANTINE_PREFIX + root, ''));
  const values = { block: 'project', content: 'kept' };
  const local = await refusal(write(world, (tx) => addRecord(tx, context, OWNER, root, MEMORY, values)));
  assert.equal(local.code, 'SESSION_QUARANTINED');
  const whole = { ...values, id: 'mem-1', createdAt: 7 };
  const made = await write(world, (tx) => addRecord(tx, context, OWNER, root, MEMORY, whole, { imported: true }));
  assert.deepEqual([made.id, made.createdAt, made.updatedAt], ['mem-1', 7, null]);
  const change = write(world, (tx) => changeRecord(tx, context, OWNER, root, MEMORY, 'mem-1', { content: 'new' }));
  assert.equal((await refusal(change)).code, 'SESSION_QUARANTINED');
});

check('cells are numbered, end once, and may still be pinned and hidden; generations end once', async () => {
  await using world = await openSessionWorld();
  const { root, context } = world;
  const generation = await write(world, (tx) =>
    addRecord(tx, context, OWNER, root, GENERATION, { branchId: root, language: 'python', state: 'active' }),
  );
  const cell = await write(world, (tx) =>
    addCell(tx, context, OWNER, root, { code: 'x = 1', status: 'running', generationId: generation.id }),
  );
  const second = await write(world, (tx) => addCell(tx, context, OWNER, root, { code: 'x', status: 'running' }));
  assert.deepEqual([cell.stateRevision, second.stateRevision], [1, 2]);
  const change = (values: Parameters<typeof changeCell>[5]) =>
    write(world, (tx) => changeCell(tx, context, OWNER, root, cell.id, values));
  assert.equal((await change({ status: 'ok', stdout: '1', wallS: 0.5 })).stdout, '1');
  assert.equal((await change({ pin: true, visibility: 'hidden' })).pin, true);
  assert.equal((await refusal(change({ stdout: '2' }))).code, 'STORE_CONSTRAINT');
  const end = (reason: string) =>
    write(world, (tx) => endGeneration(tx, context, OWNER, root, generation.id, { state: 'released', reason }));
  assert.deepEqual([(await end('idle')).endedReason, (await refusal(end('again'))).code], ['idle', 'STORE_CONSTRAINT']);
});

check('what never changes is kept from edits and removals around the program, and goes with its session', async () => {
  await using world = await openSessionWorld();
  const { root, context } = world;
  await write(world, (tx) =>
    addRecord(tx, context, OWNER, root, ENVIRONMENT_SNAPSHOT, { kind: 'python', packages: ['numpy'] }),
  );
  await write(world, (tx) => addCell(tx, context, OWNER, root, { code: 'x', status: 'ok' }));
  using raw = world.raw();
  for (const sql of [
    "UPDATE environment_snapshots SET kind = 'r'",
    'DELETE FROM environment_snapshots',
    "UPDATE cells SET code = 'y'",
    'UPDATE cells SET state_revision = 9',
    'DELETE FROM cells',
  ])
    assert.throws(() => raw.exec(sql), /immutable|kept|keeps/, sql);
  await write(world, (tx) => deleteSession(tx, context, OWNER, root));
  const left = SHAPES.map((shape) => raw.prepare(`SELECT COUNT(*) AS n FROM ${shape.table}`).get()?.['n']);
  assert.ok(left.every((rows) => rows === 0));
});
