import fs from 'node:fs';
import { join } from 'node:path';
import { nodeFileSystem } from '../../src/core/index.ts';
import { beginRestore, createCheckpoint, runningRestore, treeIdOf } from '../../src/sessions/index.ts';
import {
  beginRevert,
  files,
  NEW,
  OLD,
  point,
  put,
  say,
  shown,
  withProject,
  withWork,
} from '../support/history-project.ts';
import { assert, check } from '../support/index.ts';
import { OWNER, refusal } from '../support/session-world.ts';

const denied = (path: string): Error => Object.assign(new Error(path), { code: 'EACCES', syscall: 'scandir' });

check(
  'a revert leaves what its checkpoint left out, in a folder that could not be read or a file that was too busy',
  () => {
    let closed = true;
    return withProject(
      async (project) => {
        const { world, history, directory } = project;
        put(project, { 'a.txt': 'old', 'closed/deep/b.txt': 'kept', 'link/c.txt': 'away' });
        fs.renameSync(join(directory, 'link'), join(directory, '..', 'elsewhere'));
        fs.symlinkSync('../elsewhere', join(directory, 'link'));
        const target = await point(project);
        closed = false;
        fs.rmSync(join(directory, 'link'));
        put(project, { 'a.txt': 'new', 'closed-not': 'x', link: 'a file by now' });
        const { changes } = await history.preview(OWNER, world.root, target.checkpointId);
        assert.deepEqual(changes, [
          { path: 'a.txt', change: 'changed' },
          { path: 'closed-not', change: 'removed' },
        ]);
        await history.revert(OWNER, world.root, target.checkpointId);
        const left = { 'a.txt': 'old', 'closed/deep/b.txt': 'kept', link: 'a file by now' };
        assert.deepEqual(files(project), left);
      },
      {
        files: (directory) => ({
          readdir(path) {
            if (closed && path === join(directory, 'closed')) throw denied(path);
            return nodeFileSystem.readdir(path);
          },
        }),
      },
    );
  },
);

check('a workspace that cannot be read makes no checkpoint: it would say that there is nothing in it', () => {
  let closed = true;
  return withProject(
    async (project) => {
      put(project, OLD);
      assert.equal((await refusal(point(project))).code, 'WORKSPACE_NOT_A_FOLDER');
      closed = false;
      await point(project);
    },
    {
      files: (directory) => ({
        readdir(path) {
          if (closed && path === directory) throw denied(path);
          return nodeFileSystem.readdir(path);
        },
      }),
    },
  );
});

check('files whose names are no UTF-8 are left out, told once, and the checkpoint can be gone back to', () =>
  withProject(async (project) => {
    const { world, history, workspaces, directory } = project;
    for (const byte of [0xe8, 0xe9])
      fs.writeFileSync(Buffer.concat([Buffer.from(`${directory}/caf`), Buffer.from([byte])]), 'latin');
    put(project, { 'a.txt': 'old' });
    const target = await point(project);
    const tree = await workspaces.readTree(target.workspaceTreeId ?? '');
    assert.deepEqual(tree.skipped, [{ path: 'caf\u{fffd}', reason: 'unreadable' }]);
    put(project, { 'a.txt': 'new' });
    await history.revert(OWNER, world.root, target.checkpointId);
    assert.equal(fs.readFileSync(join(directory, 'a.txt'), 'utf8'), 'old');
    assert.equal(fs.readdirSync(directory).length, 3);
  }),
);

check('a name that two files of a folder are shown by is that of neither', () =>
  withProject(
    async (project) => {
      put(project, { 'a.txt': 'old', 'b.txt': 'old' });
      const { tree, treeId } = await project.workspaces.capture(project.directory);
      assert.deepEqual(
        tree.entries.map(({ path }) => path),
        ['b.txt'],
      );
      assert.deepEqual(tree.skipped, [{ path: 'a.txt', reason: 'unreadable' }]);
      assert.equal(treeIdOf(await project.workspaces.readTree(treeId)), treeId);
    },
    {
      files: (directory) => ({
        readdir: (path) =>
          nodeFileSystem
            .readdir(path)
            .flatMap((name) => (path === directory && name === 'a.txt' ? [name, name] : [name])),
      }),
    },
  ),
);

check('a tree that could not be read again is not stored', () =>
  withProject(async ({ workspaces }) => {
    const folder = `${'x'.repeat(250)}/`.repeat(14);
    const skipped = Array.from({ length: 20_000 }, (_, i) => ({
      path: `${folder}${String(i).padStart(5, '0')}`,
      reason: 'not_regular_file',
    }));
    const none = async function* () {};
    assert.equal((await refusal(workspaces.addTree({ entries: [], skipped }, none))).code, 'LIMIT_REACHED');
  }),
);

