import { assert, check, configuredFolder } from '../support/index.ts';

const READS = `
  const tools = [tool({
    name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, effect: 'read', execute: () => 'seen',
  })];
  const model = ({ messages }) => {
    const said = messages.filter(({ role }) => role === 'assistant').length;
    return said < 5 ? { calls: [{ callId: 'look-' + said, toolName: 'look', arguments: { at: said } }] } : 'All seen.';
  };
`;

check('runs show has the newest calls, and says the command for the older ones, which it then shows', async (t) => {
  const { json, holdfast } = await configuredFolder(t, READS);
  const { document } = await json('run', 'Look around.');
  const run = String(document['run_id']);
  const idsOf = (shown: Record<string, unknown>) =>
    (shown['calls'] as readonly { readonly call_id: string }[]).map(({ call_id: id }) => id);
  assert.deepEqual(idsOf((await json('runs', 'show', run)).document).length, 5);
  const { stdout } = await holdfast('runs', 'show', run, '--limit', '2');
  const older = /older calls: holdfast (runs show \S+ --before \d+)/.exec(stdout)?.[1]?.split(' ');
  assert.ok(older, stdout);
  assert.match(stdout, /of 5 calls, 5 reported as done/);
  assert.match(stdout, /All seen\./);
  const newest = await json('runs', 'show', run, '--limit', '2');
  assert.deepEqual([newest.exit, idsOf(newest.document)], [0, ['look-3', 'look-4']]);
  const page = await json(...older, '--limit', '2');
  assert.deepEqual(idsOf(page.document), ['look-1', 'look-2']);
  const first = await json('runs', 'show', run, '--before', String(page.document['calls_next']));
  assert.deepEqual([idsOf(first.document), first.document['calls_next']], [['look-0'], null]);
  assert.equal((await json('runs', 'show', run, '--before', 'x')).document.error?.code, 'INVALID_VALUE');
});
