import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { viewOfRun } from '../../src/app/index.ts';
import { Holdfast } from '../../src/index.ts';
import { bindWorkspace, openSession, runningRestore } from '../../src/sessions/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const ACTOR = join(import.meta.dirname, '../fixtures/sessions/revert-call-actor.ts');
/** Long after every lease of a killed process has ended. */
const LATER_MS = 3_600_000;

async function project(t: TestContext) {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  const workspace = join(folder, 'work');
  mkdirSync(workspace);
  const file = join(workspace, 'a.txt');
  writeFileSync(file, 'old');
  const opened = await Holdfast.open({ dataDir });
  const { store, calls, principal, projectId, histories } = opened.runtime;
  const root = await store.write('test.session', async (tx) => {
    const id = await openSession(tx, calls.sessions, principal, { projectId });
    await bindWorkspace(tx, calls.sessions, principal, id, workspace);
    return id;
  });
  const point = await histories.history.checkpoint(principal, { rootFrameId: root, branchId: root, reason: 'test' });
  writeFileSync(file, 'new');
  await opened.close();
  return { dataDir, root, checkpoint: point.checkpointId, text: () => readFileSync(file, 'utf8') };
}

/** Kills the process at one of its fault points and carries the run on; false where it has fewer. */
async function killedAt(t: TestContext, arrival: number): Promise<boolean> {
  const { dataDir, root, checkpoint, text } = await project(t);
  const { signal, status } = spawnSync(process.execPath, [ACTOR, dataDir, root, checkpoint, String(arrival)]);
  if (signal !== 'SIGKILL') {
    assert.deepEqual([status, text()], [0, 'old']);
    return false;
  }
  const holdfast = await Holdfast.open({ dataDir, clock: { nowMs: () => Date.now() + LATER_MS } });
  try {
    const { runtime } = holdfast;
    const { runs, principal, store, histories } = runtime;
    const runId = (await runs.list(principal, { limit: 1 })).items[0]?.runId ?? '';
    const before = await runs.get(principal, runId);
    if (before.state.status !== 'completed') await (await runs.resume(principal, runId)).ended;
    const running = await store.read('t', (tx) => runningRestore(tx, principal, root));
    if (running !== null) {
      const call = (await viewOfRun(runtime, principal, runId)).calls[0];
      assert.equal(call?.outcome?.state, 'unknown');
      await histories.history.recover(principal, root, 'finish');
      await (await runs.resume(principal, runId)).ended;
    }
    const view = await viewOfRun(runtime, principal, runId);
    assert.deepEqual(
      [view.calls[0]?.outcome?.state, text(), view.status],
      ['done', 'old', 'completed'],
      String(arrival),
    );
    assert.equal(await store.read('t', (tx) => runningRestore(tx, principal, root)), null);
    return true;
  } finally {
    await holdfast.close();
  }
}

check(
  'an approved revert that is killed anywhere ends done: settled, delivered again, or after its recovery',
  async (t) => {
    let killed = 0;
    for (let arrival = 1; await killedAt(t, arrival); arrival += 9) killed += 1;
    assert.ok(killed >= 3);
  },
);
