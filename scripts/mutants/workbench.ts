import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Mutant } from './list.ts';

const LONGEST_TRIAL_MS = 180_000;
/** All tests that are named, as they are: most of the suite where every context is asked for. */
const LONGEST_START_MS = 1_800_000;
const NOT_COPIED = new Set(['.git', 'node_modules', 'dist', 'reports', '.holdfast']);

/** What a run of tests said. `stuck` is a run that did not end and was killed. */
export type Verdict = 'green' | 'red' | 'stuck';

/** A copy of the tree in a temporary folder, where files are broken and tests are run. */
export interface Workbench {
  /** Runs tests as they are; with `aloud` what they print is passed on. */
  test(files: readonly string[], aloud?: 'aloud'): Promise<Verdict>;
  /** Runs the mutant's tests on the broken file, and mends it again. */
  attempt(mutant: Mutant): Promise<Verdict>;
  remove(): void;
}

/** Copies the tree; the packages that it uses are linked, not copied. */
export function setUp(root: string): Workbench {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutants-'));
  cpSync(root, folder, { recursive: true, filter: (source) => !NOT_COPIED.has(relative(root, source)) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const test: Workbench['test'] = (files, aloud) =>
    aloud === 'aloud'
      ? runTests(folder, files, 'inherit', LONGEST_START_MS)
      : runTests(folder, files, 'ignore', LONGEST_TRIAL_MS);
  return {
    test,
    async attempt(mutant) {
      const file = join(folder, mutant.file);
      const whole = readFileSync(file, 'utf8');
      writeFileSync(file, whole.split(mutant.find).join(mutant.replace));
      try {
        return await test(mutant.tests);
      } finally {
        writeFileSync(file, whole);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function runTests(
  folder: string,
  files: readonly string[],
  stdio: 'inherit' | 'ignore',
  longestMs: number,
): Promise<Verdict> {
  // Started from a test, the runner would report to that test's parent instead of running by itself.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((settle, refuse) => {
    const child = spawn(process.execPath, ['scripts/test.ts', ...files], {
      cwd: folder,
      env,
      stdio,
      detached: true,
    });
    let stuck = false;
    const timer = setTimeout(() => {
      stuck = true;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, longestMs);
    child.once('error', refuse);
    child.once('exit', (code) => {
      clearTimeout(timer);
      if (stuck) settle('stuck');
      else settle(code === 0 ? 'green' : 'red');
    });
  });
}
