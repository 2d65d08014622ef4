// Stages a package, says "staged" in the middle of it, and then dies, or goes on when it is told to. How far it is: an
// archive that is written and not given away (`export`), or one of which a part has come (`receive`).
import { once } from 'node:events';
import { oracle } from '../../../archive/support/packages.ts';
import { ROOT } from '../source.ts';
import { openPackageWorld, OWNER } from '../world.ts';

const [folder = '', how = '', then = ''] = process.argv.slice(2);

async function staged(): Promise<void> {
  if (then === 'die') process.kill(process.pid, 'SIGKILL');
  process.stdout.write('staged\n');
  await once(process.stdin, 'data');
}

const faults = { reach: (point: string) => (point === 'package-temp-written' ? staged() : undefined) };
const world = await openPackageWorld({ folder, faults });
if (how === 'export') {
  using exported = await world.packages.export(OWNER, ROOT);
  process.stdout.write(`${exported.sizeBytes > 0 ? 'whole' : 'empty'}\n`);
} else {
  const bytes = oracle('d2-deliveries');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 100);
    await staged();
    yield bytes.subarray(100);
  }
  await world.packages.receive(OWNER, { announcedBytes: bytes.length, chunks: chunks() }, async ({ source }) => {
    const { ok } = await world.packages.import(OWNER, source);
    process.stdout.write(`${ok ? 'whole' : 'not whole'}\n`);
  });
}
await world.close();
process.stdin.destroy();
