import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../src/core/index.ts';
import type { GatewayEvent } from '../../src/client/index.ts';
import { FeedWatcher } from '../../src/gateway/feed-watcher.ts';
import { noLog } from '../../src/core/index.ts';
import { countingObserver } from '../../src/store/index.ts';
import { appendFeed, readFeed, type Store } from '../../src/store/index.ts';
import { openDesk } from '../calls/desk.ts';
import { assert, check } from '../support/index.ts';
import { openWorld, untilRun, type World } from './world.ts';

/** Every entry of a tenant's feed after a number. */
async function feedOf({ holdfast }: World, tenantId: string, after = 0): Promise<GatewayEvent[]> {
  const { entries } = await holdfast.runtime.store.read('test.feed', (tx) => readFeed(tx, { tenantId, after }));
  return entries.map(({ seq, kind, reference }) => ({ seq, kind, reference }));
}

async function take(events: AsyncGenerator<GatewayEvent, void>, count: number): Promise<GatewayEvent[]> {
  const taken: GatewayEvent[] = [];
  if (count > 0)
    for await (const event of events) {
      taken.push(event);
      if (taken.length === count) break;
    }
  return taken;
}

/** An open stream that begins with what comes next: its place is taken once its head is there. */
async function openStream(world: World, headers: Record<string, string> = {}) {
  const cut = new AbortController();
  const response = await fetch(`${world.url}/api/v1/events`, {
    headers: { authorization: `Bearer ${await world.token(['agent'])}`, ...headers },
    signal: cut.signal,
  });
  assert.equal(response.status, 200);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  /** What so many events tell. */
  const until = async (count: number): Promise<string[]> => {
    let text = '';
    for (;;) {
      const told = [...text.matchAll(/"kind":"([^"]+)","reference":"([^"]+)"/g)].map(([, kind, of]) => `${kind} ${of}`);
      const part = told.length >= count ? undefined : await reader?.read();
      if (!part || part.done) return told;
      text += part.value;
    }
  };
  return { until, close: () => cut.abort() };
}

async function someEvents(world: World, tenantId: string, count: number): Promise<void> {
  await world.holdfast.runtime.store.write('test.append', async (tx) => {
    for (let i = 0; i < count; i += 1) await appendFeed(tx, { tenantId, kind: 'test.made', reference: `t${i}` });
  });
}

check('a stream goes on after its last event: however often it is cut, nothing is missing or repeated', async (t) => {
  const world = await openWorld(t);
  const client = await world.client(['agent']);
  await world.token(['agent'], { tenant: 'other' });
  const got: GatewayEvent[] = [];
  const writing = (async () => {
    for (let i = 0; i < 40; i += 1) {
      await someEvents(world, 'local', 7);
      await someEvents(world, 'other', 3);
      await sleep(3);
    }
  })();
  let size = 1;
  while (got.length < 280) {
    const wanted = Math.min(size, 280 - got.length);
    got.push(...(await take(client.events({ after: got.at(-1)?.seq ?? 0 }), wanted)));
    size = (size * 3) % 47;
  }
  await writing;
  assert.deepEqual(got, (await feedOf(world, 'local')).slice(0, 280));
});

check('a stream begins with what comes next, and tells what happens in another process too', async (t) => {
  const world = await openWorld(t);
  await someEvents(world, 'local', 3);
  const stream = await openStream(world);
  // The other process is another runtime on the same folder.
  const { holdfast } = await openDesk(t, { dataDir: world.dataDir });
  await holdfast.runtime.store.write('test.other', async (tx) => {
    await appendFeed(tx, { tenantId: 'local', kind: 'test.elsewhere', reference: 'a' });
    await appendFeed(tx, { tenantId: 'local', kind: 'test.elsewhere', reference: 'b' });
  });
  const kinds = await stream.until(2);
  assert.deepEqual(kinds, ['test.elsewhere a', 'test.elsewhere b']);
});

check('the stream of a session tells of its runs, requests, operations and lines, and of no other', async (t) => {
  const world = await openWorld(t);
  const agent = await world.client(['agent']);
  const approver = await world.client(['approver']);
  const begin = async () => {
    const begun = await agent.startRun({ task: 'go' });
    const { pending } = await untilRun(agent, begun.run_id, 'waiting_confirmation');
    return { ...begun, request: pending[0] ?? '' };
  };
  const [one, other] = [await begin(), await begin()];
  for (const { request } of [one, other]) {
    const { digest } = await approver.showApproval(request);
    await approver.decide(request, { decision: 'approve', digest });
  }
  for (const { run_id: runId } of [one, other]) await untilRun(agent, runId, 'completed');
  for (const { run_id: runId } of [one, other]) {
    const reference = (await agent.showRun(runId)).calls[0]?.status_ref ?? '';
    await world.holdfast.runtime.store.write('test.settled', (tx) =>
      appendFeed(tx, { tenantId: 'local', kind: 'operation.settled', reference }),
    );
  }
  const all = await feedOf(world, 'local');
  const [end, last] = all.filter(({ kind }) => kind === 'operation.settled');
  const mine: GatewayEvent[] = [];
  for await (const event of agent.events({ sessionId: one.session_id, after: 0 })) {
    mine.push(event);
    if (event.seq === end?.seq) break;
  }
  const kinds = new Set(mine.map(({ kind }) => kind));
  assert.deepEqual([...kinds].toSorted(), [
    'action_event.proposed',
    'action_event.result',
    'action_group.opened',
    'approval.requested',
    'approval.resolved',
    'operation.settled',
    'run.completed',
    'run.resumed',
    'run.started',
    'run.waiting_confirmation',
    'session.opened',
  ]);
  const theirs: GatewayEvent[] = [];
  for await (const event of agent.events({ sessionId: other.session_id, after: 0 })) {
    theirs.push(event);
    if (event.seq === last?.seq) break;
  }
  const both = [...mine, ...theirs].map(({ seq }) => seq);
  assert.equal(new Set(both).size, both.length);
  const through = Math.min(end?.seq ?? 0, last?.seq ?? 0);
  assert.equal(both.filter((seq) => seq <= through).length, all.filter(({ seq }) => seq <= through).length);
});

