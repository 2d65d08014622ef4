// Holds the lock on a file until it is killed: node hold-child.ts FILE
import { KernelLock, nodeFileSystem } from '../../../src/core/index.ts';

const broken = (): Error => new Error('cannot hold');
const lock = new KernelLock({ files: nodeFileSystem, path: process.argv[2] ?? '', busy: broken, unsafe: broken });
await lock.hold(5_000, () => {
  process.stdout.write('held\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
});
