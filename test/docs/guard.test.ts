import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../structure/repository-files.ts';
import type { TestContext } from 'node:test';
import { assert, check, holdfast, temporaryFolder } from '../support/index.ts';
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
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'holdfast.js'), ...here(listen)], { cwd });
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
