import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openConfigured } from '../../src/app/index.ts';
import { Holdfast } from '../../src/index.ts';
import { armFaults, assert, check, manualClock, temporaryFolder } from '../support/index.ts';

const ODD_SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'odd-server.ts');

check('a runtime whose end cannot be written down closes its store all the same, and says why', async (t) => {
  const clock = manualClock(Date.now());
  const dataDir = join(await temporaryFolder(t), 'data');
  const holdfast = await Holdfast.open({ dataDir, clock });
  clock.advance(-3_600_000);
  await assert.rejects(holdfast.close(), { code: 'CLOCK_WENT_BACK' });
  const read = holdfast.runtime.store.read('test', (tx) => tx.get('SELECT 1'));
  await assert.rejects(read, { code: 'STORE_CLOSED' });
});

check('a process that could not open is dead at once to all others', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const faults = armFaults({ point: 'recovery-started', act: new Error('not now') });
  await assert.rejects(Holdfast.open({ dataDir, faults }), /not now/);
  const database = new DatabaseSync(join(dataDir, 'holdfast.db'));
  t.after(() => database.close());
  const rows = database.prepare('SELECT ended_at_ms IS NOT NULL AS ended FROM instances').all();
  assert.deepEqual(
    rows.map(({ ended }) => ended),
    [1],
  );
});

check('what was started for a configuration is ended also where its runtime cannot say that it ends', async (t) => {
  const started: ChildProcess[] = [];
  const onStarted = (message: unknown) => void started.push((message as { readonly process: ChildProcess }).process);
  subscribe('child_process', onStarted);
  t.after(() => unsubscribe('child_process', onStarted));
  const server = { command: process.execPath, args: [ODD_SERVER, 'good'] };
  const dataDir = join(await temporaryFolder(t), 'data');
  const configured = await openConfigured({ agents: [], mcpServers: { odd: { server } } }, dataDir);
  const { holdfast } = configured;
  t.after(holdfast.close.bind(holdfast));
  holdfast.close = () => Promise.reject(new Error('the disk is full'));
  const [child] = started;
  assert.equal(child?.stdin?.writableEnded, false);
  await assert.rejects(configured.close(), /the disk is full/);
  assert.equal(child.stdin.writableEnded, true);
});
