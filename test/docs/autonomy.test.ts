import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SupervisionView } from '../../src/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { authorOf, honestReviewer, reportTool } from '../support/supervised-world.ts';

check('the first example of docs/autonomy.md runs as it stands', async (t) => {
  const home = await temporaryFolder(t);
  const folder = join(home, 'workspace');
  mkdirSync(folder);
  const [example = ''] = blocksOf('docs/autonomy.md');
  const { supervised } = await runExample(home, 'example', example);
  const settings = {
    dataDir: join(home, 'data'),
    folder,
    author: authorOf('total 41', 'total 42'),
    reviewer: honestReviewer(),
    writeFile: reportTool(folder),
  };
  const view = await (supervised as (given: typeof settings) => Promise<SupervisionView>)(settings);
  assert.deepEqual([view.status, view.reviews, view.repairs, view.findings.length], ['verified', 2, 1, 1]);
});
