// Imports a package, erases it, and kills itself at the fault point that it is told.
import { oracle } from '../../../archive/support/packages.ts';
import { openPackageWorld, OWNER } from '../world.ts';

const [folder = '', point = ''] = process.argv.slice(2);
const world = await openPackageWorld({
  folder,
  faults: {
    reach(reached) {
      if (reached === point) process.kill(process.pid, 'SIGKILL');
    },
  },
});
const { root_frame_id: root } = await world.packages.import(OWNER, oracle('d2-deliveries'));
await world.packages.erase(OWNER, root);
await world.close();
