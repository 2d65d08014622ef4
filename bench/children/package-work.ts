// node package-work.js export|import DATA_DIR FILE [SESSION] [--as-command]
// Does one thing and says on one line how long it took and how much memory the process had at most. With `--as-command`
// the heap is set as the command sets it.
import { closeSync, openSync, writeSync } from 'node:fs';
import { collectEarly } from '../../src/cli/early-collection.ts';

const asCommand = process.argv.includes('--as-command');
if (asCommand) collectEarly();
// As in the command, the rooms are loaded after that.
const { fileSource } = await import('../../src/archive/index.ts');
const { Holdfast } = await import('../../src/index.ts');
const [what = '', dataDir = '', file = '', session = ''] = process.argv
  .slice(2)
  .filter((word) => word !== '--as-command');
const holdfast = await Holdfast.open({ dataDir, secretsIn: {} });
const { packages, principal } = holdfast.runtime;
const before = process.memoryUsage().rss;
const start = performance.now();
const cpuBefore = process.cpuUsage();
const answer = what === 'export' ? await exported() : await imported();
const ms = performance.now() - start;
const { user, system } = process.cpuUsage(cpuBefore);
const peak = process.resourceUsage().maxRSS * 1024;
await holdfast.close();
process.stdout.write(`${JSON.stringify({ ms, cpuMs: (user + system) / 1000, before, peak, answer })}\n`);

async function exported(): Promise<string> {
  using made = await packages.export(principal, session);
  const fd = openSync(file, 'w', 0o600);
  for (const chunk of made.chunks(Buffer.allocUnsafe(256 * 1024))) writeSync(fd, chunk);
  closeSync(fd);
  return made.manifestSha256;
}

async function imported(): Promise<string> {
  const source = await fileSource(file);
  const { root_frame_id: root } = await packages.import(principal, source);
  await source.close();
  return root;
}
