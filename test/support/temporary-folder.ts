import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder of the test's own, removed when the test ends. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-test-')));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
