import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileTraceStore } from '../../../src/runs/index.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';
import { finished, startChild } from './children.ts';

const CHILD = join(import.meta.dirname, 'trace-child.ts');
const TRACE = 'trace@safe-1';

async function made(t: Parameters<typeof temporaryFolder>[0]): Promise<FileTraceStore> {
  const store = new FileTraceStore({ folder: join(await temporaryFolder(t), 'traces') });
  await store.createTrace({ traceId: TRACE, mode: 'agent', task: 'test' });
  return store;
}

check('processes that write to one trace lose nothing and number without gaps', async (t) => {
  const store = await made(t);
  const children = [1, 101, 201].map((first) => startChild(t, CHILD, [store.folder, TRACE, String(first), '15']));
  const told = (await Promise.all(children.map(finished))).flatMap(({ lines }) => lines);
  assert.equal(told.length, 45);
  const trace = await store.getTrace(TRACE);
  assert.equal(trace?.totalMessages, 45);
  assert.equal(trace?.lastSequence, 215);
  assert.equal((await store.getEvents(TRACE)).length, 45);
  assert.equal((await store.getTraceMessages(TRACE)).length, 45);
});

// Each message renames three files: itself, its event, the counters. The third message dies at each of them.
for (const [dieAt, left] of [
  [7, 2],
  [8, 3],
  [9, 3],
] as const)
  check(`killed before rename ${dieAt}: what was told is there, and a recount makes the trace whole`, async (t) => {
    const store = await made(t);
    const { lines, signal } = await finished(startChild(t, CHILD, [store.folder, TRACE, '1', '5', String(dieAt)]));
    assert.equal(signal, 'SIGKILL');
    assert.deepEqual(lines, ['1', '2']);
    const report = await store.reconcileTraceIntegrity(TRACE);
    assert.deepEqual(report, { messages: left, last_sequence: left, last_event_id: left });
    assert.equal((await store.getTraceMessages(TRACE)).length, left);
    assert.equal((await store.getEvents(TRACE)).length, left);
    assert.equal(await store.appendEvent(TRACE, 'after', {}), left + 1);
  });

check('under a real limit on file sizes a write that does not fit is refused and leaves the old trace', async (t) => {
  const store = await made(t);
  const meta = join(store.folder, TRACE, 'meta.json');
  const before = readFileSync(meta, 'utf8');
  const child = startChild(t, CHILD, [store.folder, TRACE, '1', '2'], "trap '' XFSZ; ulimit -f 1");
  assert.deepEqual((await finished(child)).lines, ['FILE_DISK_FULL', 'FILE_DISK_FULL']);
  assert.equal(readFileSync(meta, 'utf8'), before);
  assert.deepEqual(await store.getTraceMessages(TRACE), []);
  assert.deepEqual(await store.getEvents(TRACE), []);
});

check('in a folder that cannot be written nothing is made, and the refusal names no path', async () => {
  const store = new FileTraceStore({ folder: '/proc/holdfast-traces' });
  await assert.rejects(store.createTrace({ traceId: TRACE, mode: 'agent' }), (error: Error) => {
    assert.doesNotMatch(error.message, /proc/);
    return true;
  });
});

check('a trace that another process holds is told as busy, and is free once that process was killed', async (t) => {
  const store = await made(t);
  const impatient = new FileTraceStore({ folder: store.folder, lockWaitMs: 20 });
  const holder = startChild(t, join(import.meta.dirname, 'hold-child.ts'), [join(store.folder, TRACE, '.lock')]);
  await new Promise((held) => holder.stdout?.once('data', held));
  await assert.rejects(impatient.appendEvent(TRACE, 'x', {}), { code: 'TRACE_STORE_BUSY', retryable: true });
  assert.equal((await impatient.getTrace(TRACE))?.status, 'running', 'reading waits for nobody');
  holder.kill('SIGKILL');
  await finished(holder);
  assert.equal(await impatient.appendEvent(TRACE, 'x', {}), 1);
});
