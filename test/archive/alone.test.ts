import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
import { ORACLE_FOLDER } from './support/packages.ts';
import { zip } from './support/zip-builder.ts';

const CHILDREN = join(import.meta.dirname, 'children');
const child = (name: string): string => join(CHILDREN, name);
const NO_STORE = ['--import', child('no-store.ts')];
const b = join(ORACLE_FOLDER, 'b-notebook.zip');

check('the commands on packages load neither a database nor the store', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'p.zip');
  copyFileSync(b, file);
  const lines = [
    ['verify', file, '--json'],
    ['keys', 'new', '--out', join(folder, 'key')],
    ['sign', file, '--key', join(folder, 'key')],
    ['verify', file, '--signature', `${file}.sig`],
    ['verify', file, '--deep'],
    ['inspect', file],
    ['diff', file, file],
  ];
  for (const line of lines) {
    const { exit, stderr } = await holdfast(line, { node: NO_STORE });
    assert.equal(stderr, '', line.join(' '));
    assert.equal(exit, line.includes('--signature') ? 1 : 0, line.join(' '));
  }
});

check('holdfast/packages loads neither a database nor the store', async (t) => {
  const folder = await temporaryFolder(t);
  const door = new URL('../../src/archive/index.ts', import.meta.url).href;
  const script = `const { verifyPackage, fileSource } = await import('${door}');
    const source = await fileSource(${JSON.stringify(b)});
    process.stdout.write(String((await verifyPackage(source)).ok));`;
  const args = [...NO_STORE, '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
  assert.equal(stdout, 'true');
  const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    exports: Record<string, { default: string }>;
  };
  assert.equal(exports['./packages']?.default, './dist/archive/index.js', 'the public door is this one');
});

check('the preload that looks for a store sees one', async () => {
  const store = new URL('../../src/store/sqlite/index.ts', import.meta.url).href;
  await assert.rejects(
    promisify(execFile)(process.execPath, [...NO_STORE, '--input-type=module', '-e', `await import('${store}')`]),
    { code: 77 },
  );
});

check('verifying writes nothing: a process that may not write does it, and the folder stays as it was', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'p.zip');
  copyFileSync(b, file);
  const events: string[] = [];
  const watcher = watch(folder, (event, name) => events.push(`${event} ${String(name)}`));
  t.after(() => watcher.close());
  const before = picture(folder);
  const env = { TMPDIR: folder, TMP: folder, HOME: folder, NODE_COMPILE_CACHE: '' };
  const node = ['--permission', '--allow-fs-read=*'];
  const { exit, stdout } = await holdfast(['verify', file, '--json'], { cwd: folder, env, node });
  assert.equal(exit, 0, stdout);
  assert.deepEqual(picture(folder), before);
  assert.deepEqual(events, []);
  writeFileSync(join(folder, 'seen'), '');
  await new Promise((settle) => setTimeout(settle, 50));
  assert.ok(events.length > 0, 'the watcher watches');
});

const picture = (folder: string) =>
  readdirSync(folder, { recursive: true }).map((name) => {
    const { size, mtimeMs, ctimeMs } = statSync(join(folder, String(name)));
    return [name, size, mtimeMs, ctimeMs];
  });

check('a pipe, a folder or nothing is no archive, and no message says where it was looked for', async (t) => {
  const folder = await temporaryFolder(t);
  await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
  for (const name of ['pipe', '.', 'nothing-here']) {
    const { exit, stdout } = await holdfast(['verify', join(folder, name), '--json']);
    assert.equal(exit, 2);
    assert.match(stdout, /"code":"ARCHIVE_UNREADABLE"/, name);
    assert.ok(!stdout.includes(folder), stdout);
  }
});

check('exit codes: 0 when all holds, 1 when something does not, 2 when it is not a package', async (t) => {
  const folder = await temporaryFolder(t);
  const write = (name: string, bytes: Buffer) => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const unlisted = write('unlisted.zip', zip([{ name: 'manifest.json', content: '{}' }, { name: 'x' }]));
  const text = write('text.zip', Buffer.from('hello, this is only a text and no archive'));
  assert.equal((await holdfast(['verify', b])).exit, 0);
  const failed = await holdfast(['verify', unlisted]);
  assert.equal(failed.exit, 1);
  assert.match(failed.stdout, /does not hold[\s\S]*problem +unlisted file: x[\s\S]*does not establish/);
  const refused = await holdfast(['verify', text]);
  assert.equal(refused.exit, 2);
  assert.match(refused.stderr, /^ARCHIVE_NOT_ZIP: /);
});
