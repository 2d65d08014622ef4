import { join } from 'node:path';
import type { Holdfast } from '../../src/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { collect } from '../telemetry/collector.ts';

check('the example of docs/telemetry.md runs as it stands, and its runs are told', async (t) => {
  const { named } = collect();
  const folder = await temporaryFolder(t);
  const [example = ''] = blocksOf('docs/telemetry.md');
  const given = [`const dataDir = ${JSON.stringify(join(folder, 'data'))};`];
  const holdfast = (await runExample(folder, 'telemetry', example, given))['holdfast'] as Holdfast;
  const run = await holdfast.agent({ model: () => 'done' }).run('go');
  await holdfast.close();
  assert.equal(run.status, 'completed');
  assert.equal(named('invoke_agent agent').attributes['holdfast.run.id'], run.id);
});
