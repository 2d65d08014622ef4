import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ORACLE_FOLDER } from '../archive/support/packages.ts';
import { Holdfast } from '../../src/index.ts';
import { assert, check, configuredFolder, holdfast, LETTER_AGENT, temporaryFolder } from '../support/index.ts';

check('a package is imported locked, exported again, and trusted by a confirmed act alone', async (t) => {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  await (await Holdfast.open({ dataDir })).close();
  const command = async (...args: string[]) => {
    const { exit, stdout } = await holdfast([...args, '--json', '--data-dir', dataDir], { cwd: folder });
    return { exit, document: JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown> };
  };
  const imported = await command('import', join(ORACLE_FOLDER, 'b-notebook.zip'));
  assert.deepEqual([imported.exit, imported.document['trust_state']], [0, 'quarantined']);
  const session = String(imported.document['root_frame_id']);
  const file = join(folder, 'again.zip');
  const exported = await command('export', session, '--to', file);
  assert.equal(exported.exit, 0);
  const verified = await command('verify', file);
  assert.deepEqual([verified.exit, verified.document['archive_sha256']], [0, exported.document['sha256']]);
  assert.equal((await command('sessions', 'trust', session)).exit, 1);
  const trusted = await command('sessions', 'trust', session, '--yes');
  assert.deepEqual([trusted.exit, trusted.document['trust_state']], [0, 'trusted']);
  assert.equal((await command('export', session, '--to', join(folder, 'trusted.zip'))).exit, 0);
});

check('an inspected package names the tools that were called, also where an argument is called `name`', async (t) => {
  const agent = LETTER_AGENT.replaceAll("to: { type: 'string' }", "name: { type: 'string' }")
    .replace("['to'], additional", "['name'], additional")
    .replace("editable: ['to'],", '')
    .replace("arguments: { to: 'Ada' }", "arguments: { name: 'Ada' }");
  const { json } = await configuredFolder(t, agent);
  const { document } = await json('run', 'Write to Ada.');
  assert.equal((await json('export', String(document['session_id']), '--to', 'out.zip')).exit, 0);
  const inspected = await json('inspect', 'out.zip');
  assert.deepEqual((inspected.document['calls'] as { tools: unknown }).tools, [{ name: 'post', times: 1 }]);
});

check('a locked session is shown as locked, and nobody is asked for what would be refused in it', async (t) => {
  const folder = await temporaryFolder(t);
  const dataDir = join(folder, 'data');
  await (await Holdfast.open({ dataDir })).close();
  const env = { HOLDFAST_DATA_DIR: dataDir };
  const run = (...args: string[]) => holdfast(args, { cwd: folder, env });
  const json = async (...args: string[]) =>
    JSON.parse((await run(...args, '--json')).stdout) as Record<string, unknown>;
  const session = String((await json('import', join(ORACLE_FOLDER, 'c-branches.zip')))['root_frame_id']);
  assert.ok(
    (await run('sessions', 'show', session)).stdout.includes(
      `\n  locked: look at it, then holdfast sessions trust ${session} --yes\n`,
    ),
  );
  const shown = await json('sessions', 'show', session);
  const [{ checkpoint_id: point } = { checkpoint_id: '' }] = shown['checkpoints'] as { checkpoint_id: string }[];
  const branch = (shown['branches'] as { branch_id: string }[]).at(-1)?.branch_id ?? '';
  for (const act of [
    ['fork', session, point],
    ['checkpoint', session],
    ['revert', session, point],
    ['revert', session, point, '--yes'],
    ['activate', session, branch],
    ['activate', session, branch, '--yes'],
  ]) {
    const { exit, stdout } = await run('sessions', ...act, '--json');
    const { error } = JSON.parse(stdout) as { error?: { code: string; resolve: string } };
    assert.deepEqual([exit, error?.code], [1, 'SESSION_QUARANTINED'], act[0]);
    assert.match(error?.resolve ?? '', /holdfast sessions trust SESSION --yes/);
  }
  const unconfirmed = await run('sessions', 'trust', session);
  assert.equal(unconfirmed.exit, 1);
  assert.match(unconfirmed.stderr, /^RECOVERY_REFUSED: [^]*holdfast sessions trust SESSION --yes/);
  assert.deepEqual((await json('runs', 'list'))['runs'], []);
  assert.deepEqual((await json('approvals', 'list'))['requests'], []);
  assert.equal((await run('sessions', 'trust', session, '--yes')).exit, 0);
  assert.doesNotMatch((await run('sessions', 'show', session)).stdout, /locked/);
});

