import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastClient } from '../../src/client/index.ts';
import { LIMITS } from '../../src/core/index.ts';
import { appendFeed, countingObserver } from '../../src/store/index.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, type World } from './world.ts';

const HEARTBEAT_MS = 60;

/** Reads a stream to its end, or until what it said is enough. */
async function readUntil(response: Response, enough: (text: string) => boolean = () => false): Promise<string> {
  let text = '';
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (enough(text)) break;
  }
  return text;
}

const open = (world: World, token: string, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}`, ...headers } });

async function append(world: World, tenantId: string, count: number): Promise<void> {
  await world.holdfast.runtime.store.write('test.append', async (tx) => {
    for (let i = 0; i < count; i += 1) await appendFeed(tx, { tenantId, kind: 'test.made', reference: `t${i}` });
  });
}

check('a quiet stream beats, and each beat moves the last event id past what is another tenant’s', async (t) => {
  const world = await openWorld(t, { heartbeatMs: HEARTBEAT_MS });
  const token = await world.token(['agent']);
  await world.token(['agent'], { tenant: 'other' });
  await append(world, 'local', 1);
  const response = await open(world, token);
  await append(world, 'other', 5);
  const beats = (text: string): string[] => [...text.matchAll(/id: (\d+)\n: heartbeat\n\n/g)].map(([, id = '']) => id);
  const text = await readUntil(response, (so) => beats(so).length >= 3);
  assert.ok(!text.includes('data:'), text);
  const resumed = await open(world, token, { 'last-event-id': beats(text).at(-1) ?? '' });
  await append(world, 'local', 2);
  const rest = await readUntil(resumed, (so) => so.split('data:').length > 2);
  assert.deepEqual(
    [...rest.matchAll(/"reference":"(\w+)"/g)].map(([, reference]) => reference),
    ['t0', 't1'],
  );
});

check(
  'a stream that told nothing yet has said where it stands, and a client that lost it goes on from there',
  async (t) => {
    const world = await openWorld(t);
    const token = await world.token(['agent']);
    await append(world, 'local', 3);
    const lost = await open(world, token);
    const text = await readUntil(lost, (so) => so.includes('\n\n'));
    assert.match(text, /^id: \d+\n/);
    await append(world, 'local', 1);
    const resumed = await open(world, token, { 'last-event-id': /^id: (\d+)$/m.exec(text)?.[1] ?? '' });
    assert.match(await readUntil(resumed, (so) => so.includes('data:')), /"reference":"t0"/);

    let connections = 0;
    const cutting: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      connections += 1;
      if (connections > 1) return response;
      const first = await readUntil(response, (so) => so.includes('\n\n'));
      await append(world, 'local', 2);
      return new Response(first, { headers: response.headers });
    };
    const client = new HoldfastClient({ url: world.url, token, fetch: cutting });
    const told: string[] = [];
    for await (const { reference } of client.events()) {
      told.push(reference);
      if (told.length === 2) break;
    }
    assert.deepEqual(told, ['t0', 't1']);
  },
);

check('a stream ends when its token is revoked, rotated or over; those of other tokens go on', async (t) => {
  const world = await openWorld(t, { heartbeatMs: HEARTBEAT_MS });
  const admin = await world.client(['admin']);
  const made = async (name: string, expires_at: number | null = null) =>
    admin.createToken({ subject: name, roles: ['agent'], expires_at });
  const [revoked, rotated, late, other] = [
    await made('revoked'),
    await made('rotated'),
    await made('late', Date.now() + 1000),
    await made('other'),
  ];
  const streams = [revoked, rotated, late].map(async ({ token }) => readUntil(await open(world, token ?? '')));
  const stays = await open(world, other.token ?? '');
  await admin.revokeToken(revoked.token_id);
  await admin.rotateToken(rotated.token_id);
  for (const text of await Promise.all(streams)) assert.match(text, /^id: \d+\nretry: \d+\n\n/);
  for (const { token } of [revoked, rotated, late]) assert.equal((await open(world, token ?? '')).status, 401);
  await append(world, 'local', 1);
  assert.match(await readUntil(stays, (so) => so.includes('data:')), /"kind":"test.made"/);
});

check(
  'nothing is held for a reader that does not read: the feed is read on as it reads, and nothing is lost',
  async (t) => {
    const counts = countingObserver();
    const world = await openWorld(t, { holdfast: { observer: counts.observe } });
    const token = await world.token(['agent']);
    const { port } = new URL(world.url);
    const socket = connect(Number(port), '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: 0\r\n\r\n`,
    );
    await new Promise((settle) => void socket.once('readable', () => settle(undefined)));
    const total = 150_000;
    for (let i = 0; i < 15; i += 1) await append(world, 'local', total / 15);
    const pages = (): number => counts.statementsOf('gateway.feed-page').length;
    let before = -1;
    while (pages() !== before) {
      before = pages();
      await sleep(300);
    }
    assert.ok(before < total / LIMITS.eventsPerFrame / 2, `${before} pages were read for nobody`);
    let text = '';
    const seqs: number[] = [];
    for await (const part of socket.setEncoding('latin1') as AsyncIterable<string>) {
      text += part;
      const end = text.lastIndexOf('}');
      for (const [, seq] of text.slice(0, end + 1).matchAll(/\{"seq":(\d+),"kind":"test.made"/g))
        seqs.push(Number(seq));
      text = text.slice(end + 1);
      if (seqs.length >= total) break;
    }
    assert.equal(seqs.length, total);
    assert.ok(seqs.every((seq, i) => i === 0 || seq === (seqs[i - 1] ?? 0) + 1));
  },
);
