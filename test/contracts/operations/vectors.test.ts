import { join } from 'node:path';
import { replayVectors } from '../../fixtures/refund-desk/replay/replay.ts';
import { assert, check } from '../../support/index.ts';

check('every case of the golden vectors of operations agrees', async () => {
  const results = await replayVectors(join(import.meta.dirname, '..', '..', 'vectors', 'operations.json'));
  assert.ok(results.length > 300, `only ${results.length} cases were replayed`);
  const failed = results.filter(({ problems }) => problems.length > 0);
  assert.deepEqual(failed, []);
});
