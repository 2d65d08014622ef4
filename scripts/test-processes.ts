// Which test files share a process: opening the modules of the product takes longer than most files take to run.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** At most so many files share a process, all of one folder. */
const TOGETHER = 6;
/** Where no more are asked for, each has its own. */
const FEW = 12;
/** Those that run long, or are about processes and what is left of them, are alone. */
const LONG = /^test\/(demo|faults|house|interop|packed|property)\//;
/** What a file says that changes its process or looks at it, or that acts on every test of its process. */
const OWN = new RegExp(
  [
    String.raw`\bprocess\.(?!execPath\b|pid\b|versions?\b|platform\b|cwd\(\))`,
    String.raw`\b(?:before|after|beforeEach|afterEach)\b.* from 'node:test'`,
    String.raw`\bmock\.|\bglobalThis\b|\bgc\(|\bprototype\b`,
  ].join('|'),
);

/** Whether a test file needs a process of its own. */
export const isAlone = (file: string, text: string): boolean => LONG.test(file) || OWN.test(text);

/** The files of each process; all that share one are of one folder. */
export function processesOf(root: string, files: readonly string[]): readonly (readonly string[])[] {
  if (files.length <= FEW) return files.map((file) => [file]);
  const folders = Map.groupBy(files.toSorted(), (file) =>
    isAlone(file, readFileSync(join(root, file), 'utf8')) ? file : dirname(file),
  );
  return [...folders.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / TOGETHER) }, (_, i) => all.slice(i * TOGETHER, (i + 1) * TOGETHER)),
  );
}

/** The file that the runner starts for each process: the only one it has, or a program in `folder` that loads them all. */
export function programsOf(root: string, folder: string, processes: readonly (readonly string[])[]): string[] {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return processes.map(([first = '', ...more], i) => {
    if (more.length === 0) return join(root, first);
    const program = join(folder, `${String(i + 1).padStart(3, '0')}.mjs`);
    writeFileSync(program, programOf(root, [first, ...more]));
    return program;
  });
}

/** A file that cannot be loaded is a failed test by its name, and the others run. */
function programOf(root: string, files: readonly string[]): string {
  const loads = files.map((file) => `await load('${file}', '${pathToFileURL(join(root, file)).href}');`);
  return `import { test } from 'node:test';
const fail = (file, error) => void test(file, () => { throw error; });
const load = (file, url) => import(url).catch((error) => fail(file, error));
${loads.join('\n')}
`;
}
