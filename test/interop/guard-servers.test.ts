import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Holdfast, runHttpGuard } from '../../src/app/index.ts';
import { verifyRun } from '../../src/effects/index.ts';
import { connectMcp, type McpConnection, POLICY_PRESETS, startingPolicy } from '../../src/mcp/index.ts';
import { assert, check, installedCommand, temporaryFolder } from '../support/index.ts';
import { everythingOverHttp, program } from './reference-servers.ts';

const COMMAND = installedCommand();

const policyOf = (name: string, reads: readonly string[], writes: readonly string[]): string =>
  JSON.stringify({
    version: 1,
    name,
    revision: '1',
    server: name,
    tools: Object.fromEntries(reads.map((one) => [one, { effect: 'read' }])),
    rules: [{ id: 'pass', tools: [...reads, ...writes], decision: 'allow' }],
  });

/** The official client, before the guard, before a reference server. */
async function throughGuard(
  home: string,
  policy: string,
  server: readonly string[],
  env: Record<string, string> = {},
): Promise<McpConnection> {
  const file = join(home, 'policy.json');
  writeFileSync(file, policy);
  const guard = [COMMAND, 'mcp', '--policy', file, '--data-dir', join(home, 'data'), '--wait', '0', '--'];
  const args = [...guard, process.execPath, ...server];
  return connectMcp({ name: 'guarded', server: { command: process.execPath, args, env: { ...env, PATH: '' } } });
}

const textOf = (result: { readonly content?: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text }) => text ?? '').join('\n');

const seconds = 20_000;
const asked = (name: string, args: Record<string, unknown>, onProgress: () => void = () => undefined) => ({
  name,
  arguments: args,
  timeoutMs: seconds,
  signal: new AbortController().signal,
  onProgress,
});

check('the memory server behind the guard: what is allowed is kept, what is not waits', async (t) => {
  const home = await temporaryFolder(t);
  const file = join(home, 'memory.jsonl');
  const policy = policyOf('memory', ['read_graph'], ['create_entities']);
  const client = await throughGuard(home, policy, [program('server-memory')], { MEMORY_FILE_PATH: file });
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  const made = await client.callTool(asked('create_entities', { entities }));
  assert.notEqual(made.isError, true);
  const graph = await client.callTool(asked('read_graph', {}));
  assert.match(JSON.stringify(graph.structuredContent), /"Ada"/);
  const held = await client.callTool(asked('delete_entities', { entityNames: ['Ada'] }));
  assert.equal(held.isError, true);
  assert.match(textOf(held), /^NOT STARTED .*holdfast approvals approve/);
  assert.match(readFileSync(file, 'utf8'), /Ada/);
  await client.close();
});

