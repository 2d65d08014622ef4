import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type batchDocument, openBatch } from '../../../src/approvals/index.ts';
import { nodeFileSystem } from '../../../src/core/index.ts';
import { FileTraceStore } from '../../../src/runs/index.ts';
import { assert, check, contract, temporaryFolder } from '../../support/index.ts';
import { fileHome, message, TRACE } from './homes.ts';

const batch = (now = 1_700_000_000_000) =>
  openBatch('b-1', [{ toolCallId: 'c-1', toolName: 'guarded', arguments: { value: 4 }, needsPerson: true }], now);

async function made(t: Parameters<typeof temporaryFolder>[0]) {
  const home = fileHome(await temporaryFolder(t));
  await home.store.createTrace({ traceId: TRACE, mode: 'agent', task: 'test' });
  return { ...home, at: (name: string) => join(home.folder, TRACE, name) };
}

contract('RUN-91', 'the file of an attachment lies in a folder of attachments', async (t) => {
  const { store } = await made(t);
  await store.addMessage(message({ sequence: 1 }));
  const kept = await store.writeMessageAttachment(TRACE, `${TRACE}-000001`, {
    suffix: '.json',
    data: Buffer.from('{"attachment":true}'),
  });
  assert.equal(basename(dirname(kept.path ?? '')), 'attachments');
  assert.equal(readFileSync(kept.path ?? '', 'utf8'), '{"attachment":true}');
});

contract('RUN-58', 'arguments that were changed in the stored batch are found when it is read', async (t) => {
  const { store, at } = await made(t);
  assert.equal(await store.batches.get(TRACE), null);
  await store.batches.replace(TRACE, batch());
  assert.deepEqual(await store.batches.get(TRACE), batch());
  const raw = JSON.parse(readFileSync(at('tool_approvals.json'), 'utf8')) as ReturnType<typeof batchDocument>;
  (raw['calls'] as { effective_arguments: { value: number } }[])[0]!.effective_arguments.value = 999;
  writeFileSync(at('tool_approvals.json'), JSON.stringify(raw));
  await assert.rejects(store.batches.get(TRACE), { code: 'TRACE_CORRUPT' });
  await assert.rejects(
    store.batches.change(TRACE, () => batch()),
    { code: 'TRACE_CORRUPT' },
  );
});

check('a batch is changed by one writer at a time, and what is thrown changes nothing', async (t) => {
  const { store } = await made(t);
  await store.batches.replace(TRACE, batch(1_700_000_000_000));
  const step = () =>
    store.batches.change(TRACE, (now) => ({ ...(now ?? batch()), updatedAt: (now?.updatedAt ?? 0) + 1 }));
  await Promise.all(Array.from({ length: 10 }, step));
  const refusing = store.batches.change(TRACE, () => {
    throw new Error('no');
  });
  await assert.rejects(refusing, { message: 'no' });
  assert.equal((await store.batches.get(TRACE))?.updatedAt, 1_700_000_000_010);
});

check('folders are 0700 and files 0600, and no temporary file stays', async (t) => {
  const { store, at, folder } = await made(t);
  await store.addMessage(message({ sequence: 1 }));
  for (const path of [folder, at('.'), at('messages'), at('events')]) assert.equal(statSync(path).mode & 0o777, 0o700);
  for (const name of ['meta.json', 'messages/000001.json', 'events/000001.json', '.lock'])
    assert.equal(statSync(at(name)).mode & 0o777, 0o600, name);
  const all = readdirSync(folder, { recursive: true }) as string[];
  assert.deepEqual(
    all.filter((name) => name.includes('.tmp')),
    [],
  );
});

check('a message whose event or counters cannot be written is taken back whole', async (t) => {
  const folder = join(await temporaryFolder(t), 'traces');
  let broken = '';
  const files = {
    ...nodeFileSystem,
    rename(from: string, to: string): void {
      if (broken !== '' && to.includes(broken))
        throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'x' });
      nodeFileSystem.rename(from, to);
    },
  };
  const store = new FileTraceStore({ folder, files });
  await store.createTrace({ traceId: TRACE, mode: 'agent' });
  for (const place of ['/messages/', '/events/', 'meta.json']) {
    broken = place;
    await assert.rejects(store.addMessage(message({ sequence: 1 })), { code: 'FILE_DISK_FULL' }, place);
    assert.deepEqual(await store.getTraceMessages(TRACE), [], place);
    assert.deepEqual(await store.getEvents(TRACE), [], place);
    assert.equal((await store.getTrace(TRACE))?.totalMessages, 0, place);
  }
  broken = '';
  await store.addMessage(message({ sequence: 1 }));
  assert.equal((await store.getEvents(TRACE)).length, 1);
});

