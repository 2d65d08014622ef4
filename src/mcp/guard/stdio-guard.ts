import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { fail, LIMITS } from '../../core/index.ts';
import { endChild, watchChild } from '../child-groups.ts';
import { type Framed, LineFramer } from '../wire/line-framer.ts';
import type { GuardOptions } from './call-desk.ts';
import { Guard } from './guard.ts';

/** The host's side: what it writes comes in, what it is to read goes out. */
export interface HostStreams {
  readonly input: Readable;
  readonly output: Writable;
  readonly errors: Writable;
}

/** The server's command, started as the host would have started it: same environment, same folder, no shell. */
export interface GuardedServer {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export interface StdioGuard {
  /** Settles when both sides are done, with the server's exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>;
}

/**
 * Starts a server and stands between it and a host, over standard input and output. Nothing is held back and nothing is
 * rewritten but answers to calls whose outcome is not a success. Throws `MCP_CONNECT_FAILED`.
 */
export async function guardStdio(
  server: GuardedServer,
  host: HostStreams,
  options: Omit<GuardOptions, 'tell'>,
): Promise<StdioGuard> {
  const child = await start(server);
  const tell = (line: string): void => void host.errors.write(`holdfast: ${line}\n`);
  const toServer = writerTo(child.stdin as Writable, host.input);
  const toHost = writerTo(host.output, child.stdout as Readable);
  const guard = new Guard({ ...options, tell, wires: { toServer, toHost } });
  child.stderr?.pipe(host.errors, { end: false });
  const hostDone = pump(host.input, (framed) => {
    if (framed.kind === 'line') guard.hostLine(framed.bytes);
    else guard.oversized('host', framed.bytes, framed.last);
  });
  const serverDone = pump(child.stdout as Readable, (framed) => {
    if (framed.kind === 'line') guard.serverLine(framed.bytes);
    else guard.oversized('server', framed.bytes, framed.last);
  });
  guard.prepare();
  return { ended: untilEnded(child, guard, hostDone, serverDone) };
}

async function untilEnded(
  child: ChildProcess,
  guard: Guard,
  hostDone: Promise<void>,
  serverDone: Promise<void>,
): Promise<number | null> {
  const exited = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  void serverDone.then(() => guard.serverEnded());
  const first = await Promise.race([hostDone.then(() => 'host' as const), exited.then(() => 'server' as const)]);
  if (first === 'host') await guard.hostEnded();
  await endChild(child, LIMITS.mcpCloseMs);
  await guard.serverEnded();
  return exited;
}

async function start({ command, args, env = process.env, cwd }: GuardedServer): Promise<ChildProcess> {
  const child = spawn(command, [...args], {
    env: { ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
    ...(cwd === undefined ? {} : { cwd }),
  });
  watchChild(child);
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) => reject(fail('MCP_CONNECT_FAILED', 'The server could not be started.', { cause })));
  });
  // A server that is gone is told by its end, not by a write that failed.
  child.stdin?.on('error', () => undefined);
  return child;
}

/** Writes without holding more than the stream takes: while it is full, the other side is not read. */
function writerTo(into: Writable, source: Readable): (bytes: Uint8Array) => void {
  into.on('drain', () => source.resume());
  into.on('error', () => undefined);
  return (bytes) => {
    if (into.writable && !into.write(bytes)) source.pause();
  };
}

/** Settles when the stream has ended, however it ends. */
function pump(stream: Readable, take: (framed: Framed) => void): Promise<void> {
  const framer = new LineFramer();
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      for (const framed of framer.push(chunk)) take(framed);
    });
    const end = (): void => {
      for (const framed of framer.end()) take(framed);
      resolve();
    };
    stream.once('end', end);
    stream.once('error', () => resolve());
    stream.once('close', () => resolve());
    // Its host had gone before anybody listened.
    if (stream.destroyed) resolve();
  });
}
