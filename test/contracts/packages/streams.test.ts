import {
  canonicalJson,
  digestJson,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
} from '../../../src/core/index.ts';
import { appendEvent, listEvents, listMessages, openGroup } from '../../../src/sessions/index.ts';
import { readAll } from '../../archive/support/read-all.ts';
import { ImportStages } from '../../../src/packages/index.ts';
import { edited } from '../../archive/support/packages.ts';
import { assert, check } from '../../support/index.ts';
import { makeSource, ROOT } from './source.ts';
import { openPackageWorld, OWNER, type PackageWorld, refusal } from './world.ts';

const KNOWN = 'winter is a quiet month';
const secrets = { plain: KNOWN };

/** A group of the ledger with many events, as a long call leaves it. */
async function addEvents(world: PackageWorld, results: readonly JsonValue[]): Promise<string> {
  return world.store.write('test', async (tx) => {
    const place = { rootFrameId: ROOT, branchId: ROOT, turnId: 'turn-long', kind: 'tool_calls' };
    const { id } = await openGroup(tx, world.sessions, OWNER, place);
    for (const [i, result] of results.entries())
      await appendEvent(tx, world.sessions, OWNER, { groupId: id, type: 'result', toolCallId: `c-${i}`, result });
    return id;
  });
}

/** The ledger of an export: its bytes, and the group with this name. */
async function ledgerOf(world: PackageWorld, groupId: string) {
  using exported = await world.packages.export(OWNER, ROOT);
  const bytes = (await readAll(exported.data())).get('ledger.json') as Buffer;
  const ledger = readStrictJson(bytes, JSON_PROFILES.packages) as { groups: JsonObject[] };
  const group = ledger.groups.find(({ group_id: id }) => id === groupId);
  return { bytes, ledger: ledger as JsonValue, events: group?.['events'] as JsonObject[] };
}

check(
  'a group of many events leaves event by event, in order and canonical, as if it had been read whole',
  async () => {
    await using world = await openPackageWorld({ secrets });
    await makeSource(world);
    const results = Array.from({ length: 200 }, (_, i): JsonValue => ({ z: i, a: [`é${i}`, null, 1.5], 'k"': {} }));
    const group = await addEvents(world, results);
    const { bytes, ledger, events } = await ledgerOf(world, group);
    assert.deepEqual(
      events.map(({ result }) => result),
      results,
    );
    assert.equal(canonicalJson(ledger), bytes.toString());
  },
);

check('a secret in one event is replaced in it alone, and what lies too deep is left out', async () => {
  await using world = await openPackageWorld({ secrets });
  await makeSource(world);
  const nested = (depth: number): JsonValue => (depth === 0 ? 'deep' : { in: nested(depth - 1) });
  const group = await addEvents(world, [{ said: `It said ${KNOWN}.` }, { said: 'nothing' }, nested(46), nested(47)]);
  const { bytes, events } = await ledgerOf(world, group);
  assert.ok(!bytes.includes(KNOWN));
  const shown = events.map(({ result }) => canonicalJson(result ?? null));
  assert.equal(shown[0], '{"said":"It said [REDACTED]."}');
  assert.equal(shown[1], '{"said":"nothing"}');
  assert.ok(shown[2]?.includes('"deep"'));
  assert.ok(shown[3]?.includes('[TOO DEEP]') && !shown[3].includes('"deep"'));
});

check('a stored result that is not one JSON value is refused, and reaches no other member of its event', async () => {
  for (const broken of ['{"a":1},"type":"other"', '{"a":', 'null}']) {
    await using world = await openPackageWorld();
    await makeSource(world);
    const group = await addEvents(world, [{ a: 1 }]);
    using db = world.raw();
    db.exec('DROP TRIGGER trg_action_event_no_update');
    db.prepare('UPDATE action_events SET result = ? WHERE group_id = ?').run(broken, group);
    assert.equal((await refusal(world.packages.export(OWNER, ROOT))).code, 'SESSION_CORRUPT', broken);
  }
});

/** What an imported session's ledger holds, without names: positions, sequences, types and results. */
async function ledgerIn(world: PackageWorld, root: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let after: string | null = null; ; ) {
    const page = await world.store.read('test', (tx) =>
      listEvents(tx, OWNER, root, { limit: 500, ...(after ? { after } : {}) }),
    );
    for (const { sequence, position, type, result, groupId, toolCallId } of page.items)
      rows.push({ sequence, position, type, result, isIn: groupId !== null, isNamed: toolCallId !== null });
    after = page.next;
    if (after === null) return rows;
  }
}

