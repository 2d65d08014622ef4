// node recovering-program.ts DATA_DIR LATER_MS
// Opens the data folder as a process does for which so much more time has passed, and says which runs it let go of.
import { Holdfast } from '../../src/index.ts';

const [dataDir = '', laterMs = '0'] = process.argv.slice(2);
const holdfast = await Holdfast.open({ dataDir, clock: { nowMs: () => Date.now() + Number(laterMs) } });
process.stdout.write(JSON.stringify(holdfast.runtime.reconciled));
await holdfast.close();