check(
  'a session whose import was interrupted names the command that removes it, and never the one that trusts',
  async (t) => {
    const folder = await temporaryFolder(t);
    const dataDir = join(folder, 'data');
    await (await Holdfast.open({ dataDir })).close();
    const run = (...args: string[]) => holdfast(args, { cwd: folder, env: { HOLDFAST_DATA_DIR: dataDir } });
    const imported = JSON.parse((await run('import', join(ORACLE_FOLDER, 'a-minimal.zip'), '--json')).stdout) as object;
    const session = (imported as { root_frame_id: string }).root_frame_id;
    // As a process leaves it that is killed before the last commit.
    const database = new DatabaseSync(join(dataDir, 'holdfast.db'));
    const text = { state: 'quarantined', reason: 'session_package_import_in_progress' };
    database.prepare("UPDATE session_settings SET value = ? WHERE key LIKE '%quarantine%'").run(JSON.stringify(text));
    database.close();
    const shown = await run('sessions', 'show', session);
    const command = `holdfast sessions delete ${session} --yes`;
    assert.ok(shown.stdout.includes(command), shown.stdout);
    assert.ok(!shown.stdout.includes('sessions trust'), shown.stdout);
    const refused = await run('sessions', 'trust', session, '--yes');
    assert.match(refused.stderr, /^IMPORT_UNFINISHED/);
    assert.ok(refused.stderr.includes(command), refused.stderr);
    assert.equal((await run('sessions', 'delete', session, '--yes')).exit, 0);
  },
);

check(
  'an imported session works in its data folder wherever that was moved, and no package leaves without its files',
  async (t) => {
    const folder = await temporaryFolder(t);
    const before = join(folder, 'before');
    await (await Holdfast.open({ dataDir: before })).close();
    const run = async (dataDir: string, ...args: string[]) => {
      const { exit, stdout } = await holdfast([...args, '--json'], {
        cwd: folder,
        env: { HOLDFAST_DATA_DIR: dataDir },
      });
      return { exit, document: JSON.parse(stdout) as Record<string, unknown> };
    };
    const imported = await run(before, 'import', join(ORACLE_FOLDER, 'b-notebook.zip'));
    const session = String(imported.document['root_frame_id']);
    await run(before, 'sessions', 'trust', session, '--yes');
    const filesOf = async (dataDir: string, file: string): Promise<unknown> => {
      assert.equal((await run(dataDir, 'export', session, '--to', join(folder, file))).exit, 0);
      return (await run(dataDir, 'inspect', join(folder, file))).document['workspace'];
    };
    const workspace = await filesOf(before, 'before.zip');
    const after = join(folder, 'after');
    renameSync(before, after);
    assert.deepEqual(await filesOf(after, 'after.zip'), workspace);
    assert.equal((await run(after, 'sessions', 'checkpoint', session)).exit, 0);
    rmSync(join(after, 'session-imports', session, 'workspace'), { recursive: true });
    const refused = await run(after, 'export', session, '--to', join(folder, 'none.zip'));
    const { code, resolve } = refused.document['error'] as { code: string; resolve: string };
    assert.equal(code, 'SESSION_NOT_EXPORTABLE');
    assert.match(resolve, /holdfast sessions checkpoint [0-9a-f]{32} --workspace FOLDER/);
    assert.equal(existsSync(join(folder, 'none.zip')), false);
  },
);
