import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Soak } from '../../scripts/soak.ts';
import { appendFeed } from '../../src/store/index.ts';
import { openWorld } from '../gateway/world.ts';
import { endings } from './endings.ts';

const READER = join(import.meta.dirname, 'stream-reader.ts');
const MIB = 1024 * 1024;
const EVENTS = 20;

/** 1,000 open event streams unless told: what they cost this process, and that each is told every event. */
export const soak: Soak = async ({ count = 1000, log }) => {
  await using ending = endings();
  const world = await openWorld(ending);
  const before = process.memoryUsage().rss;
  const reader = spawn(
    process.execPath,
    [READER, world.url, await world.token(['agent']), String(count), String(EVENTS)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  ending.after(() => reader.kill('SIGKILL'));
  const lines = reader.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  await lines.next();
  const opened = process.memoryUsage().rss;
  for (let i = 0; i < EVENTS; i += 1)
    await world.holdfast.runtime.store.write('soak.append', (tx) =>
      appendFeed(tx, { tenantId: 'local', kind: 'soak.made', reference: `${i}` }),
    );
  const told = Number((await lines.next()).value);
  const most = Math.max(opened, process.memoryUsage().rss);
  log(
    `${count} streams: ${((most - before) / MIB).toFixed(1)} MiB more, ${(most / MIB).toFixed(0)} MiB in all; ${told} events told`,
  );
  return told === count * EVENTS ? [] : [`${told} events were told, not ${count * EVENTS}`];
};
