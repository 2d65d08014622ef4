import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Model, type ModelReply, parseTranscript } from '../../src/models/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the examples of docs/models.md run as they stand', async (t) => {
  const folder = await temporaryFolder(t);
  const [plain = '', provider = ''] = blocksOf('docs/models.md');
  const { reply } = await runExample(folder, 'plain', plain);
  assert.deepEqual(
    (reply as ModelReply).calls.map((call) => call.argumentsText),
    ['{"ref":"A-1"}'],
  );
  const { model } = await runExample(folder, 'provider', provider);
  assert.equal((model as Model).id, 'local.chat:small-model');
});

check('the transcript of docs/models.md is one that is read', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'models.md'), 'utf8');
  const transcript = parseTranscript(/^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '');
  assert.deepEqual([transcript.turns.length, transcript.turns[1]?.expect.messages], [2, 3]);
});
