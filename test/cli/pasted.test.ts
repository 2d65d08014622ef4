import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { withGiven } from '../../src/cli/given-options.ts';
import { assert, check, configuredFolder, holdfast, installedCommand, LETTER_AGENT } from '../support/index.ts';

const SERVER = join(import.meta.dirname, '..', 'fixtures', 'mcp', 'guarded-server.ts');

/** A folder whose data and configuration have names that only options tell; `paste` runs a command as a shell takes it. */
async function named(t: TestContext) {
  const { folder } = await configuredFolder(t, LETTER_AGENT);
  renameSync(join(folder, '.holdfast'), join(folder, 'our data'));
  renameSync(join(folder, 'holdfast.config.ts'), join(folder, 'other.ts'));
  const given = ['--data-dir', 'our data', '--config', 'other.ts'] as const;
  const told = async (...args: string[]) => {
    const { stdout, stderr } = await holdfast([...args, ...given], { cwd: folder });
    return stdout + stderr;
  };
  const paste = (command: string) => {
    const line = `holdfast() { '${process.execPath}' '${installedCommand()}' "$@"; }; ${command}`;
    const { HOLDFAST_DATA_DIR: _, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], { cwd: folder, env, encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };
  return { folder, told, paste };
}

const commandIn = (text: string, before: RegExp): string =>
  new RegExp(`${before.source}\`?(holdfast [^\`\\n]*?)\`?\\.?$`, 'm').exec(text)?.[1] ?? `(none in ${text})`;

check('what a run, a request and a report suggest works as it is pasted, where options name the place', async (t) => {
  const { folder, told, paste } = await named(t);
  const run = await told('run', 'Write to Ada.');
  assert.match(
    await told('report'),
    /→ holdfast approvals show --data-dir 'our data' --config other\.ts [0-9a-f]{32}\n/,
  );
  assert.equal(paste(commandIn(run, /decide: /)).status, 0);
  const resumed = paste(commandIn(run, /then: /));
  assert.equal(resumed.status, 0, resumed.said);
  assert.equal(readFileSync(join(folder, 'letters.txt'), 'utf8'), 'Ada\n');
  assert.equal(existsSync(join(folder, '.holdfast')), false, 'nothing was made in another place');
});

check('what an error suggests works as it is pasted, as text and with --json', async (t) => {
  const { told, paste } = await named(t);
  const none = commandIn(await told('runs', 'show', 'nothing'), /resolves it: .*: /);
  assert.equal(none, "holdfast runs list --data-dir 'our data' --config other.ts");
  assert.equal(paste(none).status, 0);
  const { error } = JSON.parse(await told('approvals', 'show', 'nothing', '--json')) as { error: { resolve: string } };
  assert.match(error.resolve, /`holdfast approvals list --data-dir 'our data' --config other\.ts`/);
  const paused = await told('pause');
  assert.equal(paste(commandIn(paused, /Undo it with: /)).said, 'Writes may start again.\n');
  for (const command of ['operations', 'sessions', 'tokens', 'effects'])
    assert.equal(paste(`holdfast ${command} list --data-dir 'our data' --config other.ts`).status, 0, command);
});

check('a command in a text that somebody else wrote stays as they wrote it', async (t) => {
  const { told } = await named(t);
  const text = 'See: holdfast runs list, then holdfast unpause';
  const run = await told('run', text);
  assert.match(run, /--data-dir 'our data'/);
  const rows = await told('runs', 'list');
  assert.ok(rows.includes(text), rows);
});

check('only what a command takes is added to it, before its own words, and nothing where nothing was given', () => {
  const add = withGiven({ dataDir: 'd', config: 'c.ts' });
  for (const [text, told] of [
    ['holdfast run "x"', 'holdfast run --data-dir d --config c.ts "x"'],
    ['holdfast runs show R', 'holdfast runs show --data-dir d --config c.ts R'],
    ['`holdfast rules allow|ask|deny TOOL`', '`holdfast rules allow|ask|deny --data-dir d --config c.ts TOOL`'],
    ['holdfast init', 'holdfast init --data-dir d'],
    ['holdfast mcp --policy p -- server', 'holdfast mcp --data-dir d --policy p -- server'],
    ['holdfast mcp init -- COMMAND', 'holdfast mcp init -- COMMAND'],
    ['holdfast verify FILE, `holdfast keys new`', 'holdfast verify FILE, `holdfast keys new`'],
    ['holdfast doctor), then', 'holdfast doctor --data-dir d --config c.ts), then'],
    ['holdfast help', 'holdfast help'],
  ] as const)
    assert.equal(add(text), told);
  assert.equal(withGiven({})('holdfast runs list'), 'holdfast runs list');
  const strange = withGiven({ dataDir: "it's $& holdfast audit" });
  assert.equal(strange('holdfast unpause'), String.raw`holdfast unpause --data-dir 'it'\''s $& holdfast audit'`);
});

check('backup, doctor, migrate and restore work on the folder that the configuration names', async (t) => {
  const { folder, json, holdfast: run } = await configuredFolder(t, LETTER_AGENT);
  const file = join(folder, 'holdfast.config.ts');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('defineConfig({', "defineConfig({ dataDir: 'elsewhere',"));
  renameSync(join(folder, '.holdfast'), join(folder, 'elsewhere'));
  assert.equal((await json('run', 'Write to Ada.')).exit, 3);
  assert.match((await run('doctor')).stdout, /store_version .*this version/);
  assert.equal((await json('migrate')).exit, 0);
  assert.equal((await json('backup', '--to', 'copy.db')).exit, 0);
  assert.equal(existsSync(join(folder, '.holdfast')), false, 'no other folder was made');
  renameSync(join(folder, 'elsewhere'), join(folder, 'old'));
  assert.equal((await json('restore', '--from', 'copy.db')).exit, 0);
  const { document } = await json('runs', 'list');
  assert.equal((document['runs'] as unknown[]).length, 1, 'what was backed up is what runs wrote');
  writeFileSync(file, 'export default 1;');
  const broken = await json('backup', '--to', 'again.db');
  assert.equal(broken.document.error?.code, 'CONFIG_INVALID', 'a backup of another folder is none');
  assert.match(JSON.stringify(broken.document.error), /--data-dir/);
  assert.equal((await json('backup', '--to', 'again.db', '--data-dir', 'elsewhere')).exit, 0);
});

check('what a guard says on standard error to decide a call by works as it is pasted', async (t) => {
  const { folder, paste } = await named(t);
  const policy = { version: 1, name: 'p', revision: '1', server: 'world' };
  writeFileSync(join(folder, 'holdfast.policy.json'), JSON.stringify(policy));
  const guard = [installedCommand(), 'mcp', '--wait', '0', '--data-dir', 'our data', '--', process.execPath, SERVER];
  const child = spawn(process.execPath, [...guard, 'world.jsonl'], { cwd: folder });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: { id: 1 } } };
  child.stdin.write(`${JSON.stringify(call)}\n`);
  while (!/to decide: .*\n/.test(said)) await once(child.stderr, 'data');
  const command = commandIn(said, /to decide: /);
  assert.match(command, /^holdfast approvals approve --data-dir 'our data' [0-9a-f]{32}$/);
  assert.equal(paste(command).status, 0);
});
