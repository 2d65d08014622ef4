import { assert, check } from '../../support/index.ts';
import { type Kill, killOnce, type Victim } from './guard-kills.ts';
import { httpKillOnce } from './http-guard-kills.ts';

/**
 * Two at a time they fit into forty seconds on two quiet cores; `npm run soak -- guard` makes two hundred, a quarter of
 * them over HTTP.
 */
const KILLS = 40;
const VICTIMS: readonly Victim[] = ['guard', 'server', 'host'];

/** Spread over the first 300 ms of eight writing calls, each victim at moments of its own. */
const kills: readonly Kill[] = Array.from({ length: KILLS }, (_, at) => ({
  victim: VICTIMS[at % VICTIMS.length] as Victim,
  afterMs: (at * 67) % 300,
}));

for (const victim of VICTIMS)
  check(`the ${victim} killed at many moments: nothing happens twice, nothing unknown becomes a success`, async () => {
    const own = kills.filter((kill) => kill.victim === victim);
    while (own.length > 0) {
      const pair = own.splice(0, 2);
      const reports = await Promise.all(pair.map(killOnce));
      for (const [at, { faults }] of reports.entries()) assert.deepEqual(faults, [], JSON.stringify(pair[at]));
    }
  });

for (const victim of VICTIMS)
  check(`over HTTP the ${victim} killed: nothing happens twice, nothing unknown becomes a success`, async () => {
    for (const afterMs of [5, 40]) {
      const { faults } = await httpKillOnce({ victim, afterMs });
      assert.deepEqual(faults, [], `after ${afterMs} ms`);
    }
  });
