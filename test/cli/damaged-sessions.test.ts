import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { TestContext } from 'node:test';
import type { JsonObject, JsonValue } from '../../src/core/index.ts';
import { editDocument, filesOf, resealed } from '../archive/support/packages.ts';
import { callsThenDone, noteTool, openDesk } from '../calls/desk.ts';
import { tamper } from '../runs/damage-world.ts';
import { assert, check, holdfast } from '../support/index.ts';

/** Two sessions with one run each, in a data folder that nobody has open; the head of both was made. */
async function twoSessions(t: TestContext) {
  const { holdfast: desk, dataDir } = await openDesk(t);
  const agent = desk.agent({ model: callsThenDone([{}]), tools: [noteTool()] });
  const sick = await agent.run('go');
  await agent.run('go');
  await desk.close();
  const folder = join(dataDir, '..');
  const run = (...args: string[]) => holdfast([...args, '--data-dir', dataDir], { cwd: folder });
  assert.equal((await run('audit', '--make-head', 'all.head')).exit, 0);
  const session = sick.view.sessionId;
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'));
  const row = db
    .prepare('SELECT event_id FROM action_events WHERE root_frame_id = ? AND type = ?')
    .get(session, 'result');
  db.close();
  return { dataDir, session, event: String(row?.['event_id']), runId: sick.id, run };
}

interface Found {
  readonly sessions: number;
  readonly session_problems: readonly object[];
  readonly operation_errors: readonly string[];
  readonly head: { readonly problems: readonly Record<string, unknown>[] };
}

for (const [what, edit, table] of [
  ['a result that is no JSON', `result = '{'`, 'event'],
  ['a number beyond 2^53', 'created_at = 9007199254740993', 'event'],
  ['a session whose row is no JSON', `attributes = '{'`, 'session'],
  ['a session with a number beyond 2^53', 'updated_at = 9007199254740993', 'session'],
] as const)
  check(`the audit names ${what}, and proves everything else`, async (t) => {
    const { dataDir, session, event, runId, run } = await twoSessions(t);
    const [reference, at] =
      table === 'event' ? [event, `action_events SET ${edit} WHERE event_id = '${event}'`] : [session, ''];
    tamper(dataDir, `UPDATE ${at || `sessions SET ${edit} WHERE root_frame_id = '${session}'`}`);
    const audit = await run('audit', '--head', 'all.head', '--json');
    assert.equal(audit.exit, 1, audit.stdout);
    const { sessions, session_problems: problems, head } = JSON.parse(audit.stdout) as Found;
    assert.equal(sessions, 2);
    assert.deepEqual(problems, [{ session_id: session, problem: 'record_damaged', reference }]);
    assert.deepEqual(
      head.problems.map((one) => [one['session_id'], one['what'], one['problem']]),
      table === 'event' ? [[session, 'events', 'changed']] : [],
    );
    const text = await run('audit');
    assert.match(text.stdout, new RegExp(`session ${session}: record_damaged ${reference}`));
    const listed = await run('runs', 'list');
    assert.equal(listed.exit, 0, listed.stderr);
    assert.equal(listed.stdout.trim().split('\n').length, 2);
    if (table === 'event') assert.match(listed.stdout, new RegExp(`${runId}  damaged  .*holdfast audit`));
  });

check('sessions that came with times which are no dates are listed and shown, beside the others', async (t) => {
  const { holdfast: desk, dataDir } = await openDesk(t);
  const { packages, principal } = desk.runtime;
  const files = await filesOf('c-branches');
  for (const document of ['session.json', 'snapshots.json']) editDocument(files, document, dateless);
  const { root_frame_id: strange } = await packages.import(principal, resealed(files));
  const agent = desk.agent({ model: callsThenDone([]), tools: [noteTool()] });
  const { view } = await agent.run('go');
  await desk.close();
  const run = (...args: string[]) => holdfast([...args, '--data-dir', dataDir], { cwd: join(dataDir, '..') });
  const listed = await run('sessions', 'list');
  assert.deepEqual([listed.exit, listed.stderr], [0, '']);
  assert.match(listed.stdout, new RegExp(`${strange}  turn    at an unknown time`));
  assert.match(listed.stdout, new RegExp(`${view.sessionId}  turn    20`));
  const shown = await run('sessions', 'show', strange);
  assert.deepEqual([shown.exit, shown.stderr], [0, '']);
  assert.match(shown.stdout, /since at an unknown time/);
});

/** Makes every time of a document the last whole number, which is no date. */
function dateless(value: JsonValue): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value))
    if (key.endsWith('_at') && typeof member === 'number') (value as JsonObject)[key] = Number.MAX_SAFE_INTEGER;
    else if (key !== 'checkpoint_states') dateless(member);
}

check('one session that cannot be read keeps no other from being listed', async (t) => {
  const { dataDir, session, run } = await twoSessions(t);
  for (const edit of [`attributes = '{'`, 'created_at = 9007199254740993']) {
    tamper(dataDir, `UPDATE sessions SET ${edit} WHERE root_frame_id = '${session}'`);
    const listed = await run('sessions', 'list');
    assert.equal(listed.exit, 0, listed.stderr);
    assert.match(listed.stdout, new RegExp(`${session}  damaged  SESSION_CORRUPT; to see it: holdfast audit`));
    assert.equal(listed.stdout.trim().split('\n').length, 2);
    const { sessions, damaged, next } = JSON.parse(
      (await run('sessions', 'list', '--limit', '1', '--json')).stdout,
    ) as {
      readonly sessions: readonly { readonly session_id: string }[];
      readonly damaged: readonly { readonly session_id: string }[];
      readonly next: string;
    };
    assert.deepEqual([sessions.length + damaged.length, next], [1, (sessions[0] ?? damaged[0])?.session_id]);
    tamper(dataDir, `UPDATE sessions SET attributes = '{}', created_at = 1 WHERE root_frame_id = '${session}'`);
  }
});
