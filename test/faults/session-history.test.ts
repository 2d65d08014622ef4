import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { fail, nodeFileSystem } from '../../src/core/index.ts';
import { appendEvent, type Checkpoint, forkBranch, runningRestore } from '../../src/sessions/index.ts';
import { armFaults } from '../support/faults.ts';
import {
  beginRevert,
  files,
  NEW,
  OLD,
  point,
  type Project,
  put,
  say,
  shown,
  withProject,
  withWork,
} from '../support/history-project.ts';
import { assert, check } from '../support/index.ts';
import { AGENT, openCalls, OWNER, refusal } from '../support/session-world.ts';

/** A revert that is refused, since a file of the workspace was changed meanwhile; no restore is left under way. */
async function refusedRevert(project: Project): Promise<void> {
  const { world, history } = project;
  const target = await withWork(project);
  const refused = await refusal(history.revert(OWNER, world.root, target.checkpointId));
  assert.equal(refused.code, 'WORKSPACE_CHANGED');
  assert.equal(await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)), null);
}

check('a revert takes history and workspace back together, and reverting to its undo brings both back', () =>
  withProject(async (project) => {
    const target = await withWork(project);
    const head = await project.history.revert(OWNER, project.world.root, target.checkpointId);
    assert.deepEqual([files(project), await shown(project)], [OLD, ['one']]);
    await project.history.revert(OWNER, project.world.root, head.metadata['undo_checkpoint_id'] as string);
    assert.deepEqual([files(project), await shown(project)], [NEW, ['one', 'two']]);
  }),
);

check('activating a branch brings its workspace, and going back brings what was left behind', () =>
  withProject(async (project) => {
    const { world, history } = project;
    const target = await withWork(project);
    const from = { rootFrameId: world.root, fromCheckpointId: target.checkpointId };
    const child = await world.store.write('t', (tx) => forkBranch(tx, world.context, OWNER, from));
    await history.activate(OWNER, world.root, child.branchId);
    assert.deepEqual([files(project), await shown(project)], [OLD, ['one']]);
    put(project, { 'child-file': 'z' });
    await say(project, 'child', child.branchId);
    await history.activate(OWNER, world.root, world.root);
    assert.deepEqual([files(project), await shown(project)], [NEW, ['one', 'two']]);
    await history.activate(OWNER, world.root, child.branchId);
    assert.deepEqual([files(project), await shown(project)], [{ ...OLD, 'child-file': 'z' }, ['one', 'child']]);
  }),
);

check('a preview says what would change and what going back does not undo, and changes nothing', () =>
  withProject(async (project) => {
    const { world, history } = project;
    const target = await withWork(project);
    const { groupId } = await openCalls(world);
    await world.store.write('t', async (tx) => {
      for (const sideEffectClass of ['external_write', 'workspace_write', 'read'])
        await appendEvent(tx, world.context, AGENT, { groupId, type: 'started', actionId: 'a', sideEffectClass });
    });
    const preview = await history.preview(OWNER, world.root, target.checkpointId);
    assert.deepEqual(preview.changes, [
      { path: 'a.txt', change: 'changed' },
      { path: 'b/c.txt', change: 'changed' },
      { path: 'only-new/d', change: 'removed' },
      { path: 'only-old', change: 'added' },
    ]);
    assert.deepEqual(
      preview.notUndone.map((one) => one.sideEffectClass),
      ['external_write'],
    );
    assert.deepEqual(files(project), NEW);
  }),
);

check('what somebody writes after the capture of a revert is still there when the revert is given up', () =>
  withProject(
    async (project) => {
      await refusedRevert(project);
      assert.deepEqual([files(project), await shown(project)], [{ ...NEW, 'a.txt': 'mine' }, ['one', 'two']]);
    },
    {
      faults: (directory) =>
        armFaults({
          point: 'checkpoint-committed',
          at: 2,
          act: () => fs.writeFileSync(join(directory, 'a.txt'), 'mine'),
        }),
    },
  ),
);

check('what somebody writes while a revert writes is not written over, and the rest is as it was', () =>
  withProject(
    async (project) => {
      await refusedRevert(project);
      assert.deepEqual(files(project), { ...NEW, 'b/c.txt': 'mine', 'only-old': 'mine too' });
    },
    {
      files: (directory) => {
        let isFirst = true;
        return {
          rename(from, to) {
            nodeFileSystem.rename(from, to);
            if (!isFirst || to !== join(directory, 'a.txt')) return;
            isFirst = false;
            fs.writeFileSync(join(directory, 'b', 'c.txt'), 'mine');
            fs.writeFileSync(join(directory, 'only-old'), 'mine too');
          },
        };
      },
    },
  ),
);

check('a revert that was held up until another took the pen begins nothing', () =>
  withProject(async (project) => {
    const { world, history, workspaces } = project;
    const target = await withWork(project);
    const capture = workspaces.capture.bind(workspaces);
    workspaces.capture = async (...asked) => {
      const captured = await capture(...asked);
      await world.store.write('t', (tx) => tx.run('DELETE FROM session_tickets'));
      return captured;
    };
    assert.equal((await refusal(history.revert(OWNER, world.root, target.checkpointId))).code, 'TICKET_LOST');
    assert.deepEqual([files(project), await shown(project)], [NEW, ['one', 'two']]);
    assert.equal(await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)), null);
  }),
);

/** A revert that was killed when it had written one file of two, with what its process left half written. */
async function withKilledRevert(project: Project): Promise<Checkpoint> {
  const { directory } = project;
  const target = await withWork(project);
  await beginRevert(project, target);
  fs.chmodSync(join(directory, 'a.txt'), 0o644);
  put(project, { 'a.txt': 'old', '.holdfast-restore-0': 'ol' });
  return target;
}

