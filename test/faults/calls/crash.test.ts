import { assert, check } from '../../support/index.ts';
import { all, everywhere, missed, OF_GROUPS, OF_TIME, wrong } from './plans.ts';

/** What a run of calls must come by, so that a point that is gone does not go unnoticed. */
const OF_CALLS = [
  'approval-consumed',
  'effect-about-to-send',
  'effect-sent',
  'intent-committed',
  'receipt-about-to-commit',
  'receipt-committed',
  'recovery-finished',
  'recovery-started',
];

// How its commits die is in crash-commits.test.ts.
check('killed at every fault point of a call: once, kept, honest, and finished in the end', async (t) => {
  const [lived] = await all(t, [[null]]);
  assert.ok(lived);
  const deaths = everywhere(lived).filter(({ point }) => ![...OF_GROUPS, ...OF_TIME].includes(point));
  assert.deepEqual([...new Set(deaths.map(({ point }) => point))].sort(), OF_CALLS);
  const crashes = await all(
    t,
    deaths.map((death) => [death]),
  );
  assert.deepEqual(wrong(crashes), []);
  assert.equal(crashes.filter(({ killed }) => killed).length, deaths.length, 'every planned kill fell');
});

check(
  'killed as it renews its lease: whoever comes next waits for that lease, and finds no more than was done',
  async (t) => {
    const deaths = [1, 2, 3].map((at) => ({ point: 'lease-renewed', at }));
    const crashes = await all(
      t,
      deaths.map((death) => [death]),
    );
    assert.deepEqual(wrong(crashes), []);
    assert.ok(
      crashes.every(({ killed }) => killed),
      'every planned kill fell',
    );
  },
);

check('killed again at every fault point of the recovery: as if it had been killed once', async (t) => {
  const sent = { point: 'effect-sent', at: 3 };
  const [lived] = await all(t, [[sent, null]]);
  assert.ok(lived);
  const deaths = everywhere(lived);
  assert.ok(deaths.some(({ point }) => point === 'recovery-finished'));
  const crashes = await all(
    t,
    deaths.map((death) => [sent, death]),
  );
  assert.deepEqual(wrong(crashes), []);
  assert.deepEqual(missed(deaths, crashes), [], 'every planned kill fell');
});