check(
  'a killed revert to a checkpoint without a workspace wrote nothing, and its recovery leaves the folder alone',
  () =>
    withProject(async (project) => {
      const { world, history } = project;
      const bare = { rootFrameId: world.root, branchId: world.root, reason: 'without a workspace' };
      const target = await world.store.write('t', (tx) => createCheckpoint(tx, world.context, OWNER, bare));
      put(project, OLD);
      await say(project, 'two');
      await beginRevert(project, target);
      put(project, { 'a.txt': 'mine', 'of-mine': 'too' });
      await history.recover(OWNER, world.root, 'roll_back');
      assert.deepEqual(files(project), { ...OLD, 'a.txt': 'mine', 'of-mine': 'too' });
    }),
);

check('a recovery writes over no folder of which nothing was captured before its revert', () =>
  withProject(async (project) => {
    const { world, history } = project;
    const target = await withWork(project);
    const restore = {
      rootFrameId: world.root,
      kind: 'revert',
      targetCheckpointId: target.checkpointId,
      undoTreeId: null,
    } as const;
    await world.store.write('t', (tx) => beginRestore(tx, world.context, OWNER, restore));
    assert.equal((await refusal(history.recover(OWNER, world.root, 'finish'))).code, 'WORKSPACE_NOT_A_FOLDER');
    assert.deepEqual(files(project), NEW);
    await history.recover(OWNER, world.root, 'roll_back');
    assert.deepEqual([files(project), await shown(project)], [NEW, ['one', 'two']]);
  }),
);

for (const how of ['finish', 'roll_back'] as const)
  check(`a revert that was held up until another ended it by ${how} takes nothing of that back`, () => {
    let between: (() => Promise<void>) | undefined;
    let asked = 0;
    return withProject(
      async (project) => {
        const { world, history } = project;
        const target = await withWork(project);
        asked = 0;
        between = async () => {
          // Its process slept for longer than its lease.
          await world.store.write('t', (tx) => tx.run('DELETE FROM session_tickets'));
          await history.recover(OWNER, world.root, how);
        };
        const refused = await refusal(history.revert(OWNER, world.root, target.checkpointId));
        assert.equal(refused.code, 'TICKET_LOST');
        assert.equal(await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)), null);
        const end = how === 'finish' ? [OLD, ['one']] : [NEW, ['one', 'two']];
        assert.deepEqual([files(project), await shown(project)], end);
      },
      {
        directoryOf: async (directory) => {
          asked += 1;
          const come = asked === 2 ? between : undefined;
          between = come === undefined ? between : undefined;
          await come?.();
          return directory;
        },
      },
    );
  });

check('a revert whose pen was taken while it wrote the last file leaves its end to whoever has it', () => {
  let between: (() => void) | undefined;
  return withProject(
    async (project) => {
      const { world, history } = project;
      const target = await withWork(project);
      between = () => {
        const raw = world.raw();
        raw.exec('DELETE FROM session_tickets');
        raw.close();
      };
      const refused = await refusal(history.revert(OWNER, world.root, target.checkpointId));
      assert.equal(refused.code, 'TICKET_LOST');
      assert.equal((await refusal(say(project, 'now'))).code, 'SESSION_REVERTING');
      await history.recover(OWNER, world.root, 'finish');
      assert.deepEqual([files(project), await shown(project)], [OLD, ['one']]);
    },
    {
      files: () => ({
        rename(from, to) {
          nodeFileSystem.rename(from, to);
          if (to.endsWith('only-old')) between?.();
        },
      }),
    },
  );
});

check('a revert gives others their turn while it writes, so that its pen stays with it', () =>
  withProject(async (project) => {
    const { world, history } = project;
    const many = (text: string) => Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`f${i}`, text]));
    put(project, many('old'));
    const target = await point(project);
    put(project, many('newer'));
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    let before = 0;
    project.workspaces.restoreTree = (
      (restoreTree) =>
      async (...given: Parameters<typeof restoreTree>) => {
        before = turns;
        const restored = await restoreTree(...given);
        before = turns - before;
        return restored;
      }
    )(project.workspaces.restoreTree.bind(project.workspaces));
    setImmediate(count);
    await history.revert(OWNER, world.root, target.checkpointId);
    isOver = true;
    assert.ok(before >= 4, String(before));
  }),
);
