import { acceptArguments, NotDone, type Tool, type ToolCallContext } from '../../src/tools/index.ts';
import { blocksOf, runExample } from '../support/document-examples.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';

check('the example of docs/tools.md defines a tool that works, refuses and can be asked', async (t) => {
  const [example = ''] = blocksOf('docs/tools.md');
  const letters = [
    'const made = new Map();',
    'const letters = {',
    '  draft: async ({ customer }, { key }) => {',
    "    if (customer === 'nobody') return { kind: 'no_such_customer' };",
    "    made.set(key, { id: 'D-1' });",
    "    return { kind: 'made', id: 'D-1' };",
    '  },',
    '  find: async (key) => made.get(key),',
    '};',
  ];
  const { createDraft } = await runExample(await temporaryFolder(t), 'tools', example, letters);
  const made = createDraft as Tool;
  const call: ToolCallContext = {
    callId: 'c',
    idempotencyKey: 'k',
    principal: { tenant: 'local', subject: 'owner', roles: [] },
    runId: null,
    signal: new AbortController().signal,
    timeoutMs: made.timeoutMs,
    progress: () => undefined,
  };
  const input = { customer: 'A', text: 'Dear A', tone: 'warm' };
  assert.ok((await acceptArguments(made, JSON.stringify(input))).ok);
  assert.ok(!(await acceptArguments(made, JSON.stringify({ ...input, tone: 'cold' }))).ok);
  assert.equal(await made.needsApproval?.(input, call.principal), true);
  assert.deepEqual(await made.status?.(input, call), { state: 'not_happened' });
  assert.deepEqual(await made.execute(input, call), { draftId: 'D-1' });
  assert.deepEqual(await made.status?.(input, call), { state: 'happened', output: { draftId: 'D-1' } });
  await assert.rejects(made.execute({ ...input, customer: 'nobody' }, call), (error) => NotDone.is(error));
});
