// A process that writes to a run's journal, so that tests can kill it, starve it or let it compete.
//   node journal-child.ts DIRECTORY PREFIX COUNT [die at FAULT_POINT on the last claim | hold]
import { type FaultPoint, nodeFileSystem, noFaults } from '../../../src/core/index.ts';
import { openJournal } from '../../../src/effects/index.ts';
import { JournalLock } from '../../../src/effects/journal/lock.ts';
import { claimOf, note, RUN } from '../../contracts/effects/fixture.ts';

const [directory = '', prefix = '', count = '0', act = ''] = process.argv.slice(2);

async function claims(): Promise<void> {
  let left = Number(count);
  const reach = (point: FaultPoint): void => {
    if (left === 1 && point === act) process.kill(process.pid, 'SIGKILL');
  };
  const log = openJournal(RUN, { directory, faults: act === '' ? noFaults : { reach } });
  for (; left > 0; left -= 1) {
    const made = await log.claim(claimOf(note(), `${prefix}${left}`)).catch((error: { code: string }) => error.code);
    process.stdout.write(`${typeof made === 'string' ? made : made.sequence}\n`);
  }
  await log.close();
}

async function hold(): Promise<void> {
  const lock = new JournalLock(nodeFileSystem, `${directory}/${RUN}.lock`);
  await lock.hold(() => {
    process.stdout.write('held\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  });
}

await (act === 'hold' ? hold() : claims());
