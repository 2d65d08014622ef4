import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CALLS,
  COMMAND,
  judge,
  type Kill,
  type KillReport,
  ledger,
  POLICY,
  reportOf,
  type Told,
  toldBy,
} from './guard-kills.ts';

/** A server over HTTP that takes a moment before and after each effect; `world` is what really happened. */
async function slowServer() {
  const world: number[] = [];
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    reach();
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { id, params } = JSON.parse(Buffer.concat(parts).toString()) as {
        id: number;
        params: { arguments: { k: number } };
      };
      const { k } = params.arguments;
      setTimeout(() => {
        world.push(k);
        const result = { content: [{ type: 'text', text: 'done' }] };
        setTimeout(
          () =>
            response
              .writeHead(200, { 'content-type': 'application/json' })
              .end(JSON.stringify({ jsonrpc: '2.0', id, result })),
          k * 5,
        );
      }, k * 7);
    });
  });
  server.on('error', () => undefined);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, world, server, reached };
}

async function startGuard(home: string, url: string): Promise<{ readonly child: ChildProcess; readonly at: string }> {
  const options = ['--policy', join(home, 'policy.json'), '--data-dir', join(home, 'data'), '--wait', '0'];
  const args = ['--disable-warning=ExperimentalWarning', COMMAND, 'mcp', ...options, '--url', url, '--listen', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  const at = await new Promise<string>((ready) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const found = /listening on (\S+)\n/.exec(said)?.[1];
      if (found !== undefined) ready(found);
    });
    child.once('exit', () => ready(''));
  });
  if (at === '') throw new Error(`the guard did not start: ${said}`);
  return { child, at };
}

/** What the host is told of call `k`; nothing where the connection ends before its answer. */
async function call(at: string, k: number, signal: AbortSignal): Promise<Told> {
  try {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: k,
      method: 'tools/call',
      params: { name: 'write', arguments: { k } },
    });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const answer = await fetch(at, { method: 'POST', headers, body, signal });
    return toldBy(((await answer.json()) as { result?: Record<string, unknown> }).result);
  } catch {
    return 'nothing';
  }
}

/**
 * As `killOnce`, over HTTP; the time counts from when the first call has reached the server. That one is of this process:
 * its connections are killed.
 */
export async function httpKillOnce(kill: Kill): Promise<KillReport> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-http-guard-kill-'));
  const { url, world, server, reached } = await slowServer();
  const children: ChildProcess[] = [];
  try {
    writeFileSync(join(home, 'policy.json'), JSON.stringify(POLICY));
    const { child, at } = await startGuard(home, url);
    children.push(child);
    const host = new AbortController();
    const calls = Promise.all(Array.from({ length: CALLS }, (_, k) => call(at, k, host.signal)));
    await reached;
    await pause(kill.afterMs);
    if (kill.victim === 'guard') child.kill('SIGKILL');
    else if (kill.victim === 'host') host.abort();
    else server.closeAllConnections();
    const first = await calls;
    // What the server has under way comes to its end before anything is repeated.
    await pause(200);
    const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
    child.kill('SIGTERM');
    await gone;
    const known = await ledger(home);
    const repeated = first.flatMap((told, k) => (known.done.has(k) || told === 'success' ? [] : [k]));
    const next = await startGuard(home, url);
    children.push(next.child);
    const never = new AbortController().signal;
    const told = await Promise.all(repeated.map(async (k) => [k, await call(next.at, k, never)] as const));
    return reportOf(first, judge(world, first, new Map(told), known.done));
  } finally {
    for (const child of children) child.kill('SIGKILL');
    server.closeAllConnections();
    server.close();
    rmSync(home, { recursive: true, force: true });
  }
}
