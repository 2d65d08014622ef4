import {
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { nodeFileSystem } from '../../../src/core/index.ts';
import { effectsDir, openFilesystem, type Resource, resourceRef } from '../../../src/effects/index.ts';
import { assert, check, contract } from '../../support/index.ts';
import { temporaryFolder } from './fixture.ts';
import type { TestContext } from 'node:test';

const OUTSIDE = { code: 'RESOURCE_OUTSIDE_ROOT' };
const SENSITIVE = { code: 'RESOURCE_SENSITIVE', message: /sensitive/ };
const INVALID = { code: 'RESOURCE_INVALID' };
const MISSING = { allowMissing: true };

function workspace(t: TestContext) {
  const folder = temporaryFolder(t);
  const ws = join(folder, 'ws');
  mkdirSync(join(ws, 'sub'), { recursive: true });
  writeFileSync(join(ws, 'a.txt'), 'hello');
  mkdirSync(join(folder, 'out'));
  writeFileSync(join(folder, 'out', 'secret.txt'), 'x');
  const filesystem = openFilesystem({ home: join(ws, 'sub') });
  const root = filesystem.seal(ws);
  const pathOf = (text: string) => filesystem.resolve(root, text, MISSING).location.at(-1);
  return { folder, ws, filesystem, root, pathOf };
}

contract('EFF-29', 'the effect store is closed to agents, missing files in it too', (t) => {
  const folder = temporaryFolder(t);
  const store = effectsDir(folder);
  mkdirSync(store, { recursive: true });
  const filesystem = openFilesystem({ dataDir: folder });
  const root = filesystem.seal(folder);
  const resolve = () => filesystem.resolve(root, join(store, `${'b'.repeat(32)}.jsonl`), MISSING);
  assert.throws(resolve, SENSITIVE);
});

check('the data folder is closed but for the parts that are open to agents; other places of the server too', (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['data/effects', 'data/open', 'data/openly', 'served', 'data2'])
    mkdirSync(join(folder, name), { recursive: true });
  const closed = [join(folder, 'served')];
  const filesystem = openFilesystem({ dataDir: join(folder, 'data'), openParts: ['open', 'effects'], closed });
  const root = filesystem.seal(folder);
  for (const path of ['data', 'data/x', 'data/openly/x', 'data/effects/x', 'data/effects', 'served', 'served/x/y'])
    assert.throws(() => filesystem.resolve(root, path, MISSING), SENSITIVE, path);
  for (const path of ['data/open', 'data/open/x', 'data2/x', 'served2'])
    assert.ok(filesystem.resolve(root, path, MISSING), path);
});

check('a closed place is closed under whatever name its disk knows it by', (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['data/open', 'served']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, 'data', 'holdfast.db'), 'x');
  // As a disk has it that knows no capital letters.
  const known = (path: string): string =>
    path.replace(/\/(DATA|SERVED|OPEN|HOLDFAST\.DB)(?=\/|$)/g, (part) => part.toLowerCase());
  const files = { ...nodeFileSystem, lstat: (path: string) => nodeFileSystem.lstat(known(path)) };
  const dataDir = join(folder, 'data');
  const filesystem = openFilesystem({ dataDir, openParts: ['open'], closed: [join(folder, 'served')], files });
  const root = filesystem.seal(folder);
  for (const path of ['DATA', 'DATA/HOLDFAST.DB', 'data/HOLDFAST.DB', 'DATA/new', 'SERVED', 'SERVED/new'])
    assert.throws(() => filesystem.resolve(root, path, MISSING), SENSITIVE, path);
  for (const path of ['DATA/OPEN', 'DATA/open/new', 'data/OPEN/new', 'data2'])
    assert.ok(filesystem.resolve(root, path, MISSING), path);
});

