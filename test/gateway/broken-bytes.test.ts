import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/core/index.ts';
import { assert, check, type Ending } from '../support/index.ts';
import { sessionWithWorkspace, staged } from './package-world.ts';
import { openWorld, type World } from './world.ts';

const packsOf = ({ dataDir }: World): string[] => {
  const folder = join(dataDir, 'workspace-cas', 'packs');
  return readdirSync(folder).map((name) => join(folder, name));
};

/** The packs that this process has open, where the system says so. */
function openPacks({ dataDir }: World): string[] {
  const here = '/proc/self/fd';
  if (!existsSync(here)) return [];
  const open = readdirSync(here).map((fd) => {
    try {
      return readlinkSync(join(here, fd));
    } catch {
      return '';
    }
  });
  return open.filter((path) => path.startsWith(join(dataDir, 'workspace-cas', 'packs')));
}

/** Changes one byte of what the file holds, far from its head. */
function damage(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0xff;
  rmSync(file);
  writeFileSync(file, bytes);
}

/** A gateway with a log, and one artifact version of these bytes alone in its pack. */
async function worldWith(t: Ending, bytes: Buffer, packageIdleMs = 30_000) {
  const lines: string[] = [];
  const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }), packageIdleMs });
  const { session_id: session } = await (await world.client(['agent'])).createSession();
  const { histories, principal } = world.holdfast.runtime;
  const { id } = await histories.artifacts.add(principal, session, { filename: 'a.bin', bytes });
  const token = await world.token(['agent']);
  const get = () =>
    fetch(`${world.url}/api/v1/artifacts/versions/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return { world, lines, id, token, get };
}

/** What the process says beside its log while the body runs. */
async function saidBeside(body: () => Promise<unknown>): Promise<string[]> {
  const said: string[] = [];
  const { error, info } = console;
  console.error = console.info = (...words: unknown[]) => void said.push(words.map(String).join(' '));
  try {
    await body();
    await sleep(50);
  } finally {
    Object.assign(console, { error, info });
  }
  return said;
}

check(
  'an artifact whose content is damaged is refused before its first byte, with the code, and in the log',
  async (t) => {
    const { world, lines, get } = await worldWith(t, Buffer.from('what was written'));
    const said = await saidBeside(async () => {
      const whole = await get();
      assert.deepEqual([whole.status, await whole.text()], [200, 'what was written']);
      for (const file of packsOf(world)) damage(file, readFileSync(file).indexOf('was'));
      const damaged = await get();
      assert.equal(damaged.status, 500);
      assert.match(await damaged.text(), /"code":"WORKSPACE_PACK_CORRUPT"/);
      for (const file of packsOf(world)) rmSync(file);
      const lost = await get();
      assert.equal(lost.status, 500);
      assert.match(await lost.text(), /^\{"error":\{"code":"(?!UNEXPECTED)/);
    });
    assert.deepEqual(said, []);
    assert.equal(lines.filter((line) => line.includes('"level":"error"')).length, 2);
  },
);

check('of a larger one the last piece never comes, and the log says why, under the id of the request', async (t) => {
  const bytes = randomBytes(5 * 1024 * 1024);
  const { world, lines, get } = await worldWith(t, bytes);
  const [pack = ''] = packsOf(world);
  damage(pack, readFileSync(pack).indexOf(bytes.subarray(-100, -50)));
  const said = await saidBeside(async () => {
    const answer = await get();
    assert.equal(answer.status, 200);
    let came = 0;
    const reading = (async () => {
      for await (const part of answer.body ?? []) came += part.byteLength;
    })();
    const began = performance.now();
    await assert.rejects(reading);
    assert.ok(performance.now() - began < 3000, 'it is cut, and not waited for');
    assert.ok(came < bytes.length, `${came} bytes came`);
    const id = answer.headers.get('x-request-id') ?? '';
    const errors = lines.filter((line) => line.includes('"level":"error"'));
    assert.equal(errors.length, 1);
    assert.match(errors[0] ?? '', new RegExp(`WORKSPACE_PACK_CORRUPT.*${id}`));
  });
  assert.deepEqual(said, []);
});

check('a package whose file is cut short under it is cut, and the log says so', async (t) => {
  const lines: string[] = [];
  const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }) });
  const noise = randomBytes(6 * 1024 * 1024).map((byte) => byte | 0x80);
  const { root, folder } = await sessionWithWorkspace(world, { 'a.txt': 'a' });
  writeFileSync(join(folder, 'large.bin'), noise);
  const token = await world.token(['agent']);
  const said = await saidBeside(async () => {
    const answer = await fetch(`${world.url}/api/v1/frames/${root}/session/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    for (const name of staged(world).filter((one) => !one.includes('.')))
      truncateSync(join(world.dataDir, 'package-staging', name, 'package.zip'), 5 * 1024 * 1024);
    await assert.rejects(answer.arrayBuffer());
  });
  assert.deepEqual(said, []);
  assert.ok(lines.some((line) => line.includes('"event":"gateway.reply_broken"')));
});

check('an artifact that nobody takes any more is given up, as a package is', async (t) => {
  const bytes = randomBytes(24 * 1024 * 1024);
  const { world, id, token } = await worldWith(t, bytes, 300);
  const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.pause();
  const path = `/api/v1/artifacts/versions/${id}`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await sleep(1500);
  let came = 0;
  socket.on('data', (part) => (came += part.length));
  socket.resume();
  while (!socket.closed && came < bytes.length) await sleep(10);
  assert.ok(came < bytes.length, 'it was cut');
  assert.deepEqual(openPacks(world), []);
});

check('an artifact that is asked for and left at once holds no file open', async (t) => {
  const { world, id, token } = await worldWith(t, randomBytes(8 * 1024 * 1024));
  for (let i = 0; i < 20; i += 1) {
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET /api/v1/artifacts/versions/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await sleep(i);
    socket.destroy();
  }
  for (let tries = 0; openPacks(world).length > 0 && tries < 200; tries += 1) await sleep(10);
  assert.deepEqual(openPacks(world), []);
});
