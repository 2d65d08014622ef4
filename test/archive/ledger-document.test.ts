import { isJsonObject, JSON_PROFILES, type JsonObject, type JsonValue, readStrictJson } from '../../src/core/index.ts';
import { ledgerGroups, namesOfLedger, readLedger } from '../../src/archive/ledger-document.ts';
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

check('a ledger read piece by piece is the ledger read whole, however its bytes come', async () => {
  for (const name of ['b-notebook', 'c-branches', 'e-native-tools', 'f-unicode-floats']) {
    const bytes = (await readAll(oracle(name))).get('ledger.json') as Buffer;
    const whole = strict(bytes);
    for (const most of [1, 7, 64, 100_000]) {
      const { document, seen } = await read(bytes, most, most);
      assert.deepEqual(seen, whole?.['groups']);
      assert.deepEqual(document?.['execution_attempts'], whole?.['execution_attempts']);
      const groups: JsonObject[] = [];
      for await (const group of ledgerGroups(inPieces(bytes, most, 3))) groups.push(group);
      assert.deepEqual(groups, whole?.['groups']);
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
