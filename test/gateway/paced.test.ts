import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { oracle } from '../archive/support/packages.ts';
import { assert, check, type Ending } from '../support/index.ts';
import { sessionWithWorkspace, staged } from './package-world.ts';
import { openWorld, type World } from './world.ts';

const IMPORT = '/api/v1/sessions/import';
/** What other requests have. */
const SHORT = { headMs: 1000, requestMs: 1000 };
const PACKAGE = oracle('a-minimal');

/** A connection by hand, and what came over it so far. */
function dial(t: Ending, world: World) {
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  const heard = { text: '' };
  socket.setEncoding('latin1').on('data', (part: string) => (heard.text += part));
  socket.on('error', () => undefined);
  const until = async (isSo: () => boolean) => {
    while (!isSo() && !socket.closed) await sleep(10);
  };
  return { socket, heard, until };
}

const headOf = (path: string, token: string, lines: readonly string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...lines, '', ''].join('\r\n');

const lengthOf = (bytes: Uint8Array) => `Content-Length: ${bytes.length}`;

async function bitByBit(socket: Socket, bytes: Uint8Array, pieces: number): Promise<void> {
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) {
    socket.write(bytes.subarray(at, at + size));
    await sleep(60);
  }
}

check('a package may take longer than other requests, and after it they may not, on the same connection', async (t) => {
  const world = await openWorld(t, SHORT);
  const token = await world.token(['agent']);
  const { socket, heard, until } = dial(t, world);
  socket.write(headOf(IMPORT, token, [lengthOf(PACKAGE)]));
  await bitByBit(socket, PACKAGE, 25);
  await until(() => heard.text.includes('"root_frame_id"'));
  assert.match(heard.text, /^HTTP\/1.1 201 /);
  // In chunks, too.
  heard.text = '';
  socket.write(headOf(IMPORT, token, ['Transfer-Encoding: chunked']));
  const size = Math.ceil(PACKAGE.length / 25);
  for (let at = 0; at < PACKAGE.length; at += size) {
    const piece = PACKAGE.subarray(at, at + size);
    socket.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
    await sleep(60);
  }
  socket.write('0\r\n\r\n');
  await until(() => heard.text.includes('"root_frame_id"'));
  assert.match(heard.text, /^HTTP\/1.1 201 /);
  heard.text = '';
  const json = ['Content-Type: application/json', 'Idempotency-Key: slow', 'Content-Length: 20'];
  socket.write(headOf('/api/v1/projects', token, json));
  socket.write('{"na');
  await until(() => false);
  assert.match(heard.text, /^HTTP\/1.1 (?:408|400) /);
  assert.deepEqual(staged(world), []);
  assert.equal((await (await world.client(['agent'])).listSessions()).sessions.length, 2);
});

check('a package of which nothing comes is refused, whatever else it may take', async (t) => {
  const world = await openWorld(t, { ...SHORT, packageIdleMs: 1500 });
  const token = await world.token(['agent']);
  for (const path of [IMPORT, '/api/v1/sessions/verify']) {
    const { socket, heard, until } = dial(t, world);
    socket.write(headOf(path, token, [lengthOf(PACKAGE)]));
    socket.write(PACKAGE.subarray(0, 100));
    await until(() => false);
    assert.match(heard.text, /^HTTP\/1.1 408 [\s\S]*"PACKAGE_TOO_SLOW"/, path);
    assert.match(heard.text, /"limit_ms":1500/);
    assert.deepEqual(staged(world), []);
  }
  assert.deepEqual((await (await world.client(['agent'])).listSessions()).sessions, []);
});

check('a package that comes for ever is refused, and its connection is not kept for what still drips', async (t) => {
  const world = await openWorld(t, { ...SHORT, packageMs: 1500 });
  const token = await world.token(['agent']);
  const { socket, heard } = dial(t, world);
  socket.write(headOf(IMPORT, token, [lengthOf(PACKAGE)]));
  for (let at = 0; !socket.closed; at += 1) {
    socket.write(PACKAGE.subarray(at, at + 1));
    await sleep(20);
  }
  assert.match(heard.text, /^HTTP\/1.1 408 [\s\S]*"PACKAGE_TOO_SLOW"[\s\S]*"limit_ms":1500/);
  assert.deepEqual(staged(world), []);
});

check('who may not send a package gets no more time for it than for anything else', async (t) => {
  const world = await openWorld(t, SHORT);
  const reader = await world.token(['approver']);
  for (const token of ['nothing', reader]) {
    const { socket, heard } = dial(t, world);
    socket.write(headOf(IMPORT, token, [lengthOf(PACKAGE)]));
    for (let at = 0; !socket.closed; at += 1) {
      socket.write(PACKAGE.subarray(at, at + 1));
      await sleep(20);
    }
    assert.match(heard.text, /^HTTP\/1.1 40[13] /);
  }
});

const LARGE = 28 * 1024 * 1024;

/** A session of which the package is larger than what a connection holds by itself. */
async function large(t: Ending, world: World) {
  const { root, folder } = await sessionWithWorkspace(world, { 'a.txt': 'a' });
  // Without a letter: by chance some would have the shape of a secret, and the file would stay here.
  const noise = randomBytes(LARGE).map((byte) => byte | 0x80);
  writeFileSync(join(folder, 'large.bin'), noise);
  const token = await world.token(['agent']);
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  const path = `/api/v1/frames/${root}/session/export`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
  return socket;
}

check('a package that nobody takes any more is given up, and leaves no file', async (t) => {
  const world = await openWorld(t, { packageIdleMs: 300 });
  const socket = await large(t, world);
  while (staged(world).length === 0) await sleep(10);
  for (let tries = 0; staged(world).length > 0 && tries < 1000; tries += 1) await sleep(10);
  assert.deepEqual(staged(world), []);
  let bytes = 0;
  socket.on('data', (part) => (bytes += part.length));
  socket.resume();
  await once(socket, 'close');
  assert.ok(bytes < LARGE / 2, 'it was cut');
});

check('a package that is taken slowly, but taken, comes whole', async (t) => {
  const world = await openWorld(t, SHORT);
  const socket = await large(t, world);
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
    if (bytes % 50 === 0) return;
    socket.pause();
    setTimeout(() => socket.resume(), 2);
  });
  socket.resume();
  await once(socket, 'close');
  assert.ok(bytes > LARGE / 2);
  while (staged(world).length > 0) await sleep(10);
  assert.deepEqual(staged(world), []);
});
