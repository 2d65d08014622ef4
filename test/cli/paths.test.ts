import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileSource } from '../../src/archive/index.ts';
import { writeNewFile } from '../../src/cli/small-files.ts';
import { checkTarget } from '../../src/cli/target-file.ts';
import { writeWholeFile } from '../../src/cli/whole-file.ts';
import { assert, check, configuredFolder, LETTER_AGENT, temporaryFolder } from '../support/index.ts';

interface Told {
  readonly code: string;
  readonly message: string;
  readonly resolve: string;
}

/** A configured folder with a session, a folder, a file, a package, a key and a backup. */
async function world(t: Parameters<typeof configuredFolder>[0]) {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const { document } = await json('run', 'Write to Ada.');
  const session = String(document['session_id']);
  mkdirSync(join(folder, 'shelf'));
  mkdirSync(join(folder, 'our shelf'));
  writeFileSync(join(folder, 'note'), 'a note');
  for (const args of [
    ['export', session, '--to', 'right.zip'],
    ['keys', 'new', '--out', 'right.key'],
    ['sign', 'right.zip', '--key', 'right.key'],
    ['backup', '--to', 'right.db'],
  ])
    assert.equal((await json(...args)).exit, 0, args.join(' '));
  const before = readdirSync(folder).toSorted();
  /** What a command that must refuse says; it leaves nothing behind and names nothing but what was typed. */
  const refused = async (...args: string[]): Promise<Told> => {
    const { exit, document: said } = await json(...args);
    const error = said.error as unknown as Told;
    assert.equal(exit, 2, `${args.join(' ')}: ${JSON.stringify(said)}`);
    assert.ok(!JSON.stringify(error).includes(folder), `${args.join(' ')} names the host: ${JSON.stringify(error)}`);
    assert.doesNotMatch(error.resolve, /disk/, args.join(' '));
    assert.deepEqual(readdirSync(folder).toSorted(), before, args.join(' '));
    assert.deepEqual(readdirSync(join(folder, 'shelf')), []);
    return error;
  };
  return { folder, json, session, refused };
}

check(
  'a file that a command should make: a folder, a missing folder and a file on the way are told apart',
  async (t) => {
    const { session, refused, json, folder } = await world(t);
    const makers: readonly (readonly [readonly string[], string, string])[] = [
      [['export', session, '--to'], `holdfast export ${session} --to`, `${session}.zip`],
      [['backup', '--to'], 'holdfast backup --to', 'holdfast-backup.db'],
      [['keys', 'new', '--out'], 'holdfast keys new --out', 'holdfast.key'],
      [
        ['sign', 'right.zip', '--key', 'right.key', '--out'],
        'holdfast sign right.zip --key right.key --out',
        'right.zip.sig',
      ],
      [['report', '--html'], 'holdfast report --html', 'report.html'],
      [['audit', '--make-head'], 'holdfast audit --make-head', 'holdfast.head'],
      [['mcp', 'init', '--name', 'files', '--out'], 'holdfast mcp init --name files --out', 'holdfast.policy.json'],
      [['sessions', 'artifact', 'version-1', '--to'], 'holdfast sessions artifact version-1 --to', 'artifact'],
    ];
    for (const [command, shown, name] of makers) {
      const behind = command[0] === 'mcp' ? ['--', 'true'] : [];
      const make = (path: string) => refused(...command, path, ...behind);
      const aFolder = await make('shelf');
      assert.equal(aFolder.code, 'FILE_IS_FOLDER', command.join(' '));
      assert.ok(aFolder.resolve.includes(`\`${shown} shelf/${name}`), aFolder.resolve);
      assert.ok((await make('our shelf')).resolve.includes(` 'our shelf/${name}'`));
      const missing = await make('nowhere/deep/x');
      assert.deepEqual([missing.code, missing.resolve], ['FILE_MISSING', 'Make it first: `mkdir -p nowhere/deep`']);
      assert.equal((await make('note/x')).code, 'FILE_NOT_FOLDER', command.join(' '));
      assert.equal((await make('note/x/y')).code, 'FILE_NOT_FOLDER', command.join(' '));
    }
    const { exit } = await json('export', session, '--to', `shelf/${session}.zip`);
    assert.deepEqual(
      [exit, readdirSync(join(folder, 'shelf'))],
      [0, [`${session}.zip`]],
      'the command that was named works',
    );
  },
);

