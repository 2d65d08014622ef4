import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/core/index.ts';
import { ROUTES } from '../../src/gateway/routes/index.ts';
import { assert, check } from '../support/index.ts';
import { ACCESS } from './access-rows/index.ts';
import { openWorld, type World } from './world.ts';

/** A connection by hand; `said` is all that the server has said when it closed it, or `quietMs` after its last word. */
function dial(world: World, quietMs = 400): { socket: Socket; said: Promise<string> } {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  const said = new Promise<string>((settle) => {
    let text = '';
    const end = (): void => {
      socket.destroy();
      settle(text);
    };
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      socket.setTimeout(quietMs, end);
    });
    socket.on('error', end).on('close', end);
  });
  return { socket, said };
}

async function send(world: World, bytes: string | Uint8Array): Promise<string> {
  const { socket, said } = dial(world);
  socket.write(bytes);
  return said;
}

const statusesOf = (text: string): number[] =>
  [...text.matchAll(/(?:^|\r\n|\})HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

const BODY = '{"name":"smuggled"}';

function head(token: string, lines: readonly string[], method = 'POST /api/v1/projects HTTP/1.1'): string {
  const json = ['Content-Type: application/json', 'Idempotency-Key: raw'];
  return [method, 'Host: x', `Authorization: Bearer ${token}`, ...json, ...lines, '', ''].join('\r\n');
}

const chunked = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const length = `Content-Length: ${BODY.length}`;
const NEXT = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

/** Each is one request that two readers could end at different places; `NEXT` stands where the second would begin. */
const SMUGGLED: Readonly<Record<string, (token: string) => string>> = {
  'two lengths': (t) => `${head(t, [length, 'Content-Length: 3'])}${BODY}${NEXT}`,
  'two lengths in one': (t) => `${head(t, [`Content-Length: ${BODY.length}, ${BODY.length}`])}${BODY}${NEXT}`,
  'a length and chunks': (t) => `${head(t, [length, 'Transfer-Encoding: chunked'])}${chunked}${NEXT}`,
  'chunks and a length': (t) => `${head(t, ['Transfer-Encoding: chunked', length])}${chunked}${NEXT}`,
  'an unknown coding': (t) => `${head(t, ['Transfer-Encoding: xchunked'])}${chunked}${NEXT}`,
  'chunked that is not last': (t) => `${head(t, ['Transfer-Encoding: chunked, identity'])}${chunked}${NEXT}`,
  'chunked, hidden by a tab': (t) => `${head(t, ['Transfer-Encoding:\x0bchunked'])}${chunked}${NEXT}`,
  'a blank before the colon': (t) => `${head(t, [`Content-Length : ${BODY.length}`])}${BODY}${NEXT}`,
  'a folded header': (t) => `${head(t, ['X-A: b\r\n Transfer-Encoding: chunked'])}${chunked}${NEXT}`,
  'a length with a sign': (t) => `${head(t, [`Content-Length: +${BODY.length}`])}${BODY}${NEXT}`,
  'a length in hexadecimal': (t) => `${head(t, ['Content-Length: 0x13'])}${BODY}${NEXT}`,
  'a length below nothing': (t) => `${head(t, ['Content-Length: -1'])}${BODY}${NEXT}`,
  'a length beyond all bounds': (t) => `${head(t, ['Content-Length: 99999999999999999999'])}${BODY}${NEXT}`,
  'a chunk with a wrong size': (t) => `${head(t, ['Transfer-Encoding: chunked'])}zz\r\n${BODY}\r\n0\r\n\r\n${NEXT}`,
  'a chunk beyond all bounds': (t) =>
    `${head(t, ['Transfer-Encoding: chunked'])}ffffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n${NEXT}`,
  'a chunk that goes on after its end': (t) =>
    `${head(t, ['Transfer-Encoding: chunked'])}5\r\n${BODY}\r\n0\r\n\r\n${NEXT}`,
  'a NUL in a header': (t) => `${head(t, [`X-A: a\0b`, length])}${BODY}${NEXT}`,
  'a bare line feed in a header': (t) => `${head(t, [`X-A: a\nContent-Length: 3`, length])}${BODY}${NEXT}`,
};

check(
  'a request whose end is not certain is refused, nothing behind it is answered, and nothing is made',
  async (t) => {
    const world = await openWorld(t);
    const token = await world.token(['agent']);
    for (const [name, of] of Object.entries(SMUGGLED)) {
      const answer = await send(world, of(token));
      assert.deepEqual(statusesOf(answer), [400], `${name}: ${answer.slice(0, 300)}`);
      assert.ok(!answer.includes('alive'), name);
    }
    const { projects } = await (await world.client(['agent'])).listProjects();
    assert.deepEqual(
      projects.map(({ name }) => name),
      ['default'],
    );
    assert.equal((await fetch(`${world.url}/readyz`)).status, 200);
  },
);

check('heads that are no heads, or too large, are refused before anything is looked at', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const odd: Readonly<Record<string, readonly number[]>> = {
    [`${head(token, [`X-A: ${'a'.repeat(17 * 1024)}`])}`]: [431],
    [`GET /${'a'.repeat(17 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`]: [431],
    'GET /healthz HTTP/1.1\r\n\r\n': [400],
    'GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n': [400],
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n': [400],
    'NONSENSE /healthz HTTP/1.1\r\nHost: x\r\n\r\n': [400],
    'get /healthz HTTP/1.1\r\nHost: x\r\n\r\n': [400],
    'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n': [],
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03': [400],
  };
  for (const [bytes, statuses] of Object.entries(odd)) {
    const answer = await send(world, Buffer.from(bytes, 'latin1'));
    assert.deepEqual(statusesOf(answer), statuses, bytes.slice(0, 40));
  }
  assert.equal((await fetch(`${world.url}/readyz`)).status, 200);
});

