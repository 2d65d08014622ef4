import { assert, check } from '../../support/index.ts';
import { type Kill, killOnce } from './guard-kills.ts';

const KILLS: readonly Kill[] = [
  { victim: 'guard', afterMs: 0 },
  { victim: 'guard', afterMs: 120 },
  { victim: 'server', afterMs: 60 },
  { victim: 'host', afterMs: 60 },
];

for (const kill of KILLS)
  check(
    `the ${kill.victim} killed after ${kill.afterMs} ms: nothing happens twice, nothing unknown becomes a success`,
    async () => {
      const { faults } = await killOnce(kill);
      assert.deepEqual(faults, []);
    },
  );
