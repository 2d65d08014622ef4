import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fail, systemClock } from '../../../src/core/index.ts';
import {
  appendEvent,
  holdTicket,
  listTickets,
  queueTicket,
  releaseTicket,
  SessionPen,
  type SessionTicket,
} from '../../../src/sessions/index.ts';
import type { Store } from '../../../src/store/index.ts';
import { assert, check } from '../../support/index.ts';
import {
  AGENT,
  openCalls,
  openSessionWorld,
  OWNER,
  refusal,
  type SessionWorld,
  STRANGER,
} from '../../support/session-world.ts';

const LEASE = 5000;

function queue(world: SessionWorld, owner: string): Promise<SessionTicket> {
  return world.store.write('t', (tx) =>
    queueTicket(tx, world.context, OWNER, { rootFrameId: world.root, owner, reason: 'test', leaseMs: LEASE }),
  );
}

const look = (world: SessionWorld, ticket: SessionTicket): Promise<SessionTicket> =>
  world.store.write('t', (tx) => holdTicket(tx, world.context, ticket.ticketId, LEASE));

check('tickets are served in the order of asking, one at a time, and their numbers only rise', async () => {
  await using world = await openSessionWorld();
  const [a, b] = [await queue(world, 'a'), await queue(world, 'b')];
  assert.equal((await look(world, b)).state, 'queued');
  assert.equal((await look(world, a)).state, 'held');
  assert.equal((await look(world, b)).state, 'queued');
  assert.deepEqual(
    (await world.store.read('t', (tx) => listTickets(tx, OWNER, world.root))).map((t) => [t.owner, t.state]),
    [
      ['a', 'held'],
      ['b', 'queued'],
    ],
  );
  assert.deepEqual(await world.store.read('t', (tx) => listTickets(tx, STRANGER, world.root)), []);
  assert.equal(await world.store.write('t', (tx) => releaseTicket(tx, a.ticketId)), true);
  assert.equal((await look(world, b)).state, 'held');
  await world.store.write('t', (tx) => releaseTicket(tx, b.ticketId));
  assert.ok((await queue(world, 'c')).number > b.number);
});

check('a dead holder is passed over when its lease has ended; its late write is refused', async () => {
  await using world = await openSessionWorld();
  const { groupId } = await openCalls(world);
  const dead = await look(world, await queue(world, 'dead'));
  const next = await queue(world, 'next');
  const write = (ticket: SessionTicket) =>
    world.store.write('t', (tx) =>
      appendEvent(tx, world.context, AGENT, { groupId, type: 'started', actionId: 'a', ticketId: ticket.ticketId }),
    );
  await write(dead);
  world.clock.advance(LEASE - 1);
  await look(world, next);
  world.clock.advance(1);
  assert.equal((await refusal(write(dead))).code, 'TICKET_LOST');
  assert.equal((await look(world, next)).state, 'held');
  assert.equal((await refusal(look(world, dead))).code, 'TICKET_LOST');
  await write(next);
});

check('two holders are impossible even for raw SQL', async () => {
  await using world = await openSessionWorld();
  await look(world, await queue(world, 'a'));
  await queue(world, 'b');
  const raw = world.raw();
  assert.throws(() => raw.exec(`UPDATE session_tickets SET state = 'held', held_at = 1`), /UNIQUE/);
  raw.close();
});

check('a stranger, a lease beyond the bound and a blank reason get no ticket', async () => {
  await using world = await openSessionWorld();
  const ticket = { rootFrameId: world.root, owner: 'a', reason: 'b', leaseMs: LEASE };
  const ask = (principal: typeof OWNER, change: Partial<typeof ticket>) =>
    refusal(world.store.write('t', (tx) => queueTicket(tx, world.context, principal, { ...ticket, ...change })));
  assert.equal((await ask(STRANGER, {})).code, 'SESSION_NOT_FOUND');
  assert.equal((await ask(OWNER, { leaseMs: 300_001 })).code, 'LIMIT_REACHED');
  assert.equal((await ask(OWNER, { leaseMs: 999 })).code, 'INVALID_VALUE');
  assert.equal((await ask(OWNER, { reason: ' ' })).code, 'INVALID_VALUE');
  assert.deepEqual(await world.store.read('t', (tx) => listTickets(tx, OWNER, world.root)), []);
});

