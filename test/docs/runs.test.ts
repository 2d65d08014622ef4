import type { ModelFunction } from '../../src/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

const notes: string[] = [];
const model: ModelFunction = ({ messages }) =>
  messages.some(({ role }) => role === 'assistant')
    ? 'done'
    : { calls: [{ callId: 'n1', toolName: 'take_note', arguments: { note: 'milk' } }] };

check('the example of a run in a folder waits, is decided and ends as it says', async (t) => {
  const folder = await temporaryFolder(t);
  const [example = ''] = blocksOf('docs/runs.md');
  const shared = globalThis as unknown as Record<string, unknown>;
  Object.assign(shared, { exampleNotes: notes, exampleModel: model });
  const given = [
    `const folder = ${JSON.stringify(`${folder}/traces`)};`,
    'const { exampleNotes: notes, exampleModel: model } = globalThis as any;',
  ];
  const { ended } = await runExample(folder, 'example', example, given);
  assert.equal((ended as { status?: string } | undefined)?.status, 'completed');
  assert.deepEqual(notes, ['milk']);
});