check(
  'a group of more than a MiB arrives event by event, in commits of some hundred lines, as a small one does',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    const results = Array.from({ length: 4000 }, (_, i): JsonValue => ({ i, text: `${i}`.padStart(300, 'x') }));
    const group = await addEvents(world, results);
    const { bytes, events } = await ledgerOf(world, group);
    assert.ok(bytes.length > 1024 * 1024);
    using exported = await world.packages.export(OWNER, ROOT);
    const commits: number[] = [];
    let seen = 0;
    class Counted extends ImportStages {
      override async ledger(): Promise<void> {
        for await (const part of this.plan.groups()) {
          seen += part.events.length;
          commits.push(part.events.length);
        }
        await super.ledger();
      }
    }
    const counting = world.with({ seams: { importStages: (...args) => new Counted(...args) } });
    const { root_frame_id: root } = await counting.import(OWNER, exported.data());
    assert.equal(seen, 4001);
    assert.ok(Math.max(...commits) <= 100, 'never in memory whole');
    const arrived = (await ledgerIn(world, root)) as {
      type: string;
      position: number;
      sequence: number;
      result: JsonValue;
    }[];
    const own = arrived.filter(({ type }) => type === 'result');
    // Digests: a difference of a MiB is not for reading.
    const told = (values: readonly JsonValue[]): string => digestJson([...values]);
    assert.equal(told(own.map(({ result }) => result)), told(results));
    assert.equal(told(own.map(({ sequence }) => sequence)), told(events.map(({ sequence }) => sequence ?? null)));
    const [first] = own;
    assert.equal(told(own.map(({ position }) => position - (first?.position ?? 0))), told([...own.keys()]));
    // And it goes out again as it came.
    using again = await world.packages.export(OWNER, root);
    const ledger = readStrictJson((await readAll(again.data())).get('ledger.json') as Buffer, JSON_PROFILES.packages);
    const large = (ledger as { groups: JsonObject[] }).groups.find(
      (one) => (one['events'] as JsonValue[]).length === 4000,
    );
    assert.equal(told(((large ?? {})['events'] as JsonObject[]).map(({ result }) => result ?? null)), told(results));
  },
);

check('messages arrive in the order of their numbers, whatever the order of their document', async () => {
  await using world = await openPackageWorld();
  const said = async (change: (messages: JsonObject[]) => JsonObject[]) => {
    const bytes = await edited('e-native-tools', 'session.json', (document) => {
      document['messages'] = change(document['messages'] as JsonObject[]);
    });
    const { root_frame_id: root } = await world.packages.import(OWNER, bytes);
    const page = await world.store.read('test', (tx) => listMessages(tx, OWNER, root, { limit: 500 }));
    return page.items.map(({ seq, content }) => [seq, content]);
  };
  const usual = await said((messages) => messages);
  assert.ok(usual.length > 1);
  assert.deepEqual(await said((messages) => messages.toReversed()), usual);
});

check(
  'names that a call, its action and its wire share stay one name, and events keep names of their own',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    const group = await world.store.write('test', async (tx) => {
      const place = { rootFrameId: ROOT, branchId: ROOT, turnId: 'turn-names', kind: 'tool_calls' };
      const { id } = await openGroup(tx, world.sessions, OWNER, place);
      const named = { groupId: id, toolCallId: 'same', actionId: 'same', wireId: 'same' };
      for (const type of ['proposed', 'result']) await appendEvent(tx, world.sessions, OWNER, { ...named, type });
      return id;
    });
    using exported = await world.packages.export(OWNER, ROOT);
    const { root_frame_id: root } = await world.packages.import(OWNER, exported.data());
    const { items } = await world.store.read('test', (tx) => listEvents(tx, OWNER, root, { limit: 500 }));
    const own = items.filter(({ toolCallId }) => toolCallId !== null);
    assert.equal(own.length, 2);
    const names = own.flatMap(({ toolCallId, actionId, wireId }) => [toolCallId, actionId, wireId]);
    assert.equal(new Set(names).size, 1);
    assert.notEqual(names[0], 'same');
    assert.equal(new Set(items.map(({ eventId }) => eventId)).size, items.length);
    assert.ok(items.every(({ groupId }) => groupId !== group));
  },
);
