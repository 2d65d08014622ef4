import { proveAssessment } from '../../../src/autonomy/assessment-proof.ts';
import { fail } from '../../../src/core/index.ts';
import { OWNER } from '../../support/session-world.ts';
import { assert, check } from '../../support/index.ts';
import { assessed, audits, openAutonomyWorld, start } from '../../support/autonomy-world.ts';

check('a store that cannot be read just now is told as that, and not as a proof that failed', async () => {
  let isBroken = false;
  await using world = await openAutonomyWorld({
    assessment: (...given) => {
      if (isBroken) throw fail('STORE_IO', 'The disk could not be read.');
      return proveAssessment(...given);
    },
  });
  await start(world);
  await assessed(world, '1');
  const { root } = world;
  isBroken = true;
  await assert.rejects(audits(world, {}), { code: 'STORE_IO' });
  await assert.rejects(world.autonomy.project(OWNER, root, root), { code: 'STORE_IO' });
  isBroken = false;
  assert.equal((await audits(world, {})).length, 1);
});
