import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whatever lets something be done when it ends: a test, or a soak. */
export interface Ending {
  after(work: () => unknown): void;
}

/** A folder of the test's own, removed when the test ends. */
export async function temporaryFolder(t: Ending): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-test-')));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