check('bytes that are no UTF-8 in a path, a query, a header or a body are refused, never guessed at', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const get = (path: string, more = ''): Buffer =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}${more}\r\n\r\n`, 'latin1');
  assert.ok(statusesOf(await send(world, get('/api/v1/runs/%ff%fe'))).every((status) => status >= 400 && status < 500));
  assert.ok(statusesOf(await send(world, get('/api/v1/runs/\xff'))).every((status) => status >= 400 && status < 500));
  assert.deepEqual(statusesOf(await send(world, get('/api/v1/runs?after=%C0%AF'))), [200]);
  assert.deepEqual(statusesOf(await send(world, get('/api/v1/runs', '\xff\xfe'))), [401]);
  const bad = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  const post = Buffer.concat([Buffer.from(head(token, [`Content-Length: ${bad.length}`])), bad]);
  assert.match(await send(world, post), /^HTTP\/1.1 400 [\s\S]*JSON_ENCODING/);
});

check('every route with a body takes JSON and nothing that only looks like it', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent', 'approver', 'admin']);
  // One that is there, so that nothing is refused before the body is looked at.
  const { session_id: session } = await (await world.client(['agent'])).createSession();
  const wrong = [
    '',
    'text/plain',
    'application/jsonp',
    'application/json, text/plain',
    'application/json; charset=utf-16',
  ];
  for (const { id, method, path, body, takes } of ROUTES.filter((route) => route.body !== null && !route.takes)) {
    assert.ok(body && !takes);
    for (const type of wrong) {
      const response = await fetch(`${world.url}${path.replace(/\{\w+\}/g, session)}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': type, 'idempotency-key': crypto.randomUUID() },
        body: Buffer.from(JSON.stringify(ACCESS[id]?.body ?? {})),
      });
      const { error } = (await response.json()) as { error: { code: string } };
      assert.deepEqual([response.status, error.code], [415, 'CONTENT_TYPE_UNSUPPORTED'], `${id}: ${type}`);
    }
  }
});

