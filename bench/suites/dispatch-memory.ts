// Works on a database that is already large, and prints the most memory that it had, in megabytes.
import { Principal } from '../../src/operations/index.ts';
import { DispatchWork } from './dispatch-work.ts';

const work = await DispatchWork.open(process.argv[2] ?? '');
await work.fill(2_000);
await work.operations.list(new Principal('bench', 'agent-1'), { limit: 200, now: 1_784_419_300 });
await work.close();
console.log(Math.round(process.resourceUsage().maxRSS / 1024));
