// npm run bench · npm run bench -- store · npm run bench -- --json (the last line is then one JSON object)
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchFigures, BenchRow, BenchSuite } from './suite.ts';
import { archiveSuite } from './suites/archive.ts';
import { auditsSuite } from './suites/audits.ts';
import { callSuite } from './suites/call.ts';
import { dispatchSuite } from './suites/dispatch.ts';
import { gatewaySuite } from './suites/gateway.ts';
import { guardSuite } from './suites/guard.ts';
import { peersSuite } from './suites/peers.ts';
import { packagesSuite } from './suites/packages.ts';
import { rawSuite } from './suites/raw.ts';
import { reportSuite } from './suites/report.ts';
import { runsSuite } from './suites/runs.ts';
import { startSuite } from './suites/start.ts';
import { storeSuite } from './suites/store.ts';
import { workspaceSuite } from './suites/workspace.ts';

const SUITES: readonly BenchSuite[] = [
  storeSuite,
  rawSuite,
  dispatchSuite,
  archiveSuite,
  guardSuite,
  gatewaySuite,
  workspaceSuite,
  callSuite,
  runsSuite,
  auditsSuite,
  reportSuite,
  startSuite,
  packagesSuite,
  peersSuite,
];

const asked = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const json = process.argv.includes('--json');

async function runIn(suite: BenchSuite): Promise<BenchFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
  try {
    const { rows, figures } = await suite.run(folder);
    printTable(suite.name, rows);
    return figures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function printTable(title: string, rows: readonly BenchRow[]): void {
  console.log(`\n${title}`);
  const width = Math.max(...rows.map((row) => row.what.length));
  for (const { what, value, note = '' } of rows) console.log(`  ${what.padEnd(width)}  ${value.padStart(10)}  ${note}`);
}

const all: BenchFigures[] = [];
for (const suite of SUITES.filter(({ name }) => asked.length === 0 || asked.includes(name)))
  all.push(await runIn(suite));

if (json)
  console.log(
    JSON.stringify({
      ratios: Object.assign({}, ...all.map((figures) => figures.ratios ?? {})) as unknown,
      effects_per_s: Object.assign({}, ...all.map((figures) => figures.effectsPerSecond ?? {})) as unknown,
      rss_mb: Math.round(process.resourceUsage().maxRSS / 1024),
      peers: Object.assign({}, ...all.map((figures) => figures.peers ?? {})) as unknown,
    }),
  );
