// Imports a package and kills itself at the fault point that it is told, at one step of it.
import { oracle } from '../../../archive/support/packages.ts';
import { openPackageWorld, OWNER } from '../world.ts';

const [folder = '', point = '', step = '-1'] = process.argv.slice(2);
const world = await openPackageWorld({
  folder,
  faults: {
    reach(reached, at = -1) {
      if (reached === point && at === Number(step)) process.kill(process.pid, 'SIGKILL');
    },
  },
});
await world.packages.import(OWNER, oracle('d2-deliveries'));
await world.close();
