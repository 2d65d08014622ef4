import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installedCommand } from '../../scripts/installed.ts';
import { type Contender, interleave } from '../measure.ts';
import type { BenchRow, BenchSuite } from '../suite.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const COMMAND = installedCommand();
const DEMO = join(ROOT, 'examples', 'demo', 'demo.ts');
const ROUNDS = 15;
const LOOK_EVERY_MS = 20;

function start(name: string, folder: string, args: readonly string[]): Contender {
  return {
    name,
    run: () => {
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
      if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
      return 1;
    },
  };
}

/** The most memory that a process has had, in megabytes; only Linux tells it of another process. */
function peakOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

/** The most memory of the demo's own process, without the servers that it starts. */
async function memoryOfDemo(): Promise<number | undefined> {
  const child = spawn(process.execPath, [DEMO], { cwd: ROOT, stdio: 'ignore' });
  let peak: number | undefined;
  const timer = setInterval(() => {
    peak = (child.pid === undefined ? undefined : peakOf(child.pid)) ?? peak;
  }, LOOK_EVERY_MS);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`the demo ended with ${String(code)}`);
  return peak;
}

function megabytes(peak: number | undefined): BenchRow {
  const value = peak === undefined ? 'unknown' : `${peak.toFixed(0)} MB`;
  return { what: "the demo's process", value, note: 'must be under 150' };
}

/** What the command costs before it does anything, beside Node.js itself; and what the demo's process needs. */
export const startSuite: BenchSuite = {
  name: 'start',
  async run(folder) {
    const data = join(folder, 'project');
    mkdirSync(data);
    spawnSync(process.execPath, [COMMAND, 'init'], { cwd: data });
    const contenders = [
      start('node', data, ['-e', '0']),
      start('version', data, [COMMAND, '--version']),
      start('help', data, [COMMAND, 'help']),
      start('doctor', data, [COMMAND, 'doctor', '--data-dir', '.holdfast']),
    ];
    const measured = await interleave(contenders, ROUNDS, { warmUp: 2 });
    const ms = (name: string): number => (measured.get(name)?.medianUs ?? Number.NaN) / 1000;
    const times = (name: string): number => Number((ms(name) / ms('node')).toFixed(2));
    const row = (name: string, note: string): BenchRow => ({ what: name, value: `${ms(name).toFixed(0)} ms`, note });
    const peak = await memoryOfDemo();
    return {
      rows: [
        row('node', 'node -e 0'),
        row('version', `${times('version')} times node; must be at most 2.5`),
        row('help', `${times('help')} times node`),
        row('doctor', `${times('doctor')} times node; loads every room and looks at the database`),
        megabytes(peak),
      ],
      figures: {
        peers: { start: { version_times_node: times('version'), doctor_times_node: times('doctor'), demo_mb: peak } },
      },
    };
  },
};
