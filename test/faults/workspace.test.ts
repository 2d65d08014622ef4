import fs from 'node:fs';
import { join } from 'node:path';
import { type FileSystem, LIMITS, nodeFileSystem, systemClock } from '../../src/core/index.ts';
import { WorkspaceStore } from '../../src/sessions/index.ts';
import { assert, check } from '../support/index.ts';
import { openSessionWorld, refusal } from '../support/session-world.ts';

interface Place {
  readonly directory: string;
  readonly folder: string;
  readonly open: (files?: Partial<FileSystem>) => WorkspaceStore;
}

async function withPlace(body: (place: Place) => Promise<void>): Promise<void> {
  await using world = await openSessionWorld();
  const base = join(world.file, '..');
  const [directory, folder] = [join(base, 'workspace'), join(base, 'workspace-cas')];
  fs.mkdirSync(directory);
  const { store, context } = world;
  await body({
    directory,
    folder,
    open: (files = {}) =>
      new WorkspaceStore({
        store,
        folder,
        clock: systemClock,
        ids: context.ids,
        files: { ...nodeFileSystem, ...files },
      }),
  });
}

const diskError = (code: string): Error => Object.assign(new Error(code), { code, syscall: 'write' });

check('a file that changes while it is read is read again, and left out when it goes on changing', () =>
  withPlace(async ({ directory, open }) => {
    for (const name of ['calm', 'once', 'restless']) fs.writeFileSync(join(directory, name), `${name} text`);
    const changes = new Map([
      ['once text', 1],
      ['restless text', 9],
    ]);
    const workspace = open({
      read(fd, into, position) {
        const count = nodeFileSystem.read(fd, into, position);
        const text = Buffer.from(into).toString('utf8', 0, count);
        const left = changes.get(text) ?? 0;
        changes.set(text, left - 1);
        if (left > 0) fs.utimesSync(join(directory, text.split(' ')[0] ?? ''), new Date(0), new Date(left * 1000));
        return count;
      },
    });
    const captured = await workspace.capture(directory);
    assert.deepEqual(
      captured.tree.skipped.map(({ path, reason }) => `${path} ${reason}`),
      ['restless changed_while_read'],
    );
    assert.deepEqual(
      captured.tree.entries.map((entry) => entry.path),
      ['calm', 'once'],
    );
    assert.deepEqual(await workspace.verifyTree(captured.treeId), []);
  }),
);

check('a file that is cut short, or cannot be read, is told and the others are captured', () =>
  withPlace(async ({ directory, open }) => {
    for (const name of ['a', 'b', 'c']) fs.writeFileSync(join(directory, name), `text of ${name}`);
    const workspace = open({
      open(path, flags, mode) {
        if (path.endsWith('/a')) throw diskError('EACCES');
        return nodeFileSystem.open(path, flags, mode);
      },
      read(fd, into, position) {
        const count = nodeFileSystem.read(fd, into, position);
        if (Buffer.from(into).toString('utf8', 0, count) === 'text of b') throw diskError('EIO');
        return count;
      },
    });
    const captured = await workspace.capture(directory);
    assert.deepEqual(
      captured.tree.skipped.map(({ path, reason }) => `${path} ${reason}`),
      ['a unreadable', 'b unreadable'],
    );
    assert.deepEqual(await workspace.verifyTree(captured.treeId), []);
  }),
);

check('a disk that is full in the middle of a large file is an error, not a file left out', () =>
  withPlace(async ({ directory, folder, open }) => {
    fs.writeFileSync(join(directory, 'large'), 'x'.repeat(9 * 1024 * 1024));
    const faulty = open({
      write: () => {
        throw diskError('ENOSPC');
      },
    });
    assert.equal((await refusal(faulty.capture(directory))).code, 'FILE_DISK_FULL');
    assert.deepEqual(fs.readdirSync(join(folder, 'packs')), []);
  }),
);

for (const call of ['write', 'fsync', 'rename'] as const)
  check(`a ${call} that fails in a capture leaves nothing named and nothing half, and the next one goes through`, () =>
    withPlace(async ({ directory, folder, open }) => {
      fs.writeFileSync(join(directory, 'a'), 'text');
      const faulty = open({
        [call]: () => {
          throw diskError('ENOSPC');
        },
      });
      assert.equal((await refusal(faulty.capture(directory))).code, 'FILE_DISK_FULL');
      assert.deepEqual(fs.readdirSync(join(folder, 'packs')), []);
      const { treeId, created } = await open().capture(directory);
      assert.equal(created, true);
      assert.deepEqual(await open().verifyTree(treeId), []);
    }),
  );

check('short writes are gone on with', () =>
  withPlace(async ({ directory, open }) => {
    fs.writeFileSync(join(directory, 'a'), 'x'.repeat(10_000));
    const slow = open({ write: (fd, bytes, at) => nodeFileSystem.write(fd, bytes.subarray(0, 777), at) });
    const { treeId } = await slow.capture(directory);
    assert.deepEqual(await open().verifyTree(treeId), []);
  }),
);

check('a folder that is replaced while it is walked stops the capture', () =>
  withPlace(async ({ directory, open }) => {
    fs.mkdirSync(join(directory, 'sub'));
    fs.writeFileSync(join(directory, 'sub', 'a'), 'text');
    const workspace = open({
      readdir(path) {
        const names = nodeFileSystem.readdir(path);
        if (path.endsWith('/sub')) {
          fs.renameSync(path, join(directory, '..', 'moved'));
          fs.symlinkSync('/etc', path);
        }
        return names;
      },
    });
    assert.equal((await refusal(workspace.capture(directory))).code, 'WORKSPACE_CHANGED');
  }),
);

check('more files than the bound stop the capture before they are held', () =>
  withPlace(async ({ directory, open }) => {
    fs.writeFileSync(join(directory, 'one'), '');
    const facts = nodeFileSystem.lstat(join(directory, 'one'));
    const names = Array.from({ length: LIMITS.workspaceFiles + 1 }, (_, i) => `f${i}`);
    const workspace = open({
      readdir: () => names,
      lstat: (path) => (path.includes('workspace/f') ? facts : nodeFileSystem.lstat(path)),
      open: (path, flags, mode) =>
        nodeFileSystem.open(path.includes('workspace/f') ? join(directory, 'one') : path, flags, mode),
    });
    assert.equal((await refusal(workspace.capture(directory))).code, 'LIMIT_REACHED');
    names.pop();
    assert.equal((await workspace.capture(directory)).tree.entries.length, LIMITS.workspaceFiles);
  }),
);

check('a restore that fails on the way is done again from a fresh capture', () =>
  withPlace(async ({ directory, open }) => {
    for (const name of ['a', 'b', 'c']) fs.writeFileSync(join(directory, name), 'old');
    const { treeId } = await open().capture(directory);
    for (const name of ['a', 'b', 'c']) fs.writeFileSync(join(directory, name), 'newer');
    let renamed = 0;
    const faulty = open({
      rename(from, to) {
        if (to.startsWith(directory) && (renamed += 1) === 2) throw diskError('EIO');
        nodeFileSystem.rename(from, to);
      },
    });
    const current = await faulty.capture(directory);
    assert.equal((await refusal(faulty.restore(treeId, directory, current))).code, 'FILE_IO');
    assert.deepEqual(fs.readdirSync(directory), ['a', 'b', 'c']);
    await faulty.restore(treeId, directory, await faulty.capture(directory));
    for (const name of ['a', 'b', 'c']) assert.equal(fs.readFileSync(join(directory, name), 'utf8'), 'old');
  }),
);