check('every route with a body refuses one that is too deep or too long before it reads it', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent', 'approver', 'admin']);
  const { session_id: session } = await (await world.client(['agent'])).createSession();
  const deep = '['.repeat(100_000);
  const long = `{"x":"${'x'.repeat(1024 * 1024)}"}`;
  for (const { id, method, path } of ROUTES.filter((route) => route.body !== null && !route.takes))
    for (const [body, code] of [
      [deep, 'JSON_TOO_DEEP'],
      [long, 'LIMIT_REACHED'],
    ] as const) {
      const response = await fetch(`${world.url}${path.replace(/\{\w+\}/g, session)}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': crypto.randomUUID(),
        },
        body,
      });
      const { error } = (await response.json()) as { error: { code: string } };
      assert.deepEqual([response.status, error.code], [413, code], id);
    }
});

interface Slow {
  readonly first: string;
  /** What it sends now and then, so that it is never quiet. */
  readonly rest: string;
}

/** Opens slow connections, eight of each kind; gives what each was told once it is closed, serving others meanwhile. */
async function slowly(world: World, slow: readonly Slow[]): Promise<readonly string[]> {
  const dialled = slow.flatMap((one) => Array.from({ length: 8 }, () => ({ ...dial(world, 5000), ...one })));
  for (const { socket, first } of dialled) socket.write(first);
  let over = false;
  const dripping = (async () => {
    while (!over) {
      for (const { socket, rest } of dialled) if (rest !== '' && !socket.destroyed) socket.write(rest);
      await sleep(40);
    }
  })();
  for (let i = 0; i < 10; i += 1) assert.equal((await fetch(`${world.url}/readyz`)).status, 200);
  const said = await Promise.all(dialled.map((one) => one.said));
  over = true;
  await dripping;
  return said;
}

check('slow heads are cut off in time, and others are served meanwhile', async (t) => {
  const world = await openWorld(t, { headMs: 300, requestMs: 600_000 });
  const first = 'POST /api/v1/projects HTTP/1.1\r\nHost: x\r\n';
  const said = await slowly(world, [
    { first: '', rest: '' },
    { first, rest: '' },
    { first, rest: 'X-A: b\r\n' },
  ]);
  for (const text of said) assert.ok(/^HTTP\/1.1 408 /.test(text) || text === '', text);
});

check('slow bodies are cut off in time, and others are served meanwhile', async (t) => {
  const lines: string[] = [];
  const log = createLog({ write: (line) => lines.push(line) });
  const world = await openWorld(t, { headMs: 300, requestMs: 600, log });
  const token = await world.token(['agent']);
  const said = await slowly(world, [
    { first: `${head(token, [length])}{"na`, rest: '' },
    { first: head(token, ['Transfer-Encoding: chunked']), rest: '1\r\n{\r\n' },
  ]);
  for (const text of said) assert.ok(/^HTTP\/1.1 (?:408|400) /.test(text) || text === '', text);
  assert.ok(!lines.some((line) => line.includes('"level":"error"')), lines.join('\n'));
  assert.equal((await (await world.client(['agent'])).listProjects()).projects.length, 1);
});

check('bodies that are cut off anywhere make nothing, whatever was there of them', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const whole = `${head(token, [length])}${BODY}`;
  for (let cut = 1; cut < whole.length; cut += 9) {
    const { socket, said } = dial(world);
    socket.end(whole.slice(0, cut));
    assert.ok(
      statusesOf(await said).every((status) => status === 400),
      String(cut),
    );
  }
  assert.equal((await (await world.client(['agent'])).listProjects()).projects.length, 1);
});

check('a header that means one thing may be given once', async (t) => {
  const world = await openWorld(t);
  const token = await world.token(['agent']);
  const twice = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Idempotency-Key: raw'];
  for (const line of twice)
    assert.match(
      await send(world, `${head(token, [length, line])}${BODY}`),
      /^HTTP\/1.1 400 [\s\S]*REQUEST_INVALID/,
      line,
    );
  const stream = head(token, ['Last-Event-ID: 0', 'Last-Event-ID: 1'], 'GET /api/v1/events HTTP/1.1');
  assert.match(await send(world, stream), /^HTTP\/1.1 400 [\s\S]*header last-event-id/);
});

check('a request whose address is none is refused in the one form of refusals, under an id of its own', async (t) => {
  const lines: string[] = [];
  const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }) });
  for (const head of [
    'OPTIONS * HTTP/1.1\r\nHost: x',
    'GET /healthz HTTP/1.1\r\nHost: a b',
    'GET /healthz HTTP/1.1\r\nHost: user@x',
    'GET /a\\b HTTP/1.1\r\nHost: x',
    'GET ftp://x/healthz HTTP/1.1\r\nHost: x',
  ]) {
    const answer = await send(world, `${head}\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /^HTTP\/1.1 400 [\s\S]*\{"error":\{"code":"REQUEST_INVALID"/, head);
    assert.match(answer, /^x-content-type-options: nosniff\r$/im, head);
    const id = /^x-request-id: ([0-9a-f]{32})\r$/im.exec(answer)?.[1] ?? 'none';
    assert.ok(
      lines.some((line) => line.includes(id) && line.includes('"status":400')),
      head,
    );
  }
});
