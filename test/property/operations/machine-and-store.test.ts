import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { check, judged } from '../../support/index.ts';
import { COMMANDS } from './commands.ts';
import { freshModel, World } from './world.ts';

check('machine and store agree over random commands, two connections and reopenings', async () => {
  let commands = 0;
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 25, size: '+1' }), async (run) => {
      const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
      const world = await new World(join(folder, 'runtime.db')).open();
      world.allow(true);
      try {
        await fc.asyncModelRun(() => ({ model: freshModel(), real: world }), run);
        commands += 1;
      } finally {
        await world.close();
        await rm(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 60 },
  );
  if (commands >= 60) judged();
});