check('a last event id that the feed has not given is refused, and so is another tenant’s session', async (t) => {
  const world = await openWorld(t);
  const authorization = `Bearer ${await world.token(['agent'])}`;
  for (const id of ['999999', '-1', '1.5', 'x', '9'.repeat(16)]) {
    const response = await fetch(`${world.url}/api/v1/events`, { headers: { authorization, 'last-event-id': id } });
    assert.equal(response.status, 400, id);
    await response.text();
  }
  const absent = await fetch(`${world.url}/api/v1/sessions/none/events`, { headers: { authorization } });
  assert.equal(absent.status, 404);
  await absent.text();
});

check('however many streams there are, the feed is read once for all of them, and not at all for none', async (t) => {
  const counts = countingObserver();
  const world = await openWorld(t, { holdfast: { observer: counts.observe } });
  const streams = [];
  for (let i = 0; i < 20; i += 1) streams.push(await openStream(world));
  counts.reset();
  await someEvents(world, 'local', 5);
  for (const stream of streams) assert.equal((await stream.until(5)).length, 5);
  // Each look asks for the head once, and for the tenant's news once where there are any.
  const looks = counts.statementsOf('gateway.feed');
  const pages = looks.filter((text) => text.includes('tenant_id'));
  assert.ok(pages.length <= 2 && counts.statementsOf('gateway.feed-page').length === 0);
  for (const stream of streams) stream.close();
  await sleep(300);
  counts.reset();
  await sleep(300);
  assert.deepEqual(counts.statementsOf('gateway.feed'), []);
});

check('streams that come and go while the feed is looked at leave one look at a time, as before', async (t) => {
  const { holdfast } = await openDesk(t);
  const { store } = holdfast.runtime;
  let looks = 0;
  const slow: Store = {
    write: store.write.bind(store),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
    read: async <T>(name: string, body: Parameters<typeof store.read<T>>[1]): Promise<T> => {
      if (name === 'gateway.feed') {
        looks += 1;
        await sleep(60);
      }
      return store.read(name, body);
    },
  };
  const watcher = new FeedWatcher(slow, noLog);
  let { tail } = await watcher.join('local');
  for (let i = 0; i < 6; i += 1) {
    for (const before = looks; looks === before; ) await sleep(5);
    watcher.leave(tail);
    ({ tail } = await watcher.join('local'));
  }
  await sleep(200);
  looks = 0;
  await sleep(1000);
  watcher.leave(tail);
  assert.ok(looks >= 3 && looks <= 7, `${looks} looks in a second`);
});

check('a tenant has so many places for streams, and one that is left is free again', async (t) => {
  const { holdfast } = await openDesk(t);
  const watcher = new FeedWatcher(holdfast.runtime.store, noLog);
  const joined = [];
  for (let i = 0; i < LIMITS.eventStreamsPerTenant; i += 1) joined.push(await watcher.join('local'));
  await assert.rejects(watcher.join('local'), { code: 'TOO_MANY_STREAMS' });
  const [first] = joined;
  if (first) watcher.leave(first.tail);
  joined.push(await watcher.join('local'));
  for (const { tail } of joined.slice(1)) watcher.leave(tail);
  assert.equal(joined.length, LIMITS.eventStreamsPerTenant + 1);
});

check('a reader that is far behind reads on from the feed, page by page, in order', async (t) => {
  const world = await openWorld(t);
  const client = await world.client(['agent']);
  await someEvents(world, 'local', 1);
  const stream = client.events({ after: 0 });
  const first = await take2(stream, 1);
  for (let i = 0; i < 4; i += 1) await someEvents(world, 'local', 300);
  await sleep(300);
  const rest = await take2(stream, 1199);
  await stream.return();
  const seqs = [...first, ...rest].map(({ seq }) => seq);
  assert.deepEqual(seqs, (await allOf(world)).slice(0, 1200));
});

/** As `take`, but the generator can be read on. */
async function take2(events: AsyncGenerator<GatewayEvent, void>, count: number): Promise<GatewayEvent[]> {
  const taken: GatewayEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}

async function allOf(world: World): Promise<number[]> {
  const seqs: number[] = [];
  for (let after = 0; ; ) {
    const page = await feedOf(world, 'local', after);
    if (page.length === 0) return seqs;
    seqs.push(...page.map(({ seq }) => seq));
    after = seqs.at(-1) ?? after;
  }
}