check('what is written after a killed revert is written over by no recovery: finish refuses, roll_back leaves it', () =>
  withProject(async (project) => {
    const { world, history } = project;
    await withKilledRevert(project);
    put(project, { 'b/c.txt': 'mine', 'of-mine': 'too' });
    const refused = await refusal(history.recover(OWNER, world.root, 'finish'));
    assert.equal(refused.code, 'WORKSPACE_CHANGED');
    await history.recover(OWNER, world.root, 'roll_back');
    assert.deepEqual(files(project), { ...NEW, 'b/c.txt': 'mine', 'of-mine': 'too' });
    assert.deepEqual(await shown(project), ['one', 'two']);
  }),
);

for (const how of ['finish', 'roll_back'] as const)
  check(`a killed revert that nobody came between is ended whole by ${how}`, () =>
    withProject(async (project) => {
      await withKilledRevert(project);
      await project.history.recover(OWNER, project.world.root, how);
      assert.deepEqual(files(project), how === 'finish' ? OLD : NEW);
    }),
  );

check('a killed revert whose target is damaged by now can still be rolled back', () =>
  withProject(async (project) => {
    const { world, workspaces, history } = project;
    const { workspaceTreeId } = await withKilledRevert(project);
    const readTree = workspaces.readTree.bind(workspaces);
    workspaces.readTree = async (id) =>
      id === workspaceTreeId ? Promise.reject(fail('WORKSPACE_PACK_CORRUPT', 'damaged')) : readTree(id);
    assert.equal((await refusal(history.recover(OWNER, world.root, 'finish'))).code, 'WORKSPACE_PACK_CORRUPT');
    await history.recover(OWNER, world.root, 'roll_back');
    assert.deepEqual(files(project), NEW);
  }),
);

check('a checkpoint that was captured while a restore went on is refused: it would be of no one moment', () =>
  withProject(async (project) => {
    const { world, history, workspaces } = project;
    const target = await withWork(project);
    const capture = workspaces.capture.bind(workspaces);
    let isFirst = true;
    workspaces.capture = async (...asked) => {
      const captured = await capture(...asked);
      if (!isFirst) return captured;
      isFirst = false;
      await history.revert(OWNER, world.root, target.checkpointId);
      return captured;
    };
    assert.equal((await refusal(point(project))).code, 'WORKSPACE_CHANGED');
    assert.deepEqual([files(project), await shown(project)], [OLD, ['one']]);
  }),
);

check('a revert that is blocked, or whose contents are damaged, leaves everything as it was', () =>
  withProject(async (project) => {
    const { world, history, directory } = project;
    const target = await withWork(project);
    fs.rmSync(join(directory, 'a.txt'));
    fs.symlinkSync('/etc/hostname', join(directory, 'a.txt'));
    const blocked = await refusal(history.revert(OWNER, world.root, target.checkpointId));
    assert.equal(blocked.code, 'WORKSPACE_BLOCKED');
    assert.deepEqual(await shown(project), ['one', 'two']);
    assert.equal(await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root)), null);
    fs.rmSync(join(directory, 'a.txt'));
    put(project, NEW);
    const packs = join(directory, '..', 'workspace-cas', 'packs');
    const [first = ''] = fs.readdirSync(packs).toSorted();
    const bytes = fs.readFileSync(join(packs, first));
    fs.writeFileSync(join(packs, first), bytes.fill(120, 8, 20));
    assert.equal(
      (await refusal(history.revert(OWNER, world.root, target.checkpointId))).code,
      'WORKSPACE_PACK_CORRUPT',
    );
    assert.deepEqual([files(project), await shown(project)], [NEW, ['one', 'two']]);
    await say(project, 'three');
  }),
);

check(
  'killed anywhere, a revert ends in the old state, the new one, or a marked one that is finished or rolled back',
  async () => {
    const ends = new Set<string>();
    let points = 0;
    for (let arrival = 0; arrival <= points; arrival += 1)
      await withProject(async (project) => {
        const { world, history } = project;
        const target = await withWork(project);
        const program = join(import.meta.dirname, '../fixtures/sessions/history-actor.ts');
        const args = [
          program,
          world.file,
          world.root,
          target.checkpointId,
          ...(arrival === 0 ? [] : [String(arrival)]),
        ];
        const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
        if (arrival === 0) {
          points = (JSON.parse(child.stdout) as string[]).length;
          assert.ok(points >= 8, child.stdout);
          return;
        }
        assert.equal(child.signal, 'SIGKILL');
        // The dead process held the pen; the end of its lease is not waited for here.
        await world.store.write('t', (tx) => tx.run('DELETE FROM session_tickets'));
        const running = await world.store.read('t', (tx) => runningRestore(tx, OWNER, world.root));
        const how = arrival % 2 === 0 ? 'finish' : 'roll_back';
        if (running) {
          assert.equal((await refusal(say(project, 'now'))).code, 'SESSION_REVERTING');
          await history.recover(OWNER, world.root, how);
        }
        const isNew = running !== null && how === 'finish';
        assert.deepEqual([files(project), await shown(project)], isNew ? [OLD, ['one']] : [NEW, ['one', 'two']]);
        assert.equal((await refusal(history.recover(OWNER, world.root, 'finish'))).code, 'RESTORE_NOT_RUNNING');
        ends.add(running ? how : 'untouched');
      });
    assert.deepEqual([...ends].toSorted(), ['finish', 'roll_back', 'untouched']);
  },
);