check('what does not fit its place is corruption: moved, missing, oversized, alien and linked files', async (t) => {
  const { store, at, folder } = await made(t);
  for (const sequence of [1, 2]) await store.addMessage(message({ sequence }));
  const second = readFileSync(at('messages/000002.json'));
  writeFileSync(at('messages/000001.json'), second);
  await assert.rejects(store.getTraceMessages(TRACE), { code: 'TRACE_CORRUPT' });
  await assert.rejects(store.getMessage(`${TRACE}-000001`), { code: 'TRACE_CORRUPT' });
  unlinkSync(at('events/000001.json'));
  await assert.rejects(store.getEvents(TRACE), { code: 'TRACE_CORRUPT' });
  writeFileSync(at('messages/notes.txt'), 'x');
  await assert.rejects(store.getTraceMessages(TRACE), { code: 'TRACE_CORRUPT' });
  const meta = readFileSync(at('meta.json'));
  writeFileSync(at('meta.json'), Buffer.alloc(17 * 1024 * 1024, ' '));
  await assert.rejects(store.getTrace(TRACE), { code: 'TRACE_CORRUPT' });
  rmSync(at('meta.json'));
  await assert.rejects(store.listTraces(), { code: 'TRACE_CORRUPT' }, 'messages without their trace');
  writeFileSync(join(folder, '..', 'elsewhere.json'), meta);
  symlinkSync(join(folder, '..', 'elsewhere.json'), at('meta.json'));
  await assert.rejects(store.getTrace(TRACE), { code: 'TRACE_CORRUPT' }, 'a link is not followed');
  rmSync(at('.'), { recursive: true });
  mkdirSync(join(folder, 'not a trace'));
  await assert.rejects(store.listTraces(), { code: 'TRACE_CORRUPT' });
  rmSync(join(folder, 'not a trace'), { recursive: true });
  symlinkSync(join(folder, '..'), join(folder, 'linked'));
  await assert.rejects(store.listTraces(), { code: 'TRACE_CORRUPT' });
});

check('a trace that lies under the name of another is corruption', async (t) => {
  const { store, at, folder } = await made(t);
  mkdirSync(join(folder, 'other'));
  writeFileSync(join(folder, 'other', 'meta.json'), readFileSync(at('meta.json')));
  await assert.rejects(store.getTrace('other'), { code: 'TRACE_CORRUPT' });
});

check('what a killed process left half done is finished by a recount, and its temporary files go', async (t) => {
  const { store, at, folder } = await made(t);
  for (const sequence of [1, 2]) await store.addMessage(message({ sequence }));
  unlinkSync(at('events/000002.json'));
  writeFileSync(at('messages/.tmp-left'), '{');
  mkdirSync(join(folder, 'half-made'));
  await store.updateTrace(TRACE, { totalMessages: 1, lastEventId: 1 });
  assert.deepEqual(await store.reconcileTraceIntegrity(TRACE), { messages: 2, last_sequence: 2, last_event_id: 2 });
  assert.equal(existsSync(at('messages/.tmp-left')), false);
  assert.deepEqual((await store.getEvents(TRACE)).at(-1)?.data, {
    message_id: `${TRACE}-000002`,
    sequence: 2,
    role: 'user',
  });
  assert.equal((await store.listTraces()).length, 1, 'a folder without a document holds no trace yet');
  assert.equal((await store.createTrace({ traceId: 'half-made', mode: 'agent' })).status, 'running');
});

check('counters behind the files never overwrite an event', async (t) => {
  const { store } = await made(t);
  for (const sequence of [1, 2, 3]) await store.addMessage(message({ sequence }));
  await store.updateTrace(TRACE, { lastEventId: 0 });
  assert.equal(await store.appendEvent(TRACE, 'extra', {}), 4);
  assert.equal((await store.getEvents(TRACE)).length, 4);
});
