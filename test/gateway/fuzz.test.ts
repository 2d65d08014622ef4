import { assert, check } from '../support/index.ts';
import { fuzz } from './fuzz.ts';
import { openWorld } from './world.ts';

check('a thousand odd requests to every route: each is answered as described, none is a fault of ours', async (t) => {
  const world = await openWorld(t);
  const { faults, statuses } = await fuzz(world, { seed: 20_261_129, count: 1000 });
  assert.deepEqual(faults, []);
  for (const status of [200, 201, 202, 400, 401, 403, 404, 405, 409, 413, 415])
    assert.ok((statuses.get(status) ?? 0) > 0, `some were answered with ${status}`);
  assert.equal((await fetch(`${world.url}/readyz`)).status, 200);
});
