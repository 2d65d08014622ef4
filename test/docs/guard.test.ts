import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPolicy } from '../../src/mcp/index.ts';
import { ROOT } from '../structure/repository-files.ts';
import type { TestContext } from 'node:test';
import { assert, check, holdfast, installedCommand, temporaryFolder } from '../support/index.ts';
import { commandsOf } from '../support/document-commands.ts';

check('the commands of docs/guard.md run as they stand, in order', async (t) => {
  const cwd = await temporaryFolder(t);
  mkdirSync(join(cwd, 'project'));
  const commands = commandsOf('docs/guard.md', 'holdfast');
  assert.equal(commands.length, 4);
  const server = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
  const [init = '', test = ''] = commands;
  // npx would ask a registry: the same server, as it is installed here.
  const words = init.replace('npx @modelcontextprotocol/server-filesystem', `${process.execPath} ${server}`).split(' ');
  const made = await holdfast(words.slice(1), { cwd });
  assert.equal(made.exit, 0, made.stderr);
  const policy = JSON.parse(readFileSync(join(cwd, 'holdfast.policy.json'), 'utf8')) as { server: string };
  assert.equal(policy.server, 'files');
  const call = /'(.*)'/.exec(test)?.[1] ?? '';
  const tested = await holdfast(['policy', 'test', call], { cwd });
  assert.equal(tested.exit, 3, tested.stderr);
});

/** A server over HTTP with one tool; gives its address. */
async function trackerServer(t: TestContext): Promise<string> {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'tracker', version: '1' },
    },
    'tools/list': { tools: [{ name: 'close_issue', inputSchema: { type: 'object' } }] },
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { id, method = '' } = (text === '' ? {} : JSON.parse(text)) as { id?: number; method?: string };
      const result = results[method];
      if (!result) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

check('the commands for a server behind an address run, on a server and a port of this machine', async (t) => {
  const cwd = await temporaryFolder(t);
  const url = await trackerServer(t);
  const here = (command: string): string[] =>
    command.replace('https://tracker.example/mcp', url).replace('--listen 8700', '--listen 0').split(' ').slice(1);
  const [, , init = '', listen = ''] = commandsOf('docs/guard.md', 'holdfast');
  const made = await holdfast(here(init), { cwd });
  assert.equal(made.exit, 0, made.stderr);
  const policy = JSON.parse(readFileSync(join(cwd, 'holdfast.policy.json'), 'utf8')) as { server: string };
  assert.equal(policy.server, 'tracker');
  const child = spawn(process.execPath, [installedCommand(), ...here(listen)], { cwd });
  t.after(() => void child.kill('SIGKILL'));
  const said = await new Promise<string>((ready) => {
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (/listening on \S+\n/.test(text)) ready(text);
    });
    child.once('exit', () => ready(`it ended: ${text}`));
  });
  assert.match(said, /listening on http:\/\/127\.0\.0\.1:\d+\/mcp/);
});

interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

/** The entries of the hosts' files in the document, whatever the host calls its list. */
function entries(): ReadonlyMap<string, Entry> {
  const text = readFileSync(join(ROOT, 'docs/guard.md'), 'utf8');
  const section = text.slice(
    text.indexOf('## Configuration files of hosts'),
    text.indexOf('## In front of an address'),
  );
  const found = new Map<string, Entry>();
  for (const [, json = ''] of section.matchAll(/```json\n([\s\S]*?)```/g)) {
    const [[name, list] = ['', {}]] = Object.entries(JSON.parse(json) as Record<string, Record<string, Entry>>);
    for (const entry of Object.values(list)) found.set(name, entry);
  }
  const toml = /```toml\n\[(\w+)\.files\]\ncommand = (".*")\nargs = (\[[\s\S]*?\])\n```/.exec(section);
  assert.ok(toml);
  const [, name = '', command = '', args = ''] = toml;
  found.set(name, { command: JSON.parse(command) as string, args: JSON.parse(args) as string[] });
  return found;
}

check('each host’s file starts the guard in front of its server, as its entry says', async (t) => {
  const home = await temporaryFolder(t);
  mkdirSync(join(home, 'project'));
  const policy = { version: 1, name: 'files', revision: '1', server: 'files' };
  writeFileSync(join(home, 'holdfast.policy.json'), JSON.stringify(policy));
  const all = entries();
  assert.deepEqual([...all.keys()], ['mcpServers', 'servers', 'context_servers', 'mcp_servers']);
  const installed: Record<string, string> = {
    holdfast: join(ROOT, 'bin/holdfast.js'),
    '@modelcontextprotocol/server-filesystem': join(
      ROOT,
      'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js',
    ),
  };
  for (const [name, { command, args }] of all) {
    assert.equal(command, 'npx');
    // npx would ask a registry: the same programs, as they are installed here.
    const here = args.map(
      (word) => installed[word] ?? (word === 'npx' ? process.execPath : word.replace('/path/', `${home}/`)),
    );
    const child = spawn(process.execPath, here, { stdio: ['pipe', 'pipe', 'ignore'], cwd: '/' });
    t.after(() => child.kill('SIGKILL'));
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    assert.match(line.toString(), /"serverInfo":\{"name":"secure-filesystem-server"/, name);
    child.stdin.end();
    await once(child, 'close');
  }
});

check('what the document shows of a tool that can be asked about is a policy', () => {
  const text = readFileSync(join(ROOT, 'docs/guard.md'), 'utf8');
  const section = text.slice(text.indexOf('### Asking what became of it'));
  const shown = JSON.parse(/```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '') as object;
  const policy = readPolicy(JSON.stringify({ version: 1, name: 'p', revision: '1', server: 's', ...shown }));
  assert.deepEqual([policy.settleTool, policy.tools.get('create_order')?.status?.tool], [true, 'find_order']);
});
