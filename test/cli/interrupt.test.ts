import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { assert, check, configuredFolder, installedCommand } from '../support/index.ts';

/** A letter is posted at once; then the tool waits for its answer, as long as it is not told to give up. */
const SLOW_AGENT = (heeds: boolean): string => `
  const tools = [tool({
    name: 'post',
    description: 'Posts a letter.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    effect: 'once',
    needsApproval: false,
    execute: async ({ to }, call) => {
      appendFileSync('letters.txt', to + '\\n');
      await sleep(600_000, undefined, ${heeds ? '{ signal: call.signal }' : '{}'});
      return { posted: to };
    },
  })];
  const model = ({ messages }) => messages.at(-1).role === 'user'
    ? { calls: [{ callId: 'one', toolName: 'post', arguments: { to: 'Ada' } }, { callId: 'two', toolName: 'post', arguments: { to: 'Bob' } }] }
    : 'done';
`;

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly said: () => string;
  /** Settles once standard error has a line that matches. */
  readonly saying: (what: RegExp) => Promise<void>;
}

function start(t: TestContext, cwd: string, ...args: string[]): Running {
  const child = spawn(process.execPath, [installedCommand(), ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill('SIGKILL'));
  let text = '';
  const heard = new Set<() => void>();
  const hear = (part: string): void => {
    text += part;
    for (const look of heard) look();
  };
  child.stdout.setEncoding('utf8').on('data', hear);
  child.stderr.setEncoding('utf8').on('data', hear);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const saying = async (what: RegExp): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      if (what.test(text)) resolve();
    };
    heard.add(look);
    void ended.then(() => reject(new Error(`the command ended without saying ${String(what)}: ${text}`)));
    look();
    return promise;
  };
  return { child, ended, said: () => text, saying };
}

async function posted(folder: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = setInterval(() => existsSync(join(folder, 'letters.txt')) && resolve(), 20);
  await promise;
  clearInterval(look);
}

async function interruptedRun(t: TestContext, heeds: boolean, ...options: string[]) {
  const world = await configuredFolder(t, SLOW_AGENT(heeds));
  const running = start(t, world.folder, 'run', 'Write to both', ...options);
  await posted(world.folder);
  running.child.kill('SIGINT');
  await running.saying(/Stopping; nothing more is started\. Ctrl-C again ends at once\./);
  return { ...world, running };
}

async function openOperations(json: (...args: string[]) => Promise<{ document: Record<string, unknown> }>) {
  const { document } = await json('operations', 'list', '--open');
  return (document['operations'] as { outcome: string; tool: string }[]).map(({ tool, outcome }) => [tool, outcome]);
}

check(
  'Ctrl-C once: the call under way is told to give up and is unknown, the next one never starts, exit 1',
  async (t) => {
    const { folder, holdfast, json, running } = await interruptedRun(t, true);
    assert.equal(await running.ended, 1);
    assert.match(running.said(), /\? post .*Ada[\s\S]*unknown: it may or may not have happened/);
    assert.match(running.said(), /post .*Bob.*not started yet/);
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
    assert.deepEqual(await openOperations(json), [['post', 'unknown']]);
    const { document } = await json('operations', 'list', '--open');
    const ref = (document['operations'] as { status_ref: string }[])[0]?.status_ref ?? '';
    // The lease of a call of ten minutes outlives the command: until it is over no person may settle it.
    assert.match(
      (await holdfast('operations', 'show', ref)).stdout,
      /\n {2}lease {6}over at \d{4}-\d\d-\d\dT[\d:]+Z\n/,
    );
    const settled = await json('operations', 'settle', ref, '--done', '--reason', 'I saw it');
    assert.equal(settled.document.error?.code, 'OPERATION_LEASE_RUNNING');
  },
);

check('Ctrl-C twice: it ends at once, says what is unknown, and it is found so afterwards', async (t) => {
  const { folder, json, running } = await interruptedRun(t, false);
  running.child.kill('SIGINT');
  assert.equal(await running.ended, 1);
  assert.match(running.said(), /What had started is unknown until it is known: holdfast operations list --open/);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  assert.deepEqual(await openOperations(json), [['post', 'unknown']]);
});

check('Ctrl-C twice with --json: what is unknown is told in one document, on standard output', async (t) => {
  const { running } = await interruptedRun(t, false, '--json');
  running.child.kill('SIGINT');
  assert.equal(await running.ended, 1);
  const document = running
    .said()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  assert.equal(document.length, 1, running.said());
  const { error } = JSON.parse(document[0] ?? '') as { error: { code: string; resolve: string } };
  assert.equal(error.code, 'RUN_PROCESS_ENDED');
  assert.match(error.resolve, /^See what is known of it: holdfast runs show [0-9a-f]{32}\.$/);
});

/** Each letter is posted in one go, in which nobody else has a turn; Ctrl-C comes in the middle of the first. */
const BUSY_AGENT = `
  const tools = [tool({
    name: 'post',
    description: 'Posts a letter.',
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    effect: 'once',
    needsApproval: false,
    execute: ({ to }) => {
      appendFileSync('letters.txt', to + '\\n');
      process.kill(process.pid, 'SIGINT');
      for (const end = Date.now() + 200; Date.now() < end; );
      return { posted: to };
    },
  })];
  const model = ({ messages }) => messages.at(-1).role === 'user'
    ? { calls: ['Ada', 'Bob', 'Cyd'].map((to) => ({ toolName: 'post', arguments: { to } })) }
    : 'done';
`;

check(
  'once it says that nothing more is started nothing is, also where a tool let nobody else have a turn',
  async (t) => {
    const { folder, json } = await configuredFolder(t, BUSY_AGENT);
    const running = start(t, folder, 'run', 'Write to all');
    assert.equal(await running.ended, 1);
    assert.match(running.said(), /Stopping; nothing more is started\./);
    assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
    const { document } = await json('runs', 'list');
    assert.deepEqual(
      (document['runs'] as { status: string }[]).map(({ status }) => status),
      ['stopped'],
    );
  },
);
