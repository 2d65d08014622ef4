import { assert, check } from '../support/index.ts';
import { load } from './load.ts';

check('64 clients decide 500 requests at once, each twice: none is lost, none is doubled, nothing fails', async (t) => {
  const { faults, times, approved } = await load(t, { clients: 64, decisions: 500, callsPerRun: 100 });
  assert.deepEqual(faults, []);
  assert.equal(times.length, 1000);
  assert.ok(approved > 0 && approved < 500, 'both kinds of decision were heard');
});
