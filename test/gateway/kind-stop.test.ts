import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastClient } from '../../src/client/index.ts';
import { assert, check } from '../support/index.ts';
import { configuredFolder, LETTER_AGENT } from '../support/configured-folder.ts';
import { served, untilEnded } from './served.ts';

/** A `serve` in whose tool a letter lies, posted, that answers so much later; `closeWaitMs` is its configuration's. */
async function servedInCall(t: TestContext, answersAfterMs: number, closeWaitMs: number) {
  const agent = LETTER_AGENT.replace('needsApproval: true', 'needsApproval: false')
    .replace('execute: (', 'execute: async (')
    .replace('return { posted: to };', `await sleep(${answersAfterMs}); return { posted: to };`);
  const { folder, json } = await configuredFolder(t, agent);
  const file = join(folder, 'holdfast.config.ts');
  writeFileSync(file, readFileSync(file, 'utf8').replace('({ agents', `({ closeWaitMs: ${closeWaitMs}, agents`));
  const serve = await served(t, folder);
  const token = serve.token ?? '';
  const client = (url: string) => new HoldfastClient({ url, token });
  const { run_id: runId } = await client(serve.url).startRun({ task: 'Write to Ada.' });
  while (!existsSync(join(folder, 'letters.txt'))) await sleep(10);
  const shown = async () => (await json('runs', 'show', runId)).document;
  return {
    folder,
    json,
    serve,
    client,
    runId,
    shown,
    letters: () => readFileSync(join(folder, 'letters.txt'), 'utf8'),
  };
}

const outcomes = ({ calls }: Record<string, unknown>) => (calls as { outcome: string }[]).map(({ outcome }) => outcome);

check(
  'serve that is told to stop keeps what a call under way answers, and the next serve goes on with it',
  async (t) => {
    const { folder, serve, client, runId, shown, letters } = await servedInCall(t, 700, 60_000);
    assert.equal(await serve.stop('SIGTERM'), 0);
    const stopped = await shown();
    assert.deepEqual([stopped['status'], stopped['outcome'], ...outcomes(stopped)], ['running', 'interrupted', 'done']);
    assert.match(serve.log(), /"serve\.stopping"/);
    const again = await served(t, folder);
    const owner = client(again.url);
    await owner.resumeRun(runId);
    assert.equal((await untilEnded(owner, runId)).status, 'completed');
    assert.equal(letters(), 'Ada\n');
  },
);

check('serve that is told to stop waits no longer than it may: the call that never answers is unknown', async (t) => {
  const { serve, shown } = await servedInCall(t, 600_000, 300);
  assert.equal(await serve.stop('SIGTERM'), 0);
  const stopped = await shown();
  assert.deepEqual([stopped['status'], stopped['outcome'], ...outcomes(stopped)], ['failed', 'unknown', 'unknown']);
});

for (const second of ['SIGTERM', 'SIGINT'] as const)
  check(`SIGTERM and then ${second} ends serve at once, and what was under way is found unknown`, async (t) => {
    const { serve, json, letters } = await servedInCall(t, 600_000, 600_000);
    serve.send('SIGTERM');
    while (!serve.log().includes('"serve.stopping"')) await sleep(10);
    assert.equal(await serve.stop(second), null);
    const { document } = await json('operations', 'list', '--open');
    assert.deepEqual(
      (document['operations'] as { outcome: string }[]).map(({ outcome }) => outcome),
      ['unknown'],
    );
    assert.equal(letters(), 'Ada\n');
  });
