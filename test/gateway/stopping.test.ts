import { connect, Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, type World } from './world.ts';

/** Far more than any step of a stop needs, and far less than the time that is given to what was begun. */
const SOON_MS = 1000;

/** How long the gateway takes to stop while this goes on. */
async function stopped(world: World): Promise<number> {
  const began = performance.now();
  await world.close();
  return performance.now() - began;
}

check('a gateway that stops waits for no connection on which only a stream of events went on', async (t) => {
  const world = await openWorld(t);
  const authorization = `Bearer ${await world.token(['agent'])}`;
  const stream = await fetch(`${world.url}/api/v1/events`, { headers: { authorization } });
  const reader = stream.body?.getReader();
  await reader?.read();
  const ms = stopped(world);
  while (!(await reader?.read())?.done) continue;
  assert.ok((await ms) < SOON_MS, `it took ${await ms} ms`);
});

check(
  'a request that was begun is answered, and its connection is told to close and is waited for no longer',
  async (t) => {
    const world = await openWorld(t);
    const body = '{"name":"late"}';
    const head = [
      'POST /api/v1/projects HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${await world.token(['agent'])}`,
      'Content-Type: application/json',
      'Idempotency-Key: late',
      `Content-Length: ${body.length}`,
    ];
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    t.after(() => socket.destroy());
    let told = '';
    socket.setEncoding('latin1').on('data', (text: string) => (told += text));
    socket.on('error', () => undefined);
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 4)}`);
    await sleep(200);
    const ms = stopped(world);
    await sleep(50);
    socket.write(body.slice(4));
    assert.ok((await ms) < SOON_MS, `it took ${await ms} ms`);
    assert.match(told, /^HTTP\/1.1 201 [\s\S]*"name":"late"/);
    assert.match(told, /^connection: close\r$/im);
  },
);

check('a connection that the system does not give is told in the log, and the gateway goes on', async (t) => {
  const lines: string[] = [];
  const world = await openWorld(t, { log: createLog({ write: (line) => lines.push(line) }) });
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles: () => unknown[] };
  const servers = handles.call(process).filter((one) => one instanceof Server && one.listening);
  assert.equal(servers.length, 1);
  // As Node.js tells of an `accept` that failed, each time.
  const refused = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });
  for (let i = 0; i < 2; i += 1) (servers[0] as Server).emit('error', refused);
  assert.equal((await fetch(`${world.url}/readyz`)).status, 200);
  assert.equal(lines.filter((line) => line.includes('gateway.not_accepted') && line.includes('EMFILE')).length, 2);
});