check('the filesystem server behind the guard, by its preset: what it reports is read back', async (t) => {
  const home = await temporaryFolder(t);
  const root = join(home, 'project');
  mkdirSync(root);
  const bare = await connectMcp({
    name: 'bare',
    server: { command: process.execPath, args: [program('server-filesystem'), root] },
  });
  const listed = (await bare.listTools()).map(({ name }) => ({ name }));
  await bare.close();
  const made = startingPolicy({ server: 'files', listed, preset: 'filesystem', rootPath: root });
  const described = Object.keys(POLICY_PRESETS['filesystem']?.tools ?? {});
  for (const name of described)
    assert.ok(
      listed.some((one) => one.name === name),
      `the server has ${name}`,
    );
  const allowed = { id: 'writes', tools: described, decision: 'allow' };
  const policy = JSON.stringify({ ...made, rules: [...(made['rules'] as object[]), allowed] });
  const client = await throughGuard(home, policy, [program('server-filesystem'), root]);
  const at = (name: string): string => join(root, name);
  const done = async (name: string, args: Record<string, unknown>): Promise<void> =>
    assert.notEqual((await client.callTool(asked(name, args))).isError, true, name);
  await done('write_file', { path: at('a.txt'), content: 'héllo\r\n' });
  await done('edit_file', { path: at('a.txt'), edits: [{ oldText: 'héllo', newText: 'hello' }] });
  await done('create_directory', { path: at('dir') });
  await done('move_file', { source: at('a.txt'), destination: at('dir/b.txt') });
  const out = await client.callTool(asked('write_file', { path: join(home, 'out.txt'), content: 'x' }));
  assert.match(textOf(out), /^NOT STARTED .*RESOURCE_OUTSIDE_ROOT/);
  assert.match(textOf(await client.callTool(asked('read_text_file', { path: at('dir/b.txt') }))), /^hello/);
  await client.close();
  const holdfast = await Holdfast.open({ dataDir: join(home, 'data') });
  t.after(() => holdfast.close());
  const { runs, principal, store } = holdfast.runtime;
  const [run] = (await runs.list(principal, { limit: 1 })).items;
  const of = { tenantId: principal.tenant, runId: run?.runId ?? '' };
  const found = await store.read('test', (tx) => verifyRun(tx, { tenantId: of.tenantId, subjectId: 'owner' }, of));
  assert.deepEqual(
    found.effects.map((one) => [one.claim.operation.tool, one.atCompletion.verdict]),
    ['write_file', 'edit_file', 'create_directory', 'move_file'].map((name) => [`files__${name}`, 'verified']),
  );
});

check('the official client takes the guard’s own tool as a tool like any other', async (t) => {
  const policy = JSON.stringify({ ...JSON.parse(policyOf('memory', ['read_graph'], [])), settle_tool: true });
  const client = await throughGuard(await temporaryFolder(t), policy, [program('server-memory')]);
  const listed = await client.listTools();
  const own = listed.find(({ name }) => name === 'holdfast_settle');
  assert.equal(own?.annotations?.readOnlyHint, true);
  assert.ok(listed.length > 5, 'and the server’s own stand beside it');
  const told = await client.callTool(asked('holdfast_settle', { status_ref: `status_${'0'.repeat(32)}` }));
  assert.equal(told.isError, true);
  assert.match(textOf(told), /^NOT ANSWERED: .*OPERATION_NOT_FOUND/);
  await client.close();
});

async function everything(client: McpConnection): Promise<void> {
  assert.match(textOf(await client.callTool(asked('echo', { message: 'hello' }))), /hello/);
  const structured = await client.callTool(asked('get-structured-content', { location: 'Chicago' }));
  assert.ok('temperature' in (structured.structuredContent as object));
  assert.match(textOf(await client.callTool(asked('get-sum', { a: 2, b: 3 }))), /5/);
  const picture = await client.callTool(asked('get-tiny-image', {}));
  assert.ok((picture.content as { type: string; data?: string }[]).some((one) => one.type === 'image' && one.data));
  let progressed = 0;
  const slow = asked('trigger-long-running-operation', { duration: 0.2, steps: 2 }, () => (progressed += 1));
  const long = await client.callTool(slow);
  assert.ok(progressed >= 1, 'progress passes');
  assert.match(textOf(long), /completed/i);
}

const READS = ['echo', 'get-structured-content', 'get-tiny-image'];
const WRITES = ['get-sum', 'trigger-long-running-operation'];

check('the everything server behind the guard, over standard input and output', async (t) => {
  const policy = policyOf('everything', READS, WRITES);
  const client = await throughGuard(await temporaryFolder(t), policy, [program('server-everything'), 'stdio']);
  await everything(client);
  await client.close();
});

check('the everything server behind the guard, over HTTP', async (t) => {
  const server = await everythingOverHttp();
  const guard = await runHttpGuard({
    dataDir: join(await temporaryFolder(t), 'data'),
    policy: policyOf('everything', READS, WRITES),
    url: server.url,
    port: 0,
    tell: () => undefined,
  });
  try {
    const client = await connectMcp({ name: 'guarded', server: { url: guard.url } });
    await everything(client);
    await client.close();
  } finally {
    await server.close();
    await guard.close();
  }
});
