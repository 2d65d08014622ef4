import fs from 'node:fs';
import { join } from 'node:path';
import type { Soak } from '../../scripts/soak.ts';
import { createIds, LIMITS, systemClock } from '../../src/core/index.ts';
import { createCheckpoint, WorkspaceStore } from '../../src/sessions/index.ts';
import { openSessionWorld, OWNER } from '../support/session-world.ts';

const FILES_A_FOLDER = 500;

/** As many real files as a workspace may have: captured, captured again, changed, gone back from, collected. */
export const soak: Soak = async ({ count = LIMITS.workspaceFiles, log }) => {
  const faults: string[] = [];
  const must = (what: string, is: boolean): void => void (is || faults.push(what));
  const world = await openSessionWorld();
  try {
    const base = join(world.file, '..');
    const directory = join(base, 'workspace');
    for (let i = 0; i < count; i += 1) {
      const folder = join(directory, `d${Math.floor(i / FILES_A_FOLDER)}`);
      if (i % FILES_A_FOLDER === 0) fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(join(folder, `f${i}.txt`), `file ${i}`);
    }
    const { store, context, root } = world;
    const ids = createIds(systemClock);
    const workspaces = new WorkspaceStore({ store, folder: join(base, 'cas'), clock: systemClock, ids });
    const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await work();
      log(`${what}: ${Math.round(performance.now() - start)} ms`);
      return result;
    };
    const first = await timed(`first capture of ${count} files`, () => workspaces.capture(directory));
    must('not every file was captured', first.tree.entries.length === count && first.tree.skipped.length === 0);
    await store.write('soak', (tx) =>
      createCheckpoint(tx, context, OWNER, {
        rootFrameId: root,
        branchId: root,
        reason: 'whole',
        workspaceTreeId: first.treeId,
      }),
    );
    // A file that was changed lately is read again, whatever its times say.
    await new Promise((settle) => setTimeout(settle, 2500));
    await timed('captured again, just after', () => workspaces.capture(directory));
    const again = await timed('captured again', () => workspaces.capture(directory));
    must('unchanged files were read again', again.filesRead === 0 && again.treeId === first.treeId);
    fs.rmSync(join(directory, 'd0'), { recursive: true });
    fs.writeFileSync(join(directory, `f-new`), 'new');
    const changed = await timed('captured after a change', () => workspaces.capture(directory));
    const restored = await timed('gone back', () => workspaces.restore(first.treeId, directory, changed));
    log(JSON.stringify(restored));
    const back = await workspaces.capture(directory);
    must('the workspace is not what it was', back.treeId === first.treeId);
    const collected = await timed('collected', () => workspaces.collect(-1));
    must('a collection left what nobody needs', collected.trees === 1);
    const problems = await timed('every content proved', () => workspaces.verifyTree(first.treeId));
    must('a collection took what a checkpoint names', problems.length === 0);
    return faults;
  } finally {
    await world.close();
  }
};
