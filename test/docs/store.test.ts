import { join } from 'node:path';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the example of docs/store.md writes a note and reads it back', async (t) => {
  const folder = await temporaryFolder(t);
  const [example = ''] = blocksOf('docs/store.md');
  const given = [`const file = ${JSON.stringify(join(folder, 'notes.db'))};`];
  const { all } = await runExample(folder, 'store', `${example}\nexport { all };\n`, given);
  assert.deepEqual(
    (all as object[]).map((row) => ({ ...row })),
    [{ id: 'a', text: 'First' }],
  );
});
