import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { rehearseCall } from '../../src/calls/index.ts';
import { tool } from '../../src/index.ts';
import { openModellessRun } from '../../src/runs/index.ts';
import { assert, check } from '../support/index.ts';
import { openDesk } from './desk.ts';

/** How many rows each table has. */
function rowsOf(dataDir: string): Record<string, unknown> {
  const raw = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  try {
    const tables = raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    const counted = tables.map(({ name }) => [
      String(name),
      raw.prepare(`SELECT COUNT(*) AS rows FROM ${String(name)}`).get()?.['rows'],
    ]);
    return Object.fromEntries(counted) as Record<string, unknown>;
  } finally {
    raw.close();
  }
}

check('a rehearsed call goes its whole way, invokes no tool and leaves nothing', async (t) => {
  const { holdfast, counts, dataDir } = await openDesk(t);
  const { calls, principal, projectId, filesystem } = holdfast.runtime;
  const run = { name: 'guard:world', projectId, ownerInstanceId: calls.workerId, context: {} };
  const place = await openModellessRun(calls, principal, run);
  let invoked = 0;
  const rehearsed = tool({
    name: 'rehearsed',
    description: '',
    inputSchema: { type: 'object' },
    effect: 'once',
    execute: () => (invoked += 1),
  });
  const before = rowsOf(dataDir);
  counts.reset();
  for (const returned of [{ ok: true }, { ok: true }])
    await rehearseCall(calls, place, { tool: rehearsed, returned, filesystem });
  const texts = counts.statementsOf('calls.rehearsal').join('\n');
  for (const table of ['action_groups', 'operations', 'outbox', 'downstream_receipts', 'messages', 'effect_records'])
    assert.match(texts, new RegExp(`INSERT (OR IGNORE )?INTO ${table}`));
  assert.match(texts, /UPDATE operations SET state = 'succeeded'/);
  assert.equal(invoked, 0);
  assert.deepEqual(rowsOf(dataDir), before);
  assert.deepEqual(
    counts.events.flatMap((event) => (event.kind === 'committed' ? event.names : [])),
    [],
  );
  assert.equal(calls.tools.current('rehearsed'), undefined);
});
