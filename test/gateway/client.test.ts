import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HoldfastClient } from '../../src/client/index.ts';
import { appendFeed } from '../../src/store/index.ts';
import { assert, check, type Ending } from '../support/index.ts';
import { openWorld } from './world.ts';

/** Something that listens where the gateway was thought to be. */
async function another(t: Ending, status: number, headers: Record<string, string>, body: string): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(status, headers).end(body));
  await new Promise<void>((settle) => void server.listen(0, '127.0.0.1', settle));
  t.after(() => new Promise((settle) => server.close(settle)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

check('an address that ends with a slash is the same address', async (t) => {
  const world = await openWorld(t);
  const client = new HoldfastClient({ url: `${world.url}/`, token: await world.token(['agent']) });
  assert.equal((await client.listProjects()).projects.length, 1);
  const stream = client.events({ after: 0 });
  await world.holdfast.runtime.store.write('test.append', (tx) =>
    appendFeed(tx, { tenantId: 'local', kind: 'test.made', reference: 'x' }),
  );
  assert.equal((await stream.next()).value?.reference, 'x');
  await stream.return();
});

check('what is no address of a gateway is refused when the client is made, by its name', () => {
  for (const url of ['localhost:8787', '127.0.0.1:8787', '', 'ftp://127.0.0.1/', 'http://'])
    assert.throws(() => new HoldfastClient({ url, token: 't' }), { code: 'INVALID_VALUE' }, url);
});

check(
  'events from what is not a gateway end with an error; what stands before a gateway may fail for a while',
  async (t) => {
    const html = { 'content-type': 'text/html' };
    for (const [status, body] of [
      [404, 'nothing here'],
      [200, '<p>Welcome</p>'],
      [403, ''],
    ] as const) {
      const client = new HoldfastClient({ url: await another(t, status, html, body), token: 't' });
      await assert.rejects(client.events().next(), /is not the gateway's/, String(status));
    }
    const world = await openWorld(t);
    let answers = 0;
    const early: typeof fetch = async (url, init) => {
      answers += 1;
      return answers === 1 ? new Response('the gateway is away', { status: 502 }) : fetch(url, init);
    };
    const client = new HoldfastClient({ url: world.url, token: await world.token(['agent']), fetch: early });
    const stream = client.events({ after: 0 });
    const next = stream.next();
    await world.holdfast.runtime.store.write('test.append', (tx) =>
      appendFeed(tx, { tenantId: 'local', kind: 'test.made', reference: 'x' }),
    );
    assert.deepEqual([(await next).value?.reference, answers], ['x', 2]);
    await stream.return();
  },
);
