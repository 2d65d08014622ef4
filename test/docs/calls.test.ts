import { join } from 'node:path';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the example of docs/calls.md runs as it stands, and ends as the page says', async (t) => {
  const folder = await temporaryFolder(t);
  const given = [
    `const dataDir = ${JSON.stringify(join(folder, 'data'))};`,
    `const asWritten = () => ({ calls: ['Ada', 'nobody', 'Bob', 'Bob'].map((to, i) => (
       { callId: 'call-' + i, toolName: 'post_letter', arguments: { to } })) });`,
  ];
  const [example = ''] = blocksOf('docs/calls.md');
  const { outcomes } = await runExample(folder, 'calls', example, given);
  assert.deepEqual(outcomes, ['done', 'not_done', 'unknown', 'not started']);
});
