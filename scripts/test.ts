// Runs the tests under node:test: everything under test/, or the files and folders given.
//   npm test · npm test -- test/contracts/operations · npm test -- --name 'OPS-17'
// What took longest last time begins first, so that nothing long is left alone at the end. Light files share processes.
import { createWriteStream, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { junit } from 'node:test/reporters';
import closingLines, { isFileItself } from './closing-lines.ts';
import { processesOf, programsOf } from './test-processes.ts';

const LONGEST_FILE_MS = 300_000;
/** One more than CI has cores: files wait, for disks, clocks and what they start. */
const AT_ONCE = 3;
const root = join(import.meta.dirname, '..');
const reports = join(root, 'reports');
const timesFile = join(reports, 'test-times.json');

function readTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(timesFile, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

function testFiles(places: readonly string[]): string[] {
  return places.flatMap((place) =>
    statSync(join(root, place)).isDirectory() ? globSync(`${place}/**/*.test.ts`, { cwd: root }) : [place],
  );
}

const args = process.argv.slice(2);
const nameAt = args.indexOf('--name');
const pattern = nameAt >= 0 ? args.splice(nameAt, 2)[1] : undefined;
const times = readTimes();
const msOf = (file: string): number => times[file] ?? Number.POSITIVE_INFINITY;
const files = testFiles(args.length > 0 ? args : ['test']);
if (files.length === 0) {
  console.error('no test files there');
  process.exit(2);
}
const processes = processesOf(root, files)
  .map((together) => ({ together, ms: together.reduce((sum, file) => sum + msOf(file), 0) }))
  .sort((a, b) => (a.ms === b.ms ? String(a.together).localeCompare(String(b.together)) : b.ms - a.ms))
  .map(({ together }) => together);
const programs = programsOf(root, join(reports, 'test-processes'), processes);

process.chdir(root);
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/node');
mkdirSync(reports, { recursive: true });

let ran = 0;
let failed = 0;
const seen = new Map<string, number>();
const events = run({
  files: programs,
  concurrency: AT_ONCE,
  timeout: LONGEST_FILE_MS,
  ...(pattern === undefined ? {} : { testNamePatterns: [pattern] }),
});
// Each reporter listens to the end of the stream several times.
events.setMaxListeners(50);
events.on('test:fail', () => {
  failed += 1;
});
events.on('test:pass', (test) => {
  if (!isFileItself(test)) ran += 1;
});
// One summary a process, and one for all of them that names no file. Files that share a process share its time.
events.on('test:summary', ({ file, duration_ms }) => {
  const together = processes[programs.indexOf(file ?? '')] ?? [];
  for (const each of together) seen.set(each, Math.round(duration_ms / together.length));
});
events.compose(closingLines).pipe(process.stdout);
events.compose(junit).pipe(createWriteStream(join(reports, 'junit.xml')));
events.on('end', () => {
  if (ran + failed === 0) console.error(pattern === undefined ? 'no test ran' : `no test is named like '${pattern}'`);
  if (failed > 0 || ran === 0) process.exitCode = 1;
  writeFileSync(timesFile, `${JSON.stringify({ ...times, ...Object.fromEntries(seen) }, null, 1)}\n`);
});
