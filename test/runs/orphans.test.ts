import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { LIST_ORPHANS } from '../../src/runs/run-queries.ts';
import { assert, check } from '../support/index.ts';
import { openDesk } from '../calls/desk.ts';

check('what dead processes left is found by the index of unfinished runs, whatever else is stored', async (t) => {
  const { dataDir } = await openDesk(t);
  const db = new DatabaseSync(join(dataDir, 'holdfast.db'), { readOnly: true });
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${LIST_ORPHANS}`).all(0, 1);
  db.close();
  const steps = plan.map((row) => String(row['detail']));
  assert.ok(steps.some((step) => step.startsWith('SEARCH traces USING INDEX traces_unfinished')));
  assert.ok(!steps.some((step) => step.startsWith('SCAN')));
});
