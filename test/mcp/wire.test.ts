import fc from 'fast-check';
import { Continuations } from '../../src/mcp/wire/continuations.ts';
import { type Framed, isDivided, LineFramer, partsOf } from '../../src/mcp/wire/line-framer.ts';
import { idKey, type ToolCallMessage } from '../../src/mcp/wire/message.ts';
import { withToolListed } from '../../src/mcp/wire/listed-tool.ts';
import { readHostLine } from '../../src/mcp/wire/read-host-line.ts';
import { idsInBatch, readServerLine } from '../../src/mcp/wire/read-server-line.ts';
import { editedLine, errorLine, outcomeLine } from '../../src/mcp/wire/write-line.ts';
import { assert, check } from '../support/index.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const host = (value: unknown) => readHostLine(bytes(typeof value === 'string' ? value : JSON.stringify(value)));

function call(params: Record<string, unknown> = { name: 't', arguments: { a: 1 } }, id: unknown = 1): ToolCallMessage {
  const message = host({ jsonrpc: '2.0', id, method: 'tools/call', params });
  assert.equal(message.kind, 'call');
  return message as ToolCallMessage;
}

function cut(framer: LineFramer, chunks: readonly Uint8Array[]): Framed[] {
  return [...chunks.flatMap((chunk) => framer.push(chunk)), ...framer.end()];
}

check('however a stream is cut, its lines are the same and not a byte is lost', () => {
  const stream = fc.array(fc.constantFrom(0x0a, 0x0d, 0x61, 0x62, 0xff, 0x00), { maxLength: 60 });
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(stream, sizes, fc.integer({ min: 1, max: 12 }), (list, cuts, most) => {
      const whole = Uint8Array.from(list);
      const chunks: Uint8Array[] = [];
      for (let at = 0, i = 0; at < whole.length; i += 1) {
        const size = cuts[i % cuts.length] ?? 1;
        chunks.push(whole.subarray(at, at + size));
        at += size;
      }
      const framed = cut(new LineFramer(most), chunks);
      assert.deepEqual(Buffer.concat(framed.map((one) => one.bytes)), Buffer.from(whole));
      const lines = framed.filter((one) => one.kind === 'line').map((one) => Buffer.from(one.bytes).toString('latin1'));
      const expected = (
        Buffer.from(whole)
          .toString('latin1')
          .match(/[^\n]*\n|[^\n]+$/g) ?? []
      ).filter((line) => line.replace(/\n$/, '').length <= most);
      assert.deepEqual(lines, expected);
    }),
    { numRuns: 1000 },
  );
});

check('a line beyond the bound comes in parts that are not held, and the next line is whole again', () => {
  const framer = new LineFramer(4);
  assert.deepEqual(
    framer.push(bytes('abcd\n')).map((one) => one.kind),
    ['line'],
    'the bound itself',
  );
  assert.deepEqual(framer.push(bytes('abcde')), [{ kind: 'part', bytes: bytes('abcde'), last: false }]);
  assert.deepEqual(framer.push(bytes('f')), [{ kind: 'part', bytes: bytes('f'), last: false }]);
  assert.deepEqual(framer.push(bytes('g\nxy\n')), [
    { kind: 'part', bytes: bytes('g\n'), last: true },
    { kind: 'line', bytes: bytes('xy\n') },
  ]);
  assert.deepEqual(framer.push(bytes('abcdef')), [{ kind: 'part', bytes: bytes('abcdef'), last: false }]);
  assert.deepEqual(
    framer.end(),
    [{ kind: 'part', bytes: new Uint8Array(), last: true }].map((one) => ({
      ...one,
      bytes: Buffer.alloc(0),
    })) as Framed[],
  );
});

