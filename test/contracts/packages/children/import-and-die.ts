// Imports a package and kills itself at the fault point that it is told, at one step of it. The package is a file, or
// one of the real ones.
import { readFileSync } from 'node:fs';
import { oracle } from '../../../archive/support/packages.ts';
import { openPackageWorld, OWNER } from '../world.ts';

const [folder = '', point = '', step = '-1', file] = process.argv.slice(2);
const world = await openPackageWorld({
  folder,
  faults: {
    reach(reached, at = -1) {
      if (reached === point && at === Number(step)) process.kill(process.pid, 'SIGKILL');
    },
  },
});
await world.packages.import(OWNER, file === undefined ? oracle('d2-deliveries') : readFileSync(file));
await world.close();
