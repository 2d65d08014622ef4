import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { assert, check, type ConfiguredFolder, configuredFolder, installedCommand } from '../support/index.ts';

/** Three tools whose answers are lost until the other side is well again (`well`); the task names the one to call. */
const AGENT = `
  const post = (name, effect, more = {}) => tool({
    name, description: 'Posts a letter.', effect, needsApproval: false, settlesWithinMs: 3_600_000, ...more,
    inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
    execute: ({ to }) => { if (!existsSync('well')) throw new Error('connection reset'); return { posted: to }; },
  });
  const status = () => existsSync('asked') ? { state: 'not_happened' } : { state: 'unknown', reason: 'the desk is closed' };
  const tools = [post('once', 'once'), post('keyed', 'idempotent'), post('asked', 'reconcilable', { status })];
  const model = ({ messages }) => messages.at(-1).role === 'user'
    ? { calls: [{ callId: 'post-1', toolName: messages.at(-1).text, arguments: { to: 'Ada' } }] }
    : 'done';
`;

function change(folder: string, sql: string): void {
  const database = new DatabaseSync(join(folder, '.holdfast', 'holdfast.db'));
  database.exec(sql);
  database.close();
}

const LEASES_OVER = 'UPDATE outbox SET lease_until = unixepoch() WHERE lease_until IS NOT NULL';
/** A second after they were given: no earlier end can be written down. */
const APPROVALS_OVER = 'UPDATE operations SET approval_expires_at = approved_at + 1';

/** A call of this tool whose answer was lost: its reference. */
async function lost({ holdfast, json }: ConfiguredFolder, tool: string): Promise<string> {
  await holdfast('run', tool);
  const { operations } = (await json('operations', 'list')).document as unknown as {
    readonly operations: readonly { readonly status_ref: string; readonly progress: string }[];
  };
  return operations[0]?.status_ref ?? '';
}

check('a call whose tool honours its key is settled by sending it again, and `show` names that first', async (t) => {
  const world = await configuredFolder(t, AGENT);
  const ref = await lost(world, 'keyed');
  const held = await world.holdfast('operations', 'process', ref);
  assert.deepEqual(
    [held.exit, held.stderr],
    [1, 'holdfast: It was not delivered again: the lease of the delivery before is not over.\n'],
  );
  change(world.folder, LEASES_OVER);
  const shown = await world.holdfast('operations', 'show', ref);
  assert.match(
    shown.stdout,
    new RegExp(`settle it {2}holdfast operations process ${ref}\n +or {2}holdfast operations settle ${ref} `),
  );
  const asked = await world.holdfast('operations', 'status', ref);
  assert.match(asked.stderr, new RegExp(`TOOL_NOT_ASKABLE.*\n.*holdfast operations process ${ref}\n`));
  const lostAgain = await world.holdfast('operations', 'process', ref);
  assert.equal(lostAgain.exit, 1);
  assert.match(lostAgain.stderr, /^holdfast: .*connection reset/);
  change(world.folder, LEASES_OVER);
  writeFileSync(join(world.folder, 'well'), '');
  const sent = await world.holdfast('operations', 'process', ref);
  assert.deepEqual([sent.exit, sent.stderr], [0, '']);
});

check('why a call was not sent again is told, beside what is stored', async (t) => {
  const world = await configuredFolder(t, AGENT);
  const once = await lost(world, 'once');
  const asked = await lost(world, 'asked');
  const keyed = await lost(world, 'keyed');
  change(world.folder, `${LEASES_OVER}; ${APPROVALS_OVER}`);
  await sleep(2_000);
  const why = async (command: string, ref: string) => {
    const { exit, stderr, stdout } = await world.holdfast('operations', command, ref, '--json');
    const { outcome, reason } = JSON.parse(stdout) as { readonly outcome: string; readonly reason: string };
    assert.deepEqual([exit, outcome, stderr], [1, 'unknown', `holdfast: ${reason}\n`]);
    return stderr;
  };
  assert.match(await why('process', once), /^holdfast: .* its tool is one that can be neither repeated nor asked\.\n$/);
  assert.match(await why('process', keyed), /^holdfast: .* its approval has expired\.\n$/);
  for (const command of ['process', 'status'])
    assert.match(await why(command, asked), /^holdfast: the desk is closed\n$/);
  writeFileSync(join(world.folder, 'asked'), '');
  for (const command of ['process', 'status'])
    assert.match(await why(command, asked), /^holdfast: It has not happened yet; a request under way could still /);
});

check('a request file may come through a pipe', async (t) => {
  const { folder } = await configuredFolder(t, AGENT);
  const request = JSON.stringify({ request_id: 'f'.repeat(32), tool: 'once', arguments: { to: 'Ada' } });
  writeFileSync(join(folder, 'request.json'), request);
  writeFileSync(join(folder, 'large.json'), ' '.repeat(5_000_000));
  const sent = (file: string) => {
    const command = 'cat "$1" | "$2" "$3" operations dispatch --request /dev/stdin --json';
    return spawnSync('sh', ['-c', command, 'sh', file, process.execPath, installedCommand()], { cwd: folder });
  };
  assert.match(sent('request.json').stdout.toString(), /APPROVAL_NOT_FOUND/);
  assert.match(sent('large.json').stdout.toString(), /LIMIT_REACHED/);
});