check('a link from outside into the effect store is refused by name and by object', (t) => {
  const folder = temporaryFolder(t);
  const store = join(folder, 'data', 'effects');
  mkdirSync(store, { recursive: true });
  writeFileSync(join(store, 'run.jsonl'), '');
  mkdirSync(join(folder, 'ws'));
  linkSync(join(store, 'run.jsonl'), join(folder, 'ws', 'alias'));
  const filesystem = openFilesystem({ dataDir: join(folder, 'data') });
  const root = filesystem.seal(join(folder, 'ws'));
  assert.throws(() => filesystem.resolve(root, 'alias'), SENSITIVE);
  rmSync(join(folder, 'data', 'effects'), { recursive: true });
  renameSync(join(folder, 'ws', 'alias'), join(folder, 'ws', 'plain'));
  assert.ok(filesystem.resolve(root, 'plain'), 'a file with one name, of no store');
});

check('names of credentials and start files are refused anywhere, without regard to case or letter forms', (t) => {
  const { filesystem, root, ws } = workspace(t);
  const anywhere = ['.ssh', '.SSH/x', 'sub/.env', '.Env/deep/x', '.bashrc', '.netrc', '.gitconfig', '.ſsh/config'];
  const atTheEnd = [
    'id_rsa',
    'sub/ID_ED25519',
    'known_hosts',
    'auth.json',
    'app.db',
    'Settings.JSON',
    'authorized_keys',
  ];
  for (const path of [...anywhere, ...atTheEnd])
    assert.throws(() => filesystem.resolve(root, path, MISSING), SENSITIVE, path);
  for (const path of ['settings.json/x', '.envrc', 'env', 'my.ssh'])
    assert.ok(filesystem.resolve(root, path, MISSING), path);
  symlinkSync(join(ws, '.env'), join(ws, 'harmless'));
  assert.throws(() => filesystem.resolve(root, 'harmless', MISSING), SENSITIVE, 'through a link');
});

check('a file with two names is sensitive, a folder with many is not', (t) => {
  const { filesystem, root, ws } = workspace(t);
  linkSync(join(ws, 'a.txt'), join(ws, 'b.txt'));
  assert.throws(() => filesystem.resolve(root, 'b.txt'), SENSITIVE);
  assert.ok(filesystem.resolve(root, 'sub'));
});

check('texts name the same place in every form', (t) => {
  const { pathOf, ws } = workspace(t);
  const file = join(ws, 'a.txt');
  for (const text of [
    'a.txt',
    ' a.txt\u00a0',
    './a.txt',
    'sub/../a.txt',
    '/workspace/a.txt',
    file,
    '~/../a.txt',
    'x/../a.txt',
  ])
    assert.equal(pathOf(text), file, text);
  assert.equal(pathOf('~'), join(ws, 'sub'));
  assert.equal(pathOf('/workspace'), ws);
  assert.equal(pathOf('~x'), join(ws, '~x'), 'no other user is looked up');
});

check('a path out of its root is refused, links followed first', (t) => {
  const { folder, filesystem, root, ws } = workspace(t);
  symlinkSync(join(folder, 'out'), join(ws, 'door'));
  symlinkSync('../out/secret.txt', join(ws, 'window'));
  symlinkSync(join(ws, 'sub'), join(folder, 'out', 'back'));
  const out = [
    '..',
    '../out/secret.txt',
    'door/secret.txt',
    'window',
    'door',
    'door/..',
    'sub/../../ws2',
    '/etc/hostname',
    `${ws}x`,
  ];
  for (const path of out) assert.throws(() => filesystem.resolve(root, path, MISSING), OUTSIDE, path);
  assert.equal(filesystem.resolve(root, 'door/back/x', MISSING).location.at(-1), join(ws, 'sub', 'x'));
  symlinkSync('loop', join(ws, 'loop'));
  assert.throws(() => filesystem.resolve(root, 'loop', MISSING), { code: 'LIMIT_REACHED' });
});

