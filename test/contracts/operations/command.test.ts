import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, contract, temporaryFolder } from '../../support/index.ts';

const DESK = join(import.meta.dirname, '../../fixtures/refund-desk/main.ts');
const SHIPPED = join(import.meta.dirname, '../../fixtures/refund-desk/persistence-case.json');

interface Ended {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the desk's command in a process of its own; a warning there is an error. */
function desk(db: string, fixture: string, ...args: readonly string[]): Promise<Ended> {
  const argv = ['--throw-deprecation', DESK, '--db', db, '--fixture', fixture, ...args];
  return new Promise((settle, refuse) => {
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', refuse);
    child.once('close', (exit) => settle({ exit, stdout, stderr }));
  });
}

const read = (text: string) => JSON.parse(text) as Record<string, unknown>;

contract('OPS-177 OPS-178 OPS-179', 'dispatch on a new database passes', async (t) => {
  const ended = await desk(join(await temporaryFolder(t), 'runtime.db'), SHIPPED, 'dispatch');
  assert.equal(ended.exit, 0);
  assert.equal(read(ended.stdout)['gate'], 'PASS');
  assert.equal(read(ended.stdout)['delivery'], 'fresh');
});

contract('OPS-180 OPS-181 OPS-182', 'a crash after the downstream commit blocks', async (t) => {
  const db = join(await temporaryFolder(t), 'runtime.db');
  const ended = await desk(db, SHIPPED, 'dispatch', '--failure', 'after_downstream_commit');
  assert.equal(ended.exit, 1);
  assert.equal(read(ended.stdout)['gate'], 'BLOCK');
  assert.equal(read(ended.stdout)['code'], 'OUTCOME_UNKNOWN');
});

contract('OPS-183 OPS-184', 'an explicit status query unblocks it', async (t) => {
  const db = join(await temporaryFolder(t), 'runtime.db');
  const crashed = await desk(db, SHIPPED, 'dispatch', '--failure', 'after_downstream_commit');
  const statusRef = String(read(crashed.stdout)['status_ref']);
  const ended = await desk(db, SHIPPED, 'status', '--status-ref', statusRef);
  assert.equal(ended.exit, 0);
  assert.equal(read(ended.stdout)['gate'], 'PASS');
});

contract('OPS-185 OPS-186', 'the audit of a new database passes', async (t) => {
  const ended = await desk(join(await temporaryFolder(t), 'runtime.db'), SHIPPED, 'audit');
  assert.equal(ended.exit, 0);
  assert.equal(read(ended.stdout)['gate'], 'PASS');
});

function errorOf(ended: Ended): { readonly code: unknown; readonly gate: unknown } {
  const { error, gate } = read(ended.stderr);
  return { code: (error as { code?: unknown }).code, gate };
}

contract('OPS-187 OPS-188 OPS-189 OPS-190', 'a missing case file is a code without a path', async (t) => {
  const folder = await temporaryFolder(t);
  const missing = join(folder, 'private-account', 'case.json');
  const ended = await desk(join(folder, 'runtime.db'), missing, 'dispatch');
  assert.equal(ended.exit, 2);
  assert.equal(errorOf(ended).gate, 'BLOCK');
  assert.equal(errorOf(ended).code, 'FIXTURE_IO_ERROR');
  assert.ok(!ended.stderr.includes(missing) && !ended.stderr.includes('private-account'));
});

contract('OPS-191 OPS-192 OPS-193 OPS-194', 'a deeply nested case file is a code without a stack', async (t) => {
  const folder = await temporaryFolder(t);
  const nested = `${'['.repeat(4096)}0${']'.repeat(4096)}`;
  assert.ok(Buffer.byteLength(nested) < 65_536);
  await writeFile(join(folder, 'case.json'), nested);
  const ended = await desk(join(folder, 'runtime.db'), join(folder, 'case.json'), 'dispatch');
  assert.equal(ended.exit, 2);
  assert.equal(errorOf(ended).gate, 'BLOCK');
  assert.equal(errorOf(ended).code, 'FIXTURE_CONTRACT_ERROR');
  assert.ok(!ended.stderr.includes('Traceback') && !/\n\s+at /.test(ended.stderr));
});

contract('OPS-195 OPS-196 OPS-197 OPS-198', 'a database that cannot be opened is a code without a path', async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'private-database-parent'), '');
  const db = join(folder, 'private-database-parent', 'runtime.db');
  const ended = await desk(db, SHIPPED, 'audit');
  assert.equal(ended.exit, 2);
  assert.equal(errorOf(ended).gate, 'BLOCK');
  assert.equal(errorOf(ended).code, 'SQLITE_ERROR');
  assert.ok(!ended.stderr.includes(db) && !ended.stderr.includes('private-database-parent'));
});