check('a call of a tool is seen however its method is spelled', () => {
  for (const method of ['tools/call', 'tools\\/call', 'tools\\u002fcall', '\\u0074ools/call']) {
    const seen = host(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"t"}}\r\n`);
    assert.equal(seen.kind, 'call', method);
  }
});

check('a call keeps what it was: its id, numbers as they were spelled, its era, what it continues', () => {
  const first = host(
    '{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"t","arguments":{"x":1.0}}}',
  );
  assert.ok(first.kind === 'call');
  assert.equal(first.id, 12345678901234567890n);
  assert.equal(
    Buffer.from(editedLine(first, { ...first.arguments, y: 2 }, false)).toString(),
    '{"id":12345678901234567890,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"x":1.0,"y":2},"name":"t"}}\n',
  );
  assert.deepEqual([first.era, first.continues, first.asTask], ['session', null, false]);
  const version = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const second = call({ name: 't', _meta: version, requestState: 's', inputResponses: {}, task: { ttl: 1 } }, 'x');
  assert.deepEqual(
    [second.era, second.continues, second.asTask, second.arguments],
    ['stateless', { requestState: 's', responses: {} }, true, {}],
  );
  assert.deepEqual(call({ name: 't', arguments: null }).arguments, {}, 'no arguments, as some hosts write it');
  assert.deepEqual(call({ name: 't', inputResponses: {} }).continues, { requestState: null, responses: {} });
});

check('what is no call passes as it is', () => {
  const fine = [
    '\n',
    '\r\n',
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'page 2' } },
    { jsonrpc: '2.0', id: 1, method: 'notifications/cancelled' },
    [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 2, result: {} },
    ],
  ];
  for (const one of fine) assert.equal(host(one).kind, 'pass', JSON.stringify(one));
  assert.deepEqual(host({ id: 1, method: 'tools/list', params: {} }), { kind: 'list', id: 1 });
  const greeting = (capabilities: object) => host({ id: 1, method: 'initialize', params: { capabilities } });
  assert.deepEqual(greeting({}), { kind: 'initialize', elicits: false });
  assert.deepEqual(greeting({ elicitation: {} }), { kind: 'initialize', elicits: true });
  assert.deepEqual(greeting({ elicitation: { url: {} } }), { kind: 'initialize', elicits: false });
  assert.deepEqual(host({ id: 'e', result: { action: 'accept', method: 'tools/call' } }), {
    kind: 'reply',
    id: 'e',
    result: { action: 'accept', method: 'tools/call' },
  });
  assert.deepEqual(host({ method: 'notifications/cancelled', params: { requestId: 7 } }), { kind: 'cancel', id: 7 });
});

check('what the server might read otherwise than the guard is not passed on', () => {
  const unreadable = [
    'garbage',
    '7',
    '{"id":1,"method":"tools/list","method":"tools/call","params":{"name":"t"}}',
    '{"id":1,"method":"x","params":{"name":"a","name":"b"}}',
    '{"id":1,"method":["tools/call"],"params":{"name":"t"}}',
    '\ufeff{"id":1,"method":"ping"}',
    '{"id":1,"method":"ping","x":"\\ud800"}',
    `${'['.repeat(130)}${']'.repeat(130)}`,
    { method: 'tools/call', params: { name: 't' } },
    { id: null, method: 'tools/call', params: { name: 't' } },
    { id: {}, method: 'tools/call', params: { name: 't' } },
    { id: 1, method: 'tools/call' },
    { id: 1, method: 'tools/call', params: ['t'] },
    { id: 1, method: 'tools/call', params: { name: ['t'] } },
    { id: 1, method: 'tools/call', params: { name: '' } },
    { id: 1, method: 'ping', Method: 'tools/call', params: { name: 't' } },
    { id: 1, Method: 'tools/call', params: { name: 't' } },
    { id: 1, method: 'tools/call', params: { name: 't' }, PARAMS: { name: 'u' } },
    { id: 1, ID: 2, method: 'tools/call', params: { name: 't' } },
    { id: 1, method: 'tools/call', params: { name: 't', Name: 'u' } },
    { id: 1, method: 'tools/call', params: { name: 't', Arguments: { a: 1 } } },
    { id: 1, method: 'tools/call', params: { name: 't', argumentſ: { a: 1 } } },
    { id: 1, method: 'tools/call', params: { name: 't', arguments: [] } },
  ];
  for (const one of unreadable) {
    const seen = host(one);
    assert.ok(seen.kind === 'refused' && seen.code === 'MCP_MESSAGE_UNREADABLE', JSON.stringify(one));
  }
  assert.equal((host(unreadable.at(-1)) as { id: unknown }).id, 1, 'where it has an id the error goes there');
  const invalid = readHostLine(Uint8Array.from([0x22, 0xff, 0x22]));
  assert.equal(invalid.kind, 'refused');
  const batch = host([
    { id: 1, method: 'ping' },
    { id: 2, method: 'tools/call', params: { name: 't' } },
  ]);
  assert.ok(batch.kind === 'refused' && batch.code === 'MCP_BATCH_REFUSED');
  assert.equal(host([{ id: 1, method: 'ping' }, 7]).kind, 'refused');
  assert.equal(host([{ id: 1, method: 'ping', mEthod: 'tools/call' }]).kind, 'refused');
  assert.equal(host({ id: 1, method: 'tools/call', params: { name: 't', arguments: { a: 1, A: 2 } } }).kind, 'call');
});

check('a carriage return divides a line wherever it is not its end', () => {
  for (const [line, divided] of [
    ['{}\n', false],
    ['{}\r\n', false],
    ['{}\r\r\n', false],
    ['\r\n', false],
    ['{}', false],
    ['{\r}\n', true],
    ['\r{}\n', true],
    ['{}\r{}', true],
  ] as const)
    assert.equal(isDivided(bytes(line)), divided, JSON.stringify(line));
  const parts = partsOf(bytes('a\rb\r\rc\n')).map((part) => Buffer.from(part).toString());
  assert.deepEqual(parts, ['a', 'b', '', 'c\n']);
});

const waiting =
  (...keys: string[]) =>
  (key: string) =>
    keys.includes(key);
const server = (value: unknown, waits = waiting('n1')) =>
  readServerLine(bytes(typeof value === 'string' ? value : JSON.stringify(value)), waits);

check('only the answer to a waiting call is looked at, and its id is that very id', () => {
  const pass = [
    'garbage',
    '[]',
    { id: 2, result: {} },
    { id: '1', result: {} },
    { id: 1, method: 'ping' },
    { method: 'notifications/message', params: { result: {} } },
    { id: null, result: {} },
    [{ id: 1, result: {} }],
  ];
  for (const one of pass) assert.equal(server(one).kind, 'pass', JSON.stringify(one));
  assert.equal(server({ id: '1', result: {} }, waiting('s1')).kind, 'answer');
  assert.equal(server('{"id":1.0,"result":{}}').kind, 'answer');
  assert.equal(server({ id: 1, result: {} }, waiting()).kind, 'pass');
  assert.notEqual(idKey(1), idKey('1'));
  assert.deepEqual(idsInBatch(bytes('[{"id":1,"result":{}},{"id":"a","result":{}},7]')), [1, 'a']);
  assert.deepEqual(idsInBatch(bytes('{"id":1}')), []);
});

const ANSWERS: readonly (readonly [unknown, string])[] = [
  [{ id: 1, result: { content: [] } }, 'result'],
  [{ id: 1, result: { content: [], isError: false, resultType: 'complete' } }, 'result'],
  [{ id: 1, result: { content: [], isError: true } }, 'result error'],
  [{ id: 1, result: {} }, 'result'],
  [{ id: 1, result: { resultType: 'input_required', requestState: 's' } }, 'input_required'],
  [{ id: 1, result: { task: { taskId: 'x', status: 'working' } } }, 'task'],
  [{ id: 1, result: { content: [], task: { taskId: 'x' } } }, 'result'],
  [{ id: 1, error: { code: -32602, message: 'no' } }, 'error'],
  [{ id: 1, error: {} }, 'error'],
  [{ id: 1, result: {}, error: { code: 1, message: '' } }, 'unreadable'],
  [{ id: 1, error: null }, 'unreadable'],
  [{ id: 1, result: null }, 'unreadable'],
  [{ id: 1, result: [] }, 'unreadable'],
  [{ id: 1, result: { isError: 'false' } }, 'unreadable'],
  [{ id: 1, result: { isError: null } }, 'unreadable'],
  [{ id: 1, result: { resultType: 'partial' } }, 'unreadable'],
  [{ id: 1, result: { resultType: 7 } }, 'unreadable'],
  ['{"id":1,"result":{"isError":true,"isError":false}}', 'unreadable'],
  ['{"id":1,"result":{"content":[{"text":"\\ud800"}]}}', 'unreadable'],
];

check('an answer is a success only where it says nothing else, in one way', () => {
  for (const [line, expected] of ANSWERS) {
    const seen = server(line);
    assert.ok(seen.kind === 'answer', JSON.stringify(line));
    const { answer } = seen;
    const words = answer.kind === 'result' && answer.isError ? 'result error' : answer.kind;
    assert.equal(words, expected, JSON.stringify(line));
  }
});

check("the guard's own lines are one message each, and its results are never a success", () => {
  const told = { document: { outcome: 'unknown', code: 'OUTCOME' }, text: 'It may\nor may not have happened.' };
  for (const era of ['session', 'stateless'] as const) {
    const line = Buffer.from(outcomeLine({ id: 'a', era }, told)).toString();
    assert.equal(line.indexOf('\n'), line.length - 1);
    const message = JSON.parse(line) as { id: string; result: Record<string, unknown> };
    assert.deepEqual(
      [message.id, message.result['isError'], message.result['resultType']],
      ['a', true, era === 'stateless' ? 'complete' : undefined],
    );
    assert.deepEqual(message.result['_meta'], { 'holdfast/outcome': { outcome: 'unknown', code: 'OUTCOME' } });
  }
  const said = { kind: 'result', isError: true, result: { content: [{ type: 'text', text: 'own words' }] } } as const;
  const mixed = JSON.parse(
    Buffer.from(
      outcomeLine(
        { id: 1, era: 'session' },
        { ...told, said: { ...said, result: { content: [...said.result.content] } } },
      ),
    ).toString(),
  ) as { result: { isError: boolean; content: { text: string }[] } };
  assert.deepEqual(
    [mixed.result.isError, mixed.result.content.map((one) => one.text)],
    [true, ['own words', told.text]],
  );
  const failed = JSON.parse(
    Buffer.from(
      outcomeLine({ id: 1, era: 'session' }, { ...told, said: { kind: 'error', code: -32602, text: 'no' } }),
    ).toString(),
  ) as { error: { code: number; message: string } };
  assert.equal(failed.error.code, -32602);
  assert.ok(failed.error.message.includes(told.text));
  const error = JSON.parse(Buffer.from(errorLine(null, 'POLICY_DENIED', 'No.')).toString()) as Record<string, unknown>;
  assert.deepEqual([error['id'], (error['error'] as { code: number }).code], [null, -32600]);
});

check('rounds of one exchange are one operation; a forged, used or altered one is a new call', () => {
  const exchanges = new Continuations<string>();
  const first = call({ name: 't', arguments: { a: 1, b: 2 } });
  const asked = { kind: 'input_required', requestState: 's1', result: {} } as const;
  exchanges.remember(first, asked, 'operation');
  const next = (params: Record<string, unknown>) =>
    call({ name: 't', arguments: { b: 2, a: 1 }, requestState: 's1', ...params }, 2);
  assert.equal(exchanges.take(first), undefined, 'it continues nothing');
  assert.equal(exchanges.take(next({ requestState: 'forged' })), undefined);
  assert.equal(exchanges.take(next({ arguments: { a: 9 } })), undefined);
  assert.equal(exchanges.take(next({ name: 'u' })), undefined);
  assert.equal(exchanges.take(next({})), 'operation');
  assert.equal(exchanges.take(next({})), undefined, 'once');
  for (let i = 0; i < 1025; i += 1) exchanges.remember(first, { ...asked, requestState: `n${i}` }, `o${i}`);
  assert.equal(exchanges.take(next({ requestState: 'n0' })), undefined, 'the oldest is forgotten');
  assert.equal(exchanges.take(next({ requestState: 'n1024' })), 'o1024');
});

const OWN = { name: 'own', inputSchema: { type: 'object' } };
const listed = (text: string): string | null => {
  const told = withToolListed(Buffer.from(text), OWN);
  return told && Buffer.from(told).toString();
};

check('a tool is added to a list by bytes alone: nothing else of the list is another', () => {
  const own = '{"inputSchema":{"type":"object"},"name":"own"}';
  for (const [before, after] of [
    ['{"id":1,"result":{"tools":[]}}', `{"id":1,"result":{"tools":[${own}]}}`],
    [
      '{"result":{"tools" : [ {"name":"a"}],"n":1.0},"id":1}\n',
      `{"result":{"tools" : [${own}, {"name":"a"}],"n":1.0},"id":1}\n`,
    ],
    [
      '{"id":1,"result":{"_meta":{"tools":[]},"tools":[{"name":"é","inputSchema":{"tools":[1]}}]}}',
      `{"id":1,"result":{"_meta":{"tools":[]},"tools":[${own},{"name":"é","inputSchema":{"tools":[1]}}]}}`,
    ],
  ] as const)
    assert.equal(listed(before), after);
});

check('what is no list, has that tool already, or cannot be read in one way, is left alone', () => {
  for (const text of [
    '{"id":1,"result":{"tools":{}}}',
    '{"id":1,"result":{}}',
    '{"id":1,"error":{"code":1}}',
    '{"id":1,"result":{"tools":[{"name":"own"}]}}',
    '{"id":1,"result":{"tools":[],"tools":[]}}',
    '{"id":1,"result":{"to\\u006fls":[]}}',
    'no JSON',
    `{"id":1,"result":{"a":[${'{"tools":[1]},'.repeat(16)}0],"tools":[]}}`,
  ])
    assert.equal(listed(text), null, text);
});