check('no command writes over a file that is there, and each names the command with a name that is free', async (t) => {
  const { folder, session, refused, json } = await world(t);
  const makers: readonly (readonly [readonly string[], string])[] = [
    [['export', session, '--to'], `holdfast export ${session} --to note-2`],
    [['keys', 'new', '--out'], 'holdfast keys new --out note-2'],
    [['sign', 'right.zip', '--key', 'right.key', '--out'], 'holdfast sign right.zip --key right.key --out note-2'],
    [['report', '--since', '2h', '--html'], 'holdfast report --html note-2 --since 2h'],
    [['audit', '--key', 'right.key', '--make-head'], 'holdfast audit --make-head note-2 --key right.key'],
    [['mcp', 'init', '--out'], 'holdfast mcp init --out note-2 -- true'],
    [['sessions', 'artifact', 'version-1', '--to'], 'holdfast sessions artifact version-1 --to note-2'],
  ];
  for (const [command, better] of makers) {
    const behind = command[0] === 'mcp' ? ['--', 'true'] : [];
    const { code, resolve } = await refused(...command, 'note', ...behind);
    assert.deepEqual([code, resolve], ['FILE_EXISTS', `Give it another name: \`${better}\``]);
  }
  const taken = await refused('backup', '--to', 'right.db');
  assert.deepEqual(
    [taken.code, taken.resolve.includes('`holdfast backup --to right-2.db`')],
    ['STORE_TARGET_EXISTS', true],
  );
  assert.match((await refused('sign', 'right.zip', '--key', 'right.key')).resolve, /--out right\.zip-2\.sig/);
  assert.equal(readFileSync(join(folder, 'note'), 'utf8'), 'a note');
  assert.equal((await json('export', session, '--to', 'right-2.zip')).exit, 0);
});

