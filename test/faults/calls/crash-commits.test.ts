import { assert, check } from '../../support/index.ts';
import { all, everywhere, missed, OF_GROUPS, wrong } from './plans.ts';

check('killed at every commit of a run of calls: once, kept, honest, and finished in the end', async (t) => {
  const [lived] = await all(t, [[null]]);
  assert.ok(lived);
  const deaths = everywhere(lived).filter(({ point }) => OF_GROUPS.includes(point));
  assert.deepEqual(new Set(deaths.map(({ point }) => point)), new Set(OF_GROUPS));
  assert.ok(deaths.length > 40, 'each of four calls commits twice, and so does what is around them');
  const crashes = await all(
    t,
    deaths.map((death) => [death]),
  );
  assert.deepEqual(wrong(crashes), []);
  assert.deepEqual(missed(deaths, crashes), [], 'every planned kill fell');
});
