import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, check, configuredFolder } from '../support/index.ts';

interface RunDocument {
  readonly run_id: string;
  readonly status: string;
  readonly outcome: string;
  readonly calls: readonly { readonly outcome: string; readonly code?: string }[];
}

/** Reads, says so, and waits in that read until a file appears; then it would write. */
const AGENT = `
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const tools = [
    tool({
      name: 'look',
      description: 'Looks.',
      inputSchema: schema,
      effect: 'read',
      execute: async () => {
        writeFileSync('looking', '');
        while (!existsSync('seen')) await sleep(20);
        return { seen: true };
      },
    }),
    tool({
      name: 'post',
      description: 'Posts a letter.',
      inputSchema: schema,
      effect: 'once',
      needsApproval: false,
      execute: () => { appendFileSync('letters.txt', 'one\\n'); return { posted: true }; },
    }),
  ];
  const model = ({ messages }) => {
    const asked = messages.filter((message) => message.role === 'assistant').length;
    return asked === 0
      ? { calls: [{ callId: 'look-1', toolName: 'look', arguments: {} }, { callId: 'post-1', toolName: 'post', arguments: {} }] }
      : 'told: ' + messages.at(-1).text;
  };
`;

async function whileLooking(folder: string, body: () => Promise<void>): Promise<void> {
  while (!existsSync(join(folder, 'looking'))) await sleep(20);
  await body();
  writeFileSync(join(folder, 'seen'), '');
}

check(
  'a pause with a reason that cannot be kept says which, and one with a reason that can be is in force',
  async (t) => {
    const { json } = await configuredFolder(t, AGENT);
    for (const reason of ['', ' ', 'x'.repeat(2001)]) {
      const { exit, document } = await json('pause', '--reason', reason);
      assert.deepEqual([exit, document.error?.code], [2, 'INVALID_VALUE']);
      assert.match(JSON.stringify(document.error), /reason must/);
    }
    assert.equal((await json('pause', '--reason', 'x'.repeat(2000))).exit, 0);
  },
);

check('a pause by the command holds back the write of a run in another process, and is undone by it', async (t) => {
  const { folder, json } = await configuredFolder(t, AGENT);
  const letters = join(folder, 'letters.txt');
  const running = json('run', 'Write');
  await whileLooking(folder, async () => {
    assert.equal((await json('pause', '--reason', 'the books are closed')).exit, 0);
  });
  const { document } = await running;
  const run = document as unknown as RunDocument;
  assert.deepEqual(
    run.calls.map(({ outcome, code }) => [outcome, code ?? null]),
    [
      ['done', null],
      ['not_started', 'CALL_PAUSED'],
    ],
  );
  assert.equal(existsSync(letters), false);
  assert.equal((await json('unpause')).exit, 0);
  await json('run', 'Write again');
  assert.equal(readFileSync(letters, 'utf8'), 'one\n');
});

check('a stop by the command reaches a run in another process before its write', async (t) => {
  const { folder, json } = await configuredFolder(t, AGENT);
  const running = json('run', 'Write');
  await whileLooking(folder, async () => {
    const { document } = await json('runs', 'list');
    const [run] = document['runs'] as RunDocument[];
    assert.equal((await json('runs', 'stop', run?.run_id ?? '')).exit, 0);
  });
  const { document } = await running;
  assert.equal((document as unknown as RunDocument).status, 'stopped');
  assert.equal(existsSync(join(folder, 'letters.txt')), false);
});
