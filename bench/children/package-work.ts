// node bench/children/package-work.ts make|export|import|copy DATA_DIR FILE [SESSION]
// Does one thing and says on one line how long it took and how much memory the process had at most. Runs what is built,
// as users do: stripping the types of hundreds of sources would be measured with it.
import { closeSync, openSync, writeSync } from 'node:fs';
import type * as Archive from '../../src/archive/index.ts';
import type * as Library from '../../src/index.ts';

const built = (entry: string): string => new URL(`../../dist/${entry}`, import.meta.url).href;
const { fileSource } = (await import(built('archive/index.js'))) as typeof Archive;
const { Holdfast } = (await import(built('index.js'))) as typeof Library;

const [what = '', dataDir = '', file = '', session = ''] = process.argv.slice(2);
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
