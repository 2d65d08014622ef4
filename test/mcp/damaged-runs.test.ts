import { dirname } from 'node:path';
import { killedAt, rowsOf, runOfAgent, tamper } from '../runs/damage-world.ts';
import { assert, check } from '../support/index.ts';
import { endLeases } from '../support/leases.ts';
import { elsewhere, guardWorld, outcomeOf } from './guard-world.ts';

check(
  'a guard on a folder with a damaged run says so, carries its calls out, and touches nothing of that run',
  async (t) => {
    const dataDir = await killedAt(t, 'clerk', 'plain', 'tool');
    endLeases(dataDir);
    const clerk = runOfAgent(dataDir, 'clerk');
    tamper(dataDir, `UPDATE traces SET roles = '[ ]'`);
    const rows = rowsOf(dataDir, clerk);
    const world = await guardWorld(t, { dataDir: dirname(dataDir) });
    const told = await world.call('write', { a: 1 });
    assert.equal(outcomeOf(told), undefined, 'the server answered');
    assert.equal(world.effects().length, 1);
    assert.match(
      world.errors(),
      new RegExp(`holdfast: run ${clerk} is left as it is.*\\(JSON_NOT_CANONICAL\\).*audit`),
    );
    assert.equal(await world.end(), 0);
    assert.equal(rowsOf(dataDir, clerk), rows);
  },
);

check(
  'the run of a dead guard ends though a request of it is damaged, and one whose own row is damaged does not',
  async (t) => {
    const world = await guardWorld(t, { waitMs: 0 });
    await world.call('ask_first', { a: 1 }, 1);
    const guard = runOfAgent(world.dataDir, 'guard:world');
    assert.equal(await world.end(), 0);
    const alive = `UPDATE traces SET status = 'running', owner_instance_id = 'a dead one', finished_at = NULL`;
    tamper(world.dataDir, alive, `UPDATE traces SET context = '[]'`);
    await elsewhere(world.dataDir, async ({ runtime }) => {
      assert.deepEqual([runtime.reconciled, runtime.damaged.map(({ runId }) => runId)], [[], [guard]]);
    });
    tamper(world.dataDir, `UPDATE traces SET context = '{}'`, `UPDATE permission_requests SET reason = 'because'`);
    await elsewhere(world.dataDir, async ({ runtime }) => {
      assert.deepEqual([runtime.reconciled, runtime.damaged], [[guard], []]);
      assert.equal((await runtime.runs.get(runtime.principal, guard)).state.status, 'stopped');
    });
  },
);
