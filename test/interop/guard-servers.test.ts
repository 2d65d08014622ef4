import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runHttpGuard } from '../../src/app/index.ts';
import { connectMcp, type McpConnection } from '../../src/mcp/index.ts';
import { assert, check, temporaryFolder } from '../support/index.ts';
import { everythingOverHttp, program } from './reference-servers.ts';

const COMMAND = join(import.meta.dirname, '..', '..', 'bin', 'holdfast.js');

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
