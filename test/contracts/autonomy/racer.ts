// One of two that start the same run at once: a thread with a store of its own on the same file.
import { parentPort, workerData } from 'node:worker_threads';
import { Autonomy, autonomyHooks } from '../../../src/autonomy/index.ts';
import { systemClock, systemIds } from '../../../src/core/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/index.ts';
import { AUTONOMY_SCHEMAS, newRun } from '../../support/autonomy-world.ts';
import { OWNER } from '../../support/session-world.ts';

const { file, root, barrier } = workerData as { file: string; root: string; barrier: SharedArrayBuffer };
const here = new Int32Array(barrier);

/** Opens its own store, meets the other, and starts. */
async function race(): Promise<boolean> {
  const store = await openSqliteStore({ file, schemas: AUTONOMY_SCHEMAS });
  try {
    const sessions = { clock: systemClock, ids: systemIds, hooks: [autonomyHooks] };
    const autonomy = new Autonomy({ store, sessions, trees: async () => true });
    if (Atomics.add(here, 0, 1) + 1 === 2) Atomics.notify(here, 0);
    for (let seen = Atomics.load(here, 0); seen < 2; seen = Atomics.load(here, 0)) Atomics.wait(here, 0, seen, 100);
    return (await autonomy.startRun(OWNER, newRun(root))).created;
  } finally {
    await store.close();
  }
}

race().then(
  (created) => parentPort?.postMessage({ created }),
  (error: unknown) => parentPort?.postMessage({ error: String(error) }),
);