check('the scope /workspace stands for the root of workspaces only', (t) => {
  const { filesystem, ws } = workspace(t);
  const scratch = filesystem.seal(ws, { scope: 'scratch' });
  assert.throws(() => filesystem.resolve(scratch, '/workspace/a.txt', MISSING), OUTSIDE);
});

check('texts that are no path are refused', (t) => {
  const { filesystem, root } = workspace(t);
  for (const text of [
    '',
    ' \t',
    'a\0b',
    'a\nb',
    'a\rb',
    '\ud800',
    'x'.repeat(5000),
    '/..'.repeat(300) + '/x',
    7 as unknown as string,
  ])
    assert.throws(
      () => filesystem.resolve(root, text, MISSING),
      (error: { code: string }) => ['RESOURCE_INVALID', 'LIMIT_REACHED'].includes(error.code),
    );
});

check('a link whose target is no text is refused: where it leads cannot be told', (t) => {
  const { filesystem, root, ws } = workspace(t);
  symlinkSync(Buffer.from([0x73, 0xff]), join(ws, 'odd'));
  assert.throws(() => filesystem.resolve(root, 'odd', MISSING), INVALID);
});

check('a missing target is refused unless allowed; what is neither file nor folder always is', (t) => {
  const { filesystem, root, ws } = workspace(t);
  assert.throws(() => filesystem.resolve(root, 'none'), { code: 'RESOURCE_NOT_FOUND' });
  spawnSync('mkfifo', [join(ws, 'pipe')]);
  assert.throws(() => filesystem.resolve(root, 'pipe', MISSING), { code: 'RESOURCE_NOT_FOUND' });
  assert.throws(() => filesystem.resolve(root, 'a.txt/below', MISSING), { code: 'RESOURCE_NOT_FOUND' });
});

check('a root is checked again before each path: moved or replaced, it is refused', (t) => {
  const { folder, filesystem, root, ws } = workspace(t);
  renameSync(ws, join(folder, 'moved'));
  assert.throws(() => filesystem.resolve(root, 'a.txt', MISSING), { code: 'RESOURCE_CHANGED' });
  mkdirSync(ws);
  assert.throws(() => filesystem.resolve(root, 'a.txt', MISSING), { code: 'RESOURCE_CHANGED' });
  rmSync(ws, { recursive: true });
  symlinkSync(join(folder, 'moved'), ws);
  assert.throws(() => filesystem.resolve(root, 'a.txt', MISSING), { code: 'RESOURCE_CHANGED' });
});

check('roots that cannot be sealed', (t) => {
  const { folder, filesystem, ws } = workspace(t);
  assert.throws(() => filesystem.seal('/'), INVALID);
  assert.throws(() => filesystem.seal('relative'), INVALID);
  assert.throws(() => filesystem.seal(join(ws, 'a.txt')), { code: 'RESOURCE_NOT_FOUND' });
  assert.throws(() => filesystem.seal(join(ws, 'none')), { code: 'RESOURCE_NOT_FOUND' });
  assert.throws(() => filesystem.seal(ws, { scope: 'private' }), INVALID);
  assert.throws(() => filesystem.seal(ws, { scope: 'elsewhere' as 'private' }), INVALID);
  mkdirSync(join(folder, '.ssh', 'x'), { recursive: true });
  assert.throws(() => filesystem.seal(join(folder, '.ssh', 'x')), SENSITIVE);
  assert.equal(filesystem.seal(ws, { scope: 'private', owner: 'u' }).owner, 'u');
});

