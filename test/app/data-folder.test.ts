import { chmodSync, existsSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepareDataFolder, readConfiguration } from '../../src/app/index.ts';
import { type FileSystem, HoldfastError, nodeFileSystem } from '../../src/core/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const mode = (path: string): number => lstatSync(path).mode & 0o777;

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof HoldfastError) return error.code;
    throw error;
  }
  return 'none';
}

check('the data folder is made 0700 and its database 0600, whatever the umask', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const umask = process.umask(0);
  try {
    const folder = prepareDataFolder({ dataDir, create: true });
    assert.equal(mode(dataDir), 0o700);
    assert.equal(mode(folder.database), 0o600);
  } finally {
    process.umask(umask);
  }
  assert.equal(prepareDataFolder({ dataDir, create: false }).path, dataDir);
});

check('what is missing is refused unless it may be made, and a missing parent always', async (t) => {
  const home = await temporaryFolder(t);
  const dataDir = join(home, 'data');
  assert.equal(
    codeOf(() => prepareDataFolder({ dataDir, create: false })),
    'DATA_FOLDER_MISSING',
  );
  assert.equal(existsSync(dataDir), false);
  assert.equal(
    codeOf(() => prepareDataFolder({ dataDir: join(home, 'a', 'b'), create: true })),
    'DATA_FOLDER_MISSING',
  );
  mkdirSync(dataDir, { mode: 0o700 });
  assert.equal(
    codeOf(() => prepareDataFolder({ dataDir, create: false })),
    'DATA_FOLDER_MISSING',
  );
});

check('reading rights that are too wide are narrowed', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { database } = prepareDataFolder({ dataDir, create: true });
  chmodSync(dataDir, 0o755);
  chmodSync(database, 0o644);
  writeFileSync(`${database}-wal`, '', { mode: 0o644 });
  prepareDataFolder({ dataDir, create: false });
  assert.deepEqual([mode(dataDir), mode(database), mode(`${database}-wal`)], [0o700, 0o600, 0o600]);
});

check('what others may write is refused and left as it is', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const { database } = prepareDataFolder({ dataDir, create: true });
  for (const [path, wide, right] of [
    [dataDir, 0o720, 0o700],
    [dataDir, 0o702, 0o700],
    [database, 0o620, 0o600],
    [database, 0o602, 0o600],
  ] as const) {
    chmodSync(path, wide);
    assert.equal(
      codeOf(() => prepareDataFolder({ dataDir, create: true })),
      'DATA_FOLDER_UNSAFE',
      path,
    );
    assert.equal(mode(path), wide);
    chmodSync(path, right);
  }
});

check('links and other kinds are refused, as folder and as database', async (t) => {
  const home = await temporaryFolder(t);
  const dataDir = join(home, 'data');
  prepareDataFolder({ dataDir, create: true });
  symlinkSync(dataDir, join(home, 'link'));
  writeFileSync(join(home, 'file'), '');
  const linked = join(home, 'linked-database');
  mkdirSync(linked, { mode: 0o700 });
  symlinkSync(join(dataDir, 'holdfast.db'), join(linked, 'holdfast.db'));
  for (const path of [join(home, 'link'), join(home, 'file'), linked])
    assert.equal(
      codeOf(() => prepareDataFolder({ dataDir: path, create: true })),
      'DATA_FOLDER_UNSAFE',
      path,
    );
});

check("another user's folder is refused", async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  prepareDataFolder({ dataDir, create: true });
  const files: FileSystem = {
    ...nodeFileSystem,
    lstat: (path) => ({ ...nodeFileSystem.lstat(path), uid: 4_294_000_000 }),
  };
  assert.equal(
    codeOf(() => prepareDataFolder({ dataDir, create: true, files })),
    'DATA_FOLDER_UNSAFE',
  );
});

check('a disk that fails while the folder is made gives a coded error with its cause', async (t) => {
  const dataDir = join(await temporaryFolder(t), 'data');
  const cause = Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'mkdir' });
  const files: FileSystem = {
    ...nodeFileSystem,
    mkdir: () => {
      throw cause;
    },
  };
  assert.throws(() => prepareDataFolder({ dataDir, create: true, files }), { code: 'FILE_IO', cause });
});

check('the command line comes before the environment, the environment before the default; blanks are refused', () => {
  assert.equal(readConfiguration({ env: {} }).dataDir, '.holdfast');
  assert.equal(readConfiguration({ env: { HOLDFAST_DATA_DIR: 'a' } }).dataDir, 'a');
  assert.equal(readConfiguration({ env: { HOLDFAST_DATA_DIR: 'a' }, dataDir: 'b' }).dataDir, 'b');
  for (const dataDir of ['', ' ', 'a\0b'])
    assert.equal(
      codeOf(() => readConfiguration({ env: {}, dataDir })),
      'INVALID_VALUE',
    );
  assert.equal(
    codeOf(() => readConfiguration({ env: { HOLDFAST_DATA_DIR: '' } })),
    'INVALID_VALUE',
  );
});