check('a session that is exported twice under its own name is one file, and the other says so', async (t) => {
  const { folder, json } = await configuredFolder(t, LETTER_AGENT);
  const { document } = await json('run', 'Write to Ada.');
  const session = String(document['session_id']);
  const first = await json('export', session);
  const { file } = first.document as unknown as { readonly file: string };
  const before = readFileSync(file);
  await json('sessions', 'checkpoint', session);
  const again = await json('export', session);
  assert.deepEqual([again.exit, again.document.error?.code], [2, 'FILE_EXISTS']);
  assert.deepEqual(readFileSync(file), before);
  const { resolve } = again.document.error as unknown as Told;
  const [, better = ''] = /--to ([^`]+)`$/.exec(resolve) ?? [];
  assert.equal((await json('export', session, '--to', better)).exit, 0);
  assert.ok(existsSync(join(folder, better)));
});

check('a file that a command should read: a folder, nothing and a file on the way are told apart', async (t) => {
  const { refused } = await world(t);
  const packages = [['verify'], ['inspect'], ['import'], ['diff', 'right.zip'], ['sign', '--key', 'right.key']];
  for (const command of packages) {
    const read = (path: string) => refused(...command, path);
    const aFolder = await read('shelf');
    assert.deepEqual([aFolder.code, /folder/.test(aFolder.message)], ['ARCHIVE_UNREADABLE', true], command.join(' '));
    assert.match((await read('nowhere')).message, /no such file/);
    assert.match((await read('note/x')).message, /a file and no folder/);
  }
  const readers: readonly (readonly string[])[] = [
    ['verify', 'right.zip', '--trusted'],
    ['verify', 'right.zip', '--signature'],
    ['sign', 'right.zip', '--out', 'free.sig', '--key'],
    ['audit', '--head'],
    ['operations', 'dispatch', '--request'],
    ['mcp', 'guard', '--policy'],
  ];
  for (const command of readers) {
    const behind = command[0] === 'mcp' ? ['--', 'true'] : [];
    const read = (path: string) => refused(...command, path, ...behind);
    assert.equal((await read('shelf')).code, 'FILE_IS_FOLDER', command.join(' '));
    assert.equal((await read('nowhere')).code, 'FILE_MISSING', command.join(' '));
    assert.equal((await read('note/x')).code, 'FILE_NOT_FOLDER', command.join(' '));
  }
  const restore = (from: string) => refused('restore', '--from', from, '--data-dir', 'new');
  assert.equal((await restore('shelf')).code, 'FILE_IS_FOLDER');
  assert.equal((await restore('nowhere')).code, 'INVALID_VALUE');
  assert.match((await restore('note/x')).message, /no such backup/);
  const configured = await refused('run', 'x', '--config', 'shelf');
  assert.deepEqual([configured.code, /folder/.test(configured.message)], ['CONFIG_INVALID', true]);
});

check('a data folder that is a file, lies in one, or in a folder that is not there is told so', async (t) => {
  const { refused } = await world(t);
  for (const command of [['migrate'], ['sessions', 'list']] as const) {
    const at = (path: string) => refused(...command, '--data-dir', path);
    const aFile = await at('note');
    assert.deepEqual([aFile.code, aFile.resolve.includes('--data-dir')], ['DATA_FOLDER_UNSAFE', true]);
    assert.match((await at('note/x')).code, /^(FILE_NOT_FOLDER|DATA_FOLDER_MISSING)$/);
    assert.equal((await at('nowhere/deep')).code, 'DATA_FOLDER_MISSING');
  }
});

check('a workspace that is no folder is not bound to the session', async (t) => {
  const { session, refused, json, folder } = await world(t);
  for (const path of ['note', 'nowhere', 'note/x'])
    assert.equal(
      (await refused('sessions', 'checkpoint', session, '--workspace', path)).code,
      'WORKSPACE_NOT_A_FOLDER',
    );
  assert.equal((await json('sessions', 'checkpoint', session)).exit, 0, 'it goes on without one');
  assert.equal((await json('sessions', 'checkpoint', session, '--workspace', join(folder, 'shelf'))).exit, 0);
});

/** Without the rights of root, which may do everything. */
async function unprivileged<T>(body: () => T | Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return body();
  process.seteuid?.(65_534);
  try {
    return await body();
  } finally {
    process.seteuid?.(0);
  }
}

const codeOf = (code: string) => (error: unknown) => {
  assert.equal((error as Told).code, code);
  assert.doesNotMatch(JSON.stringify(error), /\/tmp|closed/);
  return true;
};

check('a folder that nothing may be made in, and a file that may not be read, are told so', async (t) => {
  const folder = join(await temporaryFolder(t), 'closed');
  mkdirSync(folder);
  writeFileSync(join(folder, 'secret'), 'x');
  chmodSync(folder, 0o500);
  const path = join(folder, 'new');
  await unprivileged(async () => {
    assert.throws(() => writeNewFile('the key', path, 'x'), codeOf('FILE_NO_ACCESS'));
    await assert.rejects(writeWholeFile('the package', path, [Buffer.from('x')]), codeOf('FILE_NO_ACCESS'));
  });
  assert.equal(existsSync(path), false);
  chmodSync(join(folder, 'secret'), 0);
  chmodSync(folder, 0);
  await unprivileged(() => assert.rejects(fileSource(join(folder, 'secret')), /this user may not read it/));
  const target = { what: 'the key', path, name: 'key', command: (better: string) => better };
  await unprivileged(() => assert.throws(() => checkTarget(target), codeOf('FILE_NO_ACCESS')));
  chmodSync(folder, 0o700);
});
