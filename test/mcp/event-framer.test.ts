import fc from 'fast-check';
import { EventFramer, type FramedEvent } from '../../src/mcp/wire/event-framer.ts';
import { assert, check } from '../support/index.ts';
import { httpWorld } from './http-world.ts';

const EVENTS = { 'content-type': 'text/event-stream' };
const textOf = (bytes: Uint8Array | null): string | null => (bytes === null ? null : Buffer.from(bytes).toString());

/** What is framed of a stream that comes in these pieces, and what is left at its end. */
function framed(pieces: readonly string[], most?: number): { events: FramedEvent[]; rest: string } {
  const framer = new EventFramer(most);
  const events = pieces.flatMap((piece) => framer.push(Buffer.from(piece)));
  return { events, rest: textOf(framer.end()) ?? '' };
}

const dataOf = (events: readonly FramedEvent[]): string[] =>
  events.flatMap((event) => (event.kind === 'block' ? (textOf(event.data) ?? []) : []));

check('an event is there with the last byte of its end, whatever ends its lines', () => {
  for (const end of ['\n', '\r', '\r\n']) {
    const { events, rest } = framed([`: hello${end}id: 7${end}event: odd${end}data: a${end}data: b${end}${end}`]);
    assert.equal(rest, '', JSON.stringify(end));
    const whole = events.map((event) => textOf(event.bytes)).join('');
    assert.equal(whole, `: hello${end}id: 7${end}event: odd${end}data: a${end}data: b${end}${end}`);
    const last = events.at(-1);
    assert.ok(last?.kind === 'block');
    assert.deepEqual([textOf(last.data), last.id, last.type], ['a\nb', '7', 'odd']);
  }
});

check('an end of two bytes that comes in two pieces is whole as well', () => {
  const { events, rest } = framed(['data: a\r\n\r', '\n', 'data: b\r\n', '\r', '\ndata: c\r\n\r\n']);
  assert.equal(rest, '');
  assert.deepEqual(
    events.map((event) => textOf(event.bytes)),
    ['data: a\r\n\r\n', 'data: b\r\n\r\n', 'data: c\r\n\r\n'],
  );
  assert.deepEqual(
    framed([': a\r', '\n']).events.map((event) => textOf(event.bytes)),
    [': a\r', '\n'],
    'where nothing says yet how lines end, nothing waits',
  );
});

check('however a stream is cut, not a byte is lost and its messages are the same', () => {
  const lines = fc.array(fc.constantFrom('data: a', 'data: b', ': c', 'id: 1', ''), { maxLength: 20 });
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(lines, fc.constantFrom('\n', '\r', '\r\n'), sizes, (all, end, cuts) => {
      const stream = all.map((line) => `${line}${end}`).join('');
      const pieces: string[] = [];
      for (let at = 0, i = 0; at < stream.length; i += 1) {
        const size = cuts[i % cuts.length] ?? 1;
        pieces.push(stream.slice(at, at + size));
        at += size;
      }
      const { events, rest } = framed(pieces);
      assert.equal(events.map((event) => textOf(event.bytes)).join('') + rest, stream);
      assert.deepEqual(dataOf(events), dataOf(framed([stream]).events));
    }),
  );
});

check('a host gets an event whole while its stream stays open, also where lines end in two bytes', async (t) => {
  const sent = 'data: {"method":"x"}\r\n\r\n';
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(200, EVENTS).write(sent));
  const stream = await world.open({ method: 'GET' });
  let got = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    got += chunk.toString();
    if (got.length >= sent.length) break;
  }
  assert.equal(got, sent);
});

check('an answer whose lines end in two bytes reaches its host whole', async (t) => {
  const body = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}';
  const sent = `id: a\r\ndata: ${body}\r\n\r\n`;
  const world = await httpWorld(t, (_arrived, response) => void response.writeHead(200, EVENTS).end(sent));
  for (const name of ['read', 'write']) {
    const params = { name, arguments: {} };
    const reply = await world.send({ body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }) });
    assert.equal(reply.body, sent, name);
  }
});
