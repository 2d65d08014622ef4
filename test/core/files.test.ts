import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import {
  type FileSystem,
  fail,
  nodeFileSystem,
  readFileWithin,
  syncFolder,
  wrapFileError,
  writeAll,
  writeFileDurably,
} from '../../src/core/index.ts';
import { assert, check } from '../support/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'core-files-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const place = (name: string): string => join(folder, name);
const bytes = (text: string): Uint8Array => Buffer.from(text);

/** The real calls, written down in order, with one replaced. */
function watched(replaced: Partial<FileSystem> = {}): { files: FileSystem; calls: string[] } {
  const calls: string[] = [];
  const files = { ...nodeFileSystem, ...replaced };
  for (const name of ['open', 'write', 'fsync', 'rename', 'unlink', 'close'] as const) {
    const call = files[name] as (...args: unknown[]) => unknown;
    Object.assign(files, {
      [name]: (...args: unknown[]) => {
        calls.push(name);
        return call(...args);
      },
    });
  }
  return { files, calls };
}

function errno(code: string): Error {
  return Object.assign(new Error(`${code}: refused, open '/secret/place'`), { code, syscall: 'open' });
}

check('a durable file is written, synced, renamed, and its folder synced, in this order', () => {
  const { files, calls } = watched();
  writeFileDurably(files, place('a'), place('a.tmp'), bytes('hello'));
  assert.deepEqual(calls, ['open', 'write', 'fsync', 'close', 'rename', 'open', 'fsync', 'close']);
  assert.equal(readFileSync(place('a'), 'utf8'), 'hello');
  assert.equal(statSync(place('a')).mode & 0o777, 0o600);
});

check('a failed step leaves the old file whole and no temporary one', () => {
  writeFileSync(place('b'), 'old');
  for (const name of ['write', 'fsync', 'rename'] as const) {
    const { files } = watched({
      [name]: () => {
        throw errno('EIO');
      },
    });
    assert.throws(() => writeFileDurably(files, place('b'), place('b.tmp'), bytes('new')), { code: 'EIO' });
    assert.equal(readFileSync(place('b'), 'utf8'), 'old');
    assert.equal(existsSync(place('b.tmp')), false);
  }
});

check('a temporary name that is taken, by a link too, is not written through', () => {
  writeFileSync(place('victim'), 'mine');
  symlinkSync(place('victim'), place('c.tmp'));
  assert.throws(() => writeFileDurably(nodeFileSystem, place('c'), place('c.tmp'), bytes('x')), { code: 'EEXIST' });
  assert.equal(readFileSync(place('victim'), 'utf8'), 'mine');
  assert.ok(lstatSync(place('c.tmp')).isSymbolicLink(), 'what was not ours stays');
});

check('short writes are gone on with', () => {
  const { files, calls } = watched({ write: (fd, data) => nodeFileSystem.write(fd, data.subarray(0, 2)) });
  const fd = files.open(place('d'), 'w');
  writeAll(files, fd, bytes('hello'));
  files.close(fd);
  assert.equal(readFileSync(place('d'), 'utf8'), 'hello');
  assert.equal(calls.filter((call) => call === 'write').length, 3);
});

check('a file is read whole up to its bound, and not at all beyond it', () => {
  writeFileSync(place('e'), 'hello');
  assert.equal(Buffer.from(readFileWithin(nodeFileSystem, place('e'), 5) ?? '').toString(), 'hello');
  assert.equal(readFileWithin(nodeFileSystem, place('e'), 4), undefined);
});

check('the real file system tells the facts and does what its names say', () => {
  const files = nodeFileSystem;
  files.mkdir(place('sub'));
  const fd = files.open(join(place('sub'), 'f'), 'w+');
  files.write(fd, bytes('12345'));
  files.fdatasync(fd);
  files.truncate(fd, 3);
  assert.equal(files.factsOf(fd).size, 3);
  files.close(fd);
  files.chmod(join(place('sub'), 'f'), 0o640);
  symlinkSync('f', join(place('sub'), 'a'));
  syncFolder(files, place('sub'));
  assert.deepEqual(files.readdir(place('sub')), ['a', 'f']);
  const facts = files.lstat(join(place('sub'), 'f'));
  assert.deepEqual([facts.kind, facts.mode, facts.uid], ['file', 0o640, process.getuid?.()]);
  assert.deepEqual([files.lstat(join(place('sub'), 'a')).kind, files.lstat(place('sub')).kind], ['symlink', 'folder']);
  for (const name of files.readdir(place('sub'))) files.unlink(join(place('sub'), name));
  files.rmdir(place('sub'));
  assert.equal(existsSync(place('sub')), false);
});

check('errors of the operating system become ours by kind, without the path', () => {
  const kinds = {
    ENOENT: 'FILE_MISSING',
    ENOTDIR: 'FILE_NOT_FOLDER',
    EISDIR: 'FILE_IS_FOLDER',
    EEXIST: 'FILE_EXISTS',
    EACCES: 'FILE_NO_ACCESS',
    EROFS: 'FILE_NO_ACCESS',
    ENOSPC: 'FILE_DISK_FULL',
    EFBIG: 'FILE_DISK_FULL',
    EIO: 'FILE_IO',
  };
  for (const [code, ours] of Object.entries(kinds)) {
    const cause = errno(code);
    const error = wrapFileError(cause, 'the journal') as Error & { code: string };
    assert.equal(error.code, ours);
    assert.equal(error.cause, cause);
    assert.match(error.message, /the journal/);
    assert.doesNotMatch(JSON.stringify(error), /secret/);
  }
});

check('errors of ours and errors that a test threw come back as they are', () => {
  for (const error of [
    fail('INVALID_VALUE', 'x'),
    new Error('mine'),
    'text',
    Object.assign(new Error('x'), { code: 'MINE' }),
  ])
    assert.equal(wrapFileError(error, 'the journal'), error);
});

check('a real refusal of the operating system is told by its kind', () => {
  chmodSync(folder, 0o700);
  try {
    nodeFileSystem.open(place('nowhere/file'), 'r');
    assert.fail('it opened');
  } catch (error) {
    assert.equal((wrapFileError(error, 'the file') as { code: string }).code, 'FILE_MISSING');
  }
});
