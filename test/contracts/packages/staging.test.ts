import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createIds, fail, type FileSystem, nodeFileSystem, systemClock } from '../../../src/core/index.ts';
import { sweepStaging, takeStagingPlace } from '../../../src/packages/staging.ts';
import { Holdfast } from '../../../src/index.ts';
import { oracle } from '../../archive/support/packages.ts';
import { assert, check, temporaryFolder } from '../../support/index.ts';
import { makeSource, ROOT } from './source.ts';
import { openPackageWorld, OWNER, type PackageWorld, refusal } from './world.ts';

const ids = createIds(systemClock);
const WAYS = ['export', 'receive'] as const;

/** What lies in the staging folder itself. */
function stagedIn(folder: string): string[] {
  const staging = join(folder, 'package-staging');
  return existsSync(staging) ? readdirSync(staging).sort() : [];
}

function start(folder: string, how: string, then: 'die' | 'wait'): ChildProcess {
  const script = join(import.meta.dirname, 'children', 'stage-and-wait.ts');
  return spawn(process.execPath, [script, folder, how, then], { stdio: ['pipe', 'pipe', 'inherit'] });
}

async function killed(folder: string, how: string): Promise<void> {
  const [, signal] = (await once(start(folder, how, 'die'), 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL', how);
}

/** One that lives and is in the middle of it, and then one that was killed there, in one installation. */
async function left(how: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-staging-'));
  const world = await openPackageWorld({ folder });
  await makeSource(world);
  const living = start(folder, how, 'wait');
  await once(living.stdout as NodeJS.ReadableStream, 'data');
  const alive = stagedIn(folder);
  await killed(folder, how);
  const dead = stagedIn(folder).filter((name) => !alive.includes(name));
  return {
    world,
    folder,
    dead,
    alive,
    living,
    async [Symbol.asyncDispose]() {
      living.kill('SIGKILL');
      await world.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The living one goes on to its end, and what it staged is whole. */
async function requireWhole(living: ChildProcess): Promise<void> {
  living.kill('SIGCONT');
  living.stdin?.write('go on\n');
  const [told] = (await once(living.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  assert.equal(told.toString(), 'whole\n');
  if (living.exitCode === null) await once(living, 'exit');
}

const NEXT: Readonly<Record<string, (world: PackageWorld) => Promise<unknown>>> = {
  'an export': async ({ packages }) => (await packages.export(OWNER, ROOT)).close(),
  'an import': ({ packages }) => packages.import(OWNER, oracle('a-minimal')),
  'a package that comes': ({ packages }) => {
    const chunks = (async function* () {
      yield oracle('a-minimal');
    })();
    return packages.receive(OWNER, { announcedBytes: 0, chunks }, async () => undefined);
  },
};

for (const how of WAYS)
  check(`what a killed ${how} left goes before the next one, and what a living one uses stays`, async () => {
    await using both = await left(how);
    const { world, folder, dead, alive, living } = both;
    // What is staged, its lock, and the journal that SQLite puts beside a lock that is held.
    assert.deepEqual([dead.length, alive.length], [3, 3]);
    // A process that stands still shows no life, and lives.
    living.kill('SIGSTOP');
    const [next = ''] = Object.keys(NEXT).slice(WAYS.indexOf(how));
    await NEXT[next]?.(world);
    assert.deepEqual(stagedIn(folder), alive, next);
    await requireWhole(living);
    assert.deepEqual(stagedIn(folder), []);
  });

check('each of an export, an import and a package that comes sweeps', async () => {
  for (const [next, work] of Object.entries(NEXT)) {
    await using world = await openPackageWorld();
    await makeSource(world);
    const staging = join(world.folder, 'package-staging');
    mkdirSync(staging);
    const id = ids.next();
    writeFileSync(join(staging, `${id}.lock`), '');
    writeFileSync(join(staging, id), 'what a dead process left');
    await work(world);
    assert.deepEqual(stagedIn(world.folder), [], next);
  }
});

check('a start sweeps, beside a process that has the same folder open', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  await using first = await Holdfast.open({ dataDir });
  const staging = join(dataDir, 'package-staging');
  const place = await takeStagingPlace({ files: nodeFileSystem, ids, stagingFolder: staging });
  writeFileSync(place.path, 'in use');
  const gone = join(staging, ids.next());
  mkdirSync(join(gone, 'deep', 'deeper'), { recursive: true });
  writeFileSync(join(gone, 'deep', 'deeper', 'file'), 'left');
  writeFileSync(`${gone}.lock`, '');
  await using second = await Holdfast.open({ dataDir });
  assert.equal(first.runtime.projectId, second.runtime.projectId);
  const held = [place.path, `${place.path}.lock`, `${place.path}.lock-journal`].map((path) => basename(path));
  assert.deepEqual(readdirSync(staging).sort(), held);
  place.close();
  assert.deepEqual(readdirSync(staging), []);
});

check('a sweep takes only what has the form of a place, and follows no link', async (t) => {
  const folder = await temporaryFolder(t);
  const outside = join(folder, 'outside');
  const staging = join(folder, 'staging');
  mkdirSync(outside);
  mkdirSync(staging);
  const precious = join(outside, 'precious');
  writeFileSync(precious, 'precious');
  const named = (name: string): string => join(staging, name);
  const kept: string[] = [];
  const keep = (...names: readonly string[]): void => void kept.push(...names);
  // No lock; not our names; a name in other letters.
  const [bare, upper, linked, hard, long] = [ids.next(), ids.next().toUpperCase(), ids.next(), ids.next(), ids.next()];
  writeFileSync(named(bare), '');
  keep(bare);
  for (const name of ['notes', upper, `${ids.next()}x`, `.${ids.next()}`]) {
    writeFileSync(named(name), '');
    writeFileSync(named(`${name}.lock`), '');
    keep(name, `${name}.lock`);
  }
  // A lock that is a link, or has another name elsewhere; a place that is a link.
  symlinkSync(precious, named(`${linked}.lock`));
  writeFileSync(named(linked), '');
  linkSync(precious, named(`${hard}.lock`));
  writeFileSync(named(hard), '');
  symlinkSync(outside, named(long));
  writeFileSync(named(`${long}.lock`), '');
  keep(linked, `${linked}.lock`, hard, `${hard}.lock`, long, `${long}.lock`);
  // Ours, with links in it.
  const gone = ids.next();
  mkdirSync(named(gone));
  symlinkSync(outside, join(named(gone), 'folder'));
  symlinkSync(precious, join(named(gone), 'file'));
  symlinkSync('nowhere', join(named(gone), 'dangling'));
  writeFileSync(join(named(gone), 'ledger.json'), '');
  writeFileSync(named(`${gone}.lock`), '');
  // A lock alone: its holder died before or after it had put something there.
  writeFileSync(named(`${ids.next()}.lock`), '');
  writeFileSync(named(`${ids.next()}.lock-journal`), '');
  await sweepStaging({ files: nodeFileSystem, stagingFolder: staging });
  assert.deepEqual(readdirSync(staging).sort(), kept.sort());
  assert.deepEqual(readdirSync(outside), ['precious']);
});

check('a staging folder that is a link, a file, or not there is not swept', async (t) => {
  const folder = await temporaryFolder(t);
  const real = join(folder, 'real');
  mkdirSync(real);
  writeFileSync(join(real, `${ids.next()}.lock`), '');
  const staging = join(folder, 'staging');
  const sweep = () => sweepStaging({ files: nodeFileSystem, stagingFolder: staging });
  await sweep();
  writeFileSync(staging, '');
  await sweep();
  rmSync(staging);
  symlinkSync(real, staging);
  await sweep();
  assert.equal(readdirSync(real).length, 1);
  rmSync(staging);
  renameSync(real, staging);
  await sweep();
  assert.equal(readdirSync(staging).length, 0);
});

check('what cannot be removed stays with its lock, hinders nothing, and goes the next time', async (t) => {
  const staging = join(await temporaryFolder(t), 'staging');
  mkdirSync(staging);
  const [stuck, other] = [ids.next(), ids.next()];
  for (const id of [stuck, other]) {
    mkdirSync(join(staging, id));
    writeFileSync(join(staging, `${id}.lock`), '');
  }
  const refusing = {
    ...nodeFileSystem,
    rmdir(path: string) {
      if (path.endsWith(stuck)) throw Object.assign(new Error('no'), { code: 'EBUSY', syscall: 'rmdir' });
      nodeFileSystem.rmdir(path);
    },
  };
  await sweepStaging({ files: refusing, stagingFolder: staging });
  assert.deepEqual(readdirSync(staging).sort(), [stuck, `${stuck}.lock`]);
  await sweepStaging({ files: nodeFileSystem, stagingFolder: staging });
  assert.deepEqual(readdirSync(staging), []);
});

check('a place whose lock a sweep took before it was held is not used', async (t) => {
  const staging = join(await temporaryFolder(t), 'staging');
  let swept = '';
  const files = {
    ...nodeFileSystem,
    close(fd: number) {
      nodeFileSystem.close(fd);
      const [lock] = readdirSync(staging);
      if (swept !== '' || lock === undefined) return;
      swept = lock;
      rmSync(join(staging, lock));
      // It takes the inode that was freed, so that the next lock is another file.
      writeFileSync(join(staging, 'between'), '');
    },
  };
  const place = await takeStagingPlace({ files, ids, stagingFolder: staging });
  assert.notEqual(swept, '');
  assert.notEqual(`${basename(place.path)}.lock`, swept);
  place.close();
  await sweepStaging({ files, stagingFolder: staging });
  assert.deepEqual(readdirSync(staging), ['between']);
});

check('a disk that refuses is told by its code, and nothing is left of the attempt', async (t) => {
  const staging = join(await temporaryFolder(t), 'staging');
  const refusedBy = async (files: FileSystem): Promise<string | undefined> =>
    (await refusal(takeStagingPlace({ files, ids, stagingFolder: staging }))).code;
  const full = Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'open' });
  const noRoom = (path: string, flags: string | number, mode?: number): number => {
    if (path.endsWith('.lock')) throw full;
    return nodeFileSystem.open(path, flags, mode);
  };
  assert.equal(await refusedBy({ ...nodeFileSystem, open: noRoom }), 'FILE_DISK_FULL');
  // What SQLite itself refuses.
  const spoilt = (fd: number) => {
    nodeFileSystem.write(fd, Buffer.alloc(4096, 'no database'));
    return nodeFileSystem.factsOf(fd);
  };
  assert.equal(await refusedBy({ ...nodeFileSystem, factsOf: spoilt }), 'FILE_IO');
  assert.deepEqual(readdirSync(staging), []);
  await using world = await openPackageWorld();
  await makeSource(world);
  const noBytes: FileSystem = {
    ...nodeFileSystem,
    open(path, flags, mode) {
      if (path.endsWith('ledger.json')) throw full;
      return nodeFileSystem.open(path, flags, mode);
    },
  };
  const refused = await refusal(world.with({ files: noBytes }).export(OWNER, ROOT));
  assert.equal(refused.code, 'FILE_DISK_FULL');
  assert.deepEqual(stagedIn(world.folder), []);
});

check('a lock that is swept while SQLite opens it costs a name and nothing else', async (t) => {
  const staging = join(await temporaryFolder(t), 'staging');
  let swept = '';
  const files: FileSystem = {
    ...nodeFileSystem,
    lstat(path) {
      const facts = nodeFileSystem.lstat(path);
      if (path.endsWith('.lock') && swept === '') {
        swept = path;
        // Another inode with something in it that is no lock: SQLite refuses it.
        renameSync(path, `${path}-away`);
        writeFileSync(path, Buffer.alloc(4096, 'no database'));
      }
      return facts;
    },
  };
  const place = await takeStagingPlace({ files, ids, stagingFolder: staging });
  assert.notEqual(swept, '');
  assert.notEqual(`${place.path}.lock`, swept);
  place.close();
});

check(
  'an export that the disk has no room for holds none of its files open, so that their room is given back',
  async () => {
    await using world = await openPackageWorld();
    await makeSource(world);
    const opened = new Set<number>();
    let ledger = -1;
    const files: FileSystem = {
      ...nodeFileSystem,
      open(path, flags, mode) {
        const fd = nodeFileSystem.open(path, flags, mode);
        opened.add(fd);
        if (path.endsWith('ledger.json')) ledger = fd;
        return fd;
      },
      close(fd) {
        opened.delete(fd);
        nodeFileSystem.close(fd);
      },
      write(fd, bytes, position) {
        if (fd === ledger) throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: 'write' });
        return nodeFileSystem.write(fd, bytes, position);
      },
    };
    const refused = await refusal(world.with({ files }).export(OWNER, ROOT));
    assert.equal(refused.code, 'FILE_DISK_FULL');
    assert.deepEqual([...opened], []);
    assert.deepEqual(stagedIn(world.folder), []);
  },
);

check('what was done with a package that came is told, also where its file could not be removed', async () => {
  await using world = await openPackageWorld();
  let isStuck = true;
  const files: FileSystem = {
    ...nodeFileSystem,
    unlink(path) {
      if (isStuck && !path.endsWith('.lock'))
        throw Object.assign(new Error('stuck'), { code: 'EIO', syscall: 'unlink' });
      nodeFileSystem.unlink(path);
    },
  };
  const chunks = async function* () {
    yield Buffer.from('a package');
  };
  const packages = world.with({ files });
  const incoming = { announcedBytes: 9, chunks: chunks() };
  assert.equal(await packages.receive(OWNER, incoming, async () => 'imported'), 'imported');
  const failing = packages.receive(OWNER, { ...incoming, chunks: chunks() }, async () => {
    throw fail('IMPORT_BUSY', 'Another one.');
  });
  assert.equal((await refusal(failing)).code, 'IMPORT_BUSY');
  assert.equal(stagedIn(world.folder).length, 4);
  isStuck = false;
  await packages.sweep();
  assert.deepEqual(stagedIn(world.folder), []);
});

check('what an export came to is told, also where its folder could not be removed', async () => {
  await using world = await openPackageWorld();
  await makeSource(world);
  let isFull = false;
  const files: FileSystem = {
    ...nodeFileSystem,
    unlink(path) {
      if (!path.endsWith('.lock')) throw Object.assign(new Error(path), { code: 'EIO', syscall: 'unlink' });
      nodeFileSystem.unlink(path);
    },
    open(path, flags, mode) {
      if (isFull && path.endsWith('ledger.json'))
        throw Object.assign(new Error(path), { code: 'ENOSPC', syscall: 'open' });
      return nodeFileSystem.open(path, flags, mode);
    },
  };
  const packages = world.with({ files });
  (await packages.export(OWNER, ROOT)).close();
  isFull = true;
  assert.equal((await refusal(packages.export(OWNER, ROOT))).code, 'FILE_DISK_FULL');
  assert.equal(stagedIn(world.folder).length, 4);
  await world.packages.sweep();
  assert.deepEqual(stagedIn(world.folder), []);
});