check('bodies that hold the pen never overlap, end in order, and give it back when they throw', async () => {
  await using world = await openSessionWorld();
  const context = { ...world.context, clock: systemClock };
  const pen = new SessionPen(world.store, context);
  const log: string[] = [];
  const work = (name: string) =>
    pen.hold(OWNER, world.root, { owner: name, reason: name }, async () => {
      log.push(`${name} in`);
      await new Promise((resolve) => setImmediate(resolve));
      log.push(`${name} out`);
      if (name === 'b') throw new Error('b failed');
    });
  const first = work('a');
  const rest = [work('b').catch((error: Error) => log.push(error.message)), work('c')];
  await Promise.all([first, ...rest]);
  assert.deepEqual(log.filter((line) => line !== 'b failed').length, 6);
  for (let i = 0; i < 6; i += 2)
    assert.equal(
      log.filter((line) => line !== 'b failed')[i]?.slice(0, 1),
      log.filter((line) => line !== 'b failed')[i + 1]?.slice(0, 1),
    );
  assert.ok(log.includes('b failed'));
  assert.deepEqual(await world.store.read('t', (tx) => listTickets(tx, OWNER, world.root)), []);
});

check('what was done under the pen is told as it was, also where the pen could not be given back', async () => {
  await using world = await openSessionWorld();
  let isFull = true;
  const store: Store = {
    read: (name, body) => world.store.read(name, body),
    async write(name, body) {
      if (isFull && name === 'sessions.release') throw fail('STORE_FULL', 'The disk is full.');
      return world.store.write(name, body);
    },
    close: () => world.store.close(),
    [Symbol.asyncDispose]: () => world.store.close(),
  };
  const pen = new SessionPen(store, world.context);
  const options = { owner: 'a', reason: 'b', leaseMs: 1000 };
  assert.equal(await pen.hold(OWNER, world.root, options, async () => 'done'), 'done');
  world.clock.advance(1001);
  const failing = pen.hold(OWNER, world.root, options, async () => {
    throw fail('WORKSPACE_CHANGED', 'It changed.');
  });
  assert.equal((await refusal(failing)).code, 'WORKSPACE_CHANGED');
  isFull = false;
  world.clock.advance(1001);
  assert.equal(await pen.hold(OWNER, world.root, options, async () => 'next'), 'next');
});

check('whoever waits too long, or is aborted, leaves the queue', async () => {
  await using world = await openSessionWorld();
  const context = { ...world.context, clock: systemClock };
  const pen = new SessionPen(world.store, context);
  await pen.hold(OWNER, world.root, { owner: 'lifecycle', reason: 'long work' }, async () => {
    const late = pen.hold(OWNER, world.root, { owner: 'x', reason: 'y', waitMs: 1 }, async () => 'never');
    assert.equal((await refusal(late)).code, 'TICKET_TIMEOUT');
    const aborted = pen.hold(
      OWNER,
      world.root,
      { owner: 'x', reason: 'y', signal: AbortSignal.abort() },
      async () => 1,
    );
    assert.equal((await refusal(aborted)).code, 20);
    const tickets = await world.store.read('t', (tx) => listTickets(tx, OWNER, world.root));
    assert.deepEqual(
      tickets.map((ticket) => ticket.reason),
      ['long work'],
    );
  });
});

check('a holder in another process is waited for; when it is killed its lease is', async () => {
  await using world = await openSessionWorld();
  const context = { ...world.context, clock: systemClock };
  const pen = new SessionPen(world.store, context);
  const program = join(import.meta.dirname, '../../fixtures/approvals/second-actor.ts');
  const child = spawn(process.execPath, [program, world.file, 'hold', world.root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    assert.equal(line, 'held');
    const mine = pen.hold(OWNER, world.root, { owner: 'me', reason: 'after it' }, async (ticket) => ticket.number);
    child.kill('SIGKILL');
    assert.equal(await mine, 2);
  } finally {
    child.kill('SIGKILL');
  }
});
