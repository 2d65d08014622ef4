import {
  digestJson,
  isJsonObject,
  JSON_PROFILES,
  type JsonObject,
  type JsonValue,
  readStrictJson,
} from '../../src/core/index.ts';
import { ledgerParts, namesOfLedger, readLedger } from '../../src/archive/ledger-document.ts';
import { assert, check } from '../support/index.ts';
import { oracle } from './support/packages.ts';
import { readAll } from './support/read-all.ts';
import { dice } from './support/fuzz.ts';

/** All pieces lie in one buffer: whoever reads is done with one when it asks for the next. */
async function* inPieces(bytes: Buffer, most: number, seed: number): AsyncGenerator<Buffer> {
  const random = dice(seed);
  const one = Buffer.alloc(most);
  for (let at = 0; at < bytes.length; ) {
    const length = Math.min(1 + random.below(most), bytes.length - at);
    bytes.copy(one, 0, at, at + length);
    yield one.subarray(0, length);
    one.fill('#');
    at += length;
  }
}

function strict(bytes: Buffer): JsonObject | undefined {
  try {
    const value = readStrictJson(bytes, JSON_PROFILES.packages);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

async function read(bytes: Buffer, most: number, seed: number) {
  const seen: JsonValue[] = [];
  const document = await readLedger(inPieces(bytes, most, seed), (group) => seen.push(group));
  return { document, seen };
}

/** Compared by their digests where they are large: a difference of a MiB is not for reading. */
function same(one: JsonValue | undefined, other: JsonValue | undefined, text: string): void {
  assert.equal(digestJson(one ?? null), digestJson(other ?? null), text);
}

const outlinesOf = (document: JsonObject | undefined) => (document ?? {})['groups'] as JsonObject[];

/** The groups of a ledger as its parts make them, whole. */
async function groupsOf(bytes: Buffer, most: number, document: JsonObject | undefined): Promise<JsonObject[]> {
  const groups: JsonObject[] = [];
  for await (const { group, events } of ledgerParts(inPieces(bytes, most, 3), document)) {
    if (group !== null) groups.push({ ...group, ...(Object.hasOwn(group, 'events') ? {} : { events: [] }) });
    else ((groups.at(-1) ?? {})['events'] as JsonValue[]).push(...events);
  }
  return groups;
}

check('a ledger read piece by piece is the ledger read whole, however its bytes come', async () => {
  for (const name of ['b-notebook', 'c-branches', 'e-native-tools', 'f-unicode-floats']) {
    const bytes = (await readAll(oracle(name))).get('ledger.json') as Buffer;
    const whole = strict(bytes);
    for (const most of [1, 7, 64, 100_000]) {
      const { document, seen } = await read(bytes, most, most);
      assert.deepEqual(seen, whole?.['groups']);
      assert.deepEqual(document?.['execution_attempts'], whole?.['execution_attempts']);
      assert.deepEqual(await groupsOf(bytes, most, document), whole?.['groups']);
    }
  }
});

check('of a group there stays who it is, where it stands and what it refers to', async () => {
  const group = {
    group_id: 'g',
    branch_id: 'b',
    ordinal: 3,
    turn_id: 't',
    wire_state: { large: 'x'.repeat(1000) },
    assistant_message: { content: 'x'.repeat(1000), tool_calls: [{ id: 'c', wire_id: 'w', input: 'x' }] },
    events: [
      { event_id: 'e', sequence: 0, type: 'result', action_id: 'a', tool_call_id: 'c', wire_id: 'w', result: { x: 1 } },
      { sequence: 1, type: 'compaction', result: { handoff: 'x', covered_through_group_id: 'g' } },
    ],
  };
  const { document } = await read(Buffer.from(JSON.stringify({ groups: [group] })), 5, 1);
  assert.deepEqual(document, {
    groups: [
      {
        group_id: 'g',
        branch_id: 'b',
        turn_id: 't',
        ordinal: 3,
        event_count: 2,
        in_sequence: true,
        covers: ['g'],
      },
    ],
  });
  const { tables, findings, wrong } = namesOfLedger(document);
  const named = (['event', 'action', 'call', 'wire'] as const).map((kind) => [...tables[kind]]);
  assert.deepEqual([named, findings, wrong], [[['e'], ['a'], ['c'], ['w']], [], null]);
});

check('a name of an event or call that is no text, or an identity that two events have, is noted', async () => {
  const ledger = (events: JsonObject[], calls: JsonObject[] = []): Buffer =>
    Buffer.from(JSON.stringify({ groups: [{ events, assistant_message: { tool_calls: calls } }] }));
  const noted = async (bytes: Buffer) => {
    const { findings, wrong } = namesOfLedger((await read(bytes, 9, 2)).document);
    return [...findings.map(({ text }) => text), ...(wrong === null ? [] : [`${wrong.field} of ${wrong.noun}`])];
  };
  assert.deepEqual(await noted(ledger([{ event_id: 'e' }, { event_id: 'f' }, { event_id: null }, {}])), []);
  assert.deepEqual(await noted(ledger([{ event_id: 'e' }, { event_id: 'e' }])), ['duplicate action event identity: e']);
  assert.deepEqual(await noted(ledger([{ event_id: 7 }])), [
    'a action event has no valid identity',
    'event_id of an action event',
  ]);
  assert.deepEqual(await noted(ledger([{ action_id: 'a\0b' }])), ['action_id of an action event']);
  assert.deepEqual(await noted(ledger([], [{ id: [] }])), ['id of a call']);
});

check('of a group whose events are no list of objects, or have no sequence of their own, that is told', async () => {
  const outline = async (events: JsonValue): Promise<JsonValue> => {
    const { document } = await read(Buffer.from(JSON.stringify({ groups: [{ events }] })), 9, 2);
    const [first] = (document?.['groups'] ?? []) as JsonObject[];
    return first ?? null;
  };
  assert.deepEqual(await outline([{ sequence: 0 }, 1]), {});
  assert.deepEqual(await outline('x'), {});
  for (const second of [0, -1, 'x', null])
    assert.deepEqual(await outline([{ sequence: 0 }, { sequence: second }]), {
      event_count: 2,
      in_sequence: false,
      covers: [],
    });
});

const DOCUMENTS = [
  '{}',
  ' {"groups" : [ ] , "a":1 } ',
  '{"groups":[{},1,"x",null,[{}]]}',
  '{"groups":{"a":[]}}',
  '{"a":"}]\\"","groups":[{"b":"[{\\\\"}]}',
  '{"groups":[],"groups":[]}',
  '{"groups":[],"groups":1}',
  '{"groups":1,"groups":[]}',
  '{"a":1,"a":2}',
  '{"a":1,"\\u0061":2}',
  '{"groups":[{"a":1,"a":2}]}',
  '{"groups":[1,]}',
  '{"groups":[,1]}',
  '{"groups":[1 2]}',
  '{"groups":[1}',
  '{"groups":[}]}',
  '{"groups":[1]]}',
  '{"groups":[01]}',
  '{"groups":[NaN]}',
  '{"groups":["\\ud800"]}',
  '{"a" 1}',
  '{"a":}',
  '{"a":1,}',
  '{,"a":1}',
  '{"a":1}x',
  '{"a":1}{}',
  '{"a":tru}',
  '{"a":truefalse}',
  '{a:1}',
  '[]',
  '1',
  '"x"',
  '',
  '{',
  '{"groups":[{"a":',
  '\ufeff{}',
  `{"groups":[${'['.repeat(62)}${']'.repeat(62)}]}`,
  `{"groups":[${'['.repeat(64)}${']'.repeat(64)}]}`,
  `{"a":${'['.repeat(63)}${']'.repeat(63)}}`,
  `{"a":${'['.repeat(65)}${']'.repeat(65)}}`,
];

check('it refuses exactly what the strict reader refuses', async () => {
  for (const text of DOCUMENTS) {
    const bytes = Buffer.from(text);
    const whole = strict(bytes);
    for (const most of [1, 3, 1000]) {
      const { document } = await read(bytes, most, 9);
      assert.equal(document === undefined, whole === undefined, text.slice(0, 60));
      if (!whole) continue;
      const { groups: _outlines, ...rest } = document ?? {};
      const { groups, ...others } = whole;
      assert.deepEqual(rest, others);
      assert.equal(Array.isArray(document?.['groups']), Array.isArray(groups), text);
    }
  }
  const escaped = Buffer.from('{"gro\\u0075ps":[]}');
  assert.equal((await read(escaped, 4, 1)).document, undefined, 'a list that is spelled so that nobody finds it');
});

check('random edits of a ledger are taken and refused alike', async () => {
  const bytes = (await readAll(oracle('e-native-tools'))).get('ledger.json') as Buffer;
  const random = dice(2026);
  for (let i = 0; i < 400; i += 1) {
    const copy = Buffer.from(bytes);
    for (let edits = 1 + random.below(3); edits > 0; edits -= 1)
      copy[random.below(copy.length)] = '{}[],:"\\x 1e'.charCodeAt(random.below(11));
    const whole = strict(copy);
    const { document, seen } = await read(copy, 500, i);
    // A key that is no longer `groups` is a member like any other; one with an escape in it is refused.
    if (whole && !copy.includes('\\u')) assert.deepEqual(document === undefined, false, String(i));
    if (!whole) assert.equal(document, undefined, String(i));
    else if (Array.isArray(whole['groups'])) assert.deepEqual(seen, whole['groups'], String(i));
  }
});

/** A group of more than a MiB, as a document has it: its events stand before its name. */
const largeGroup = (events: readonly string[], members = ''): string =>
  `{"assistant_message":{"tool_calls":[{"id":"c","wire_id":"w"}]},"branch_id":"b","events":[${events.join(',')}],` +
  `"group_id":"g","kind":"tool_calls","ordinal":1${members},"turn_id":"t"}`;
const eventsOf = (count: number, note = 'x'.repeat(800)): string[] =>
  Array.from({ length: count }, (_, i) => `{"event_id":"e${i}","result":{"note":"${note}"},"sequence":${i}}`);
const MANY = 1_500;
const ledgerOf = (...groups: readonly string[]) => Buffer.from(`{"execution_attempts":[],"groups":[${groups.join()}]}`);

check('a large group passes event by event, and is the group that it is when it is read whole', async () => {
  const small = (id: string): string => largeGroup(eventsOf(3)).replace('"g"', `"${id}"`).replaceAll('"e', `"${id}e`);
  const named = (id: string): string =>
    small(id).replace(`"${id}events"`, '"events"').replaceAll(`"${id}event_id"`, '"event_id"');
  const bytes = ledgerOf(named('s'), largeGroup(eventsOf(MANY)), named('u'));
  const whole = strict(bytes);
  for (const most of [1000, 65_536, bytes.length]) {
    const { document, seen } = await read(bytes, most, most);
    const groups = whole?.['groups'] as JsonObject[];
    assert.deepEqual(
      outlinesOf(document).map(({ group_id: id, event_count: count, in_sequence: so }) => [id, count, so]),
      [
        ['s', 3, true],
        ['g', MANY, true],
        ['u', 3, true],
      ],
    );
    const { tables, findings } = namesOfLedger(document);
    assert.deepEqual([tables.event.size, [...tables.call], findings], [MANY + 6, ['c'], []]);
    // In whatever pieces it comes the second time.
    for (const then of [most, 4096, bytes.length])
      same(await groupsOf(bytes, then, document), groups, `${most} ${then}`);
    if (most === bytes.length) continue;
    assert.ok(seen.length > MANY, 'events are seen one by one');
    let most100 = 0;
    for await (const { events } of ledgerParts(inPieces(bytes, most, 3), document))
      most100 = Math.max(most100, events.length);
    assert.ok(most100 <= 100);
  }
});

check('large groups whose events are not in order, or stand nowhere, come whole', async () => {
  const [first = '', second = '', ...rest] = eventsOf(MANY);
  const odd = {
    'out of order': largeGroup([second, first, ...rest]),
    'spelled otherwise': largeGroup(eventsOf(MANY)).replace('"events"', '"\\u0065vents"'),
    'no list': largeGroup([]).replace('"events":[]', `"events":"${'x'.repeat(2_000_000)}"`),
    'no events': largeGroup([], `,"wire_state":"${'x'.repeat(2_000_000)}"`).replace('"events":[],', ''),
    'a number among them': largeGroup([...rest, '7']),
  };
  for (const [name, group] of Object.entries(odd)) {
    const bytes = ledgerOf(group);
    const whole = strict(bytes) as JsonObject;
    const { document } = await read(bytes, 65_536, 1);
    const [outline] = outlinesOf(document);
    const [plain] = outlinesOf((await read(bytes, bytes.length, 1)).document);
    same(outline, plain, name);
    const parts = [];
    for await (const part of ledgerParts(inPieces(bytes, 65_536, 2), document)) parts.push(part);
    same(
      parts.map(({ group: one }) => one),
      whole['groups'],
      name,
    );
  }
});

check('of a large group exactly that is refused which is refused of one that is read whole', async () => {
  const events = eventsOf(MANY);
  const deep = (depth: number): string => `{"sequence":${MANY},"result":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const values = (count: number): string[] =>
    Array.from({ length: 41 }, (_, i) => `{"sequence":${MANY + i},"result":[${'0,'.repeat(count)}0]}`);
  const edges: Readonly<Record<string, string>> = {
    'as it should be': largeGroup(events),
    'a key twice': largeGroup(events, ',"group_id":"h"'),
    'events twice': largeGroup(events, ',"events":[]'),
    'events twice, once as no list': largeGroup(events, ',"events":1'),
    'events twice, once spelled otherwise': largeGroup(events, ',"\\u0065vents":1'),
    'a key twice in an event': largeGroup([...events, '{"a":1,"a":2}']),
    'as deep as may be': largeGroup([...events, deep(59)]),
    'as deep as may be, in': largeGroup([...events, deep(60)]),
    'too deep': largeGroup([...events, deep(61)]),
    deeper: largeGroup([...events, deep(62)]),
    'a member too deep': largeGroup(events, `,"wire_state":${'['.repeat(62)}${']'.repeat(62)}`),
    'a member as deep as may be': largeGroup(events, `,"wire_state":${'['.repeat(61)}${']'.repeat(61)}`),
    'too many events': largeGroup(Array.from({ length: 250_001 }, () => '{"a":1}')),
    'as many as may be': largeGroup(Array.from({ length: 250_000 }, () => '{"a":1}')),
    'too many values': largeGroup([...events, ...values(97_999)]),
    'not too many values': largeGroup([...events, ...values(90_000)]),
    'no comma': largeGroup(events).replace('},{', '} {'),
    'a comma too much': largeGroup([...events, '']),
    'not closed': largeGroup(events).slice(0, -1),
    'closed by another bracket': `${largeGroup(events).slice(0, -1)}]`,
    'a word with quotes': largeGroup(events, ',"x":1"}'),
    'not UTF-8': largeGroup([...events, '{"a":"\\ud800"}']),
  };
  for (const [name, group] of Object.entries(edges)) {
    const bytes = ledgerOf(group, largeGroup(['{"event_id":"z"}']));
    const { document } = await read(bytes, 65_536, 9);
    assert.equal(document === undefined, strict(bytes) === undefined, name);
  }
});