check('location and incarnation say where and which object, in the form of the contracts', (t) => {
  const { filesystem, root, ws } = workspace(t);
  const stat = statSync(ws, { bigint: true });
  const file = statSync(join(ws, 'a.txt'), { bigint: true });
  const there = filesystem.resolve(root, 'a.txt');
  const place = ['filesystem', 'workspace', '', ws, String(stat.dev), String(stat.ino)];
  assert.deepEqual(there.location, [...place, join(ws, 'a.txt')]);
  const chain = createHash('sha256').update(`[["${ws}",${stat.dev},${stat.ino}]]`).digest('hex');
  assert.equal(there.incarnation, `file:${file.dev}:${file.ino}:${chain}`);
  assert.equal(filesystem.resolve(root, 'new', MISSING).incarnation, `absent:${chain}`);
  const identity = (of: typeof stat, kind: string) => `{"device":${of.dev},"inode":${of.ino},"kind":"${kind}"}`;
  const folder = identity(stat, 'directory');
  const snapshot = `{"ancestors":[{"identity":${folder},"path":"${ws}"}],"identity":${identity(file, 'file')},"path":"${ws}/a.txt","root":{"identity":${folder},"owner":"","path":"${ws}","scope":"workspace"}}`;
  assert.equal(there.snapshotSha256, createHash('sha256').update(snapshot).digest('hex'));
});

check('a replaced file keeps its location and gets another incarnation', (t) => {
  const { filesystem, root, ws } = workspace(t);
  const before = filesystem.resolve(root, 'a.txt');
  writeFileSync(join(ws, 'new'), 'hello');
  renameSync(join(ws, 'new'), join(ws, 'a.txt'));
  const after = filesystem.resolve(root, 'a.txt');
  assert.deepEqual(after.location, before.location);
  assert.notEqual(after.incarnation, before.incarnation);
});

check('reading back tells existence, size and digest of the object itself', (t) => {
  const { filesystem, root, ws } = workspace(t);
  const seen = filesystem.readBack(root, 'a.txt');
  const digest = createHash('sha256').update('hello').digest('hex');
  assert.deepEqual([seen.exists, seen.coverage, seen.contentSha256, seen.size], [true, 'complete', digest, 5]);
  assert.deepEqual(
    { ...filesystem.readBack(root, 'none'), resource: 0 },
    { resource: 0, exists: false, coverage: 'complete', contentSha256: '', size: null },
  );
  assert.deepEqual(
    { ...filesystem.readBack(root, 'sub'), resource: 0 },
    { resource: 0, exists: true, coverage: 'complete', contentSha256: '', size: null },
  );
  truncateSync(join(ws, 'a.txt'), 64 * 1024 * 1024 + 1);
  const large = filesystem.readBack(root, 'a.txt');
  assert.deepEqual([large.exists, large.coverage, large.contentSha256], [true, 'partial', '']);
  truncateSync(join(ws, 'a.txt'), 64 * 1024 * 1024);
  assert.equal(filesystem.readBack(root, 'a.txt').coverage, 'complete', 'the largest that is read whole');
});

check('a file that nobody may read is an error, not a reading', (t) => {
  const { filesystem, root, ws } = workspace(t);
  chmodSync(join(ws, 'a.txt'), 0o000);
  if (process.getuid?.() === 0) assert.equal(filesystem.readBack(root, 'a.txt').exists, true);
  else assert.throws(() => filesystem.readBack(root, 'a.txt'), INVALID);
});

check('messages carry no path of the host', (t) => {
  const { filesystem, root, ws } = workspace(t);
  for (const path of ['../out', '.env', 'none', 'a.txt/below'])
    assert.throws(
      () => filesystem.resolve(root, path),
      (error: Error) => !error.message.includes(ws) && !error.message.includes(path),
      path,
    );
});

check('a reference is made of an exact resource, never of a text, a path or a look-alike', (t) => {
  const { filesystem, root } = workspace(t);
  const resource = filesystem.resolve(root, 'a.txt');
  assert.equal(resourceRef(resource, 'source').role, 'source');
  for (const fake of ['/a.txt', { ...resource }, null, undefined, { url: 'https://example.com' }])
    assert.throws(() => resourceRef(fake as Resource, 'source'), INVALID);
  assert.throws(() => resourceRef(resource, ''), INVALID);
});
