import { type ChildProcess, spawn } from 'node:child_process';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { fail, isJsonObject, LIMITS, plainJson } from '../core/index.ts';
import { endChild, watchChild } from './child-groups.ts';
import { LineReader } from './line-reader.ts';
import type { StdioServer } from './server-options.ts';
import { protocolBroken, readServerJson } from './strict-message.ts';

/**
 * A child process as a transport of the MCP client: exact environment, a process group of its own, bounded lines read
 * strictly, the end of its standard error kept. One line that is no message ends the connection: whatever else the
 * child says can then no longer be trusted to be an answer.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why the connection ended, where it was not closed by us. */
  failure: Error | null = null;
  readonly #server: StdioServer;
  #child: ChildProcess | null = null;
  #closed = false;
  #stderr: Buffer[] = [];
  #stderrBytes = 0;
  /** Messages that the child has not taken yet. */
  #unread = 0;

  constructor(server: StdioServer) {
    this.#server = server;
  }

  async start(): Promise<void> {
    const { command, args = [], env = pathOnly(), cwd } = this.#server;
    const child = spawn(command, [...args], {
      env: { ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    watchChild(child);
    const lines = new LineReader(
      LIMITS.mcpMessageBytes,
      (line) => this.#line(line),
      () => this.#broken(`a message of more than ${LIMITS.mcpMessageBytes} bytes`),
    );
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#keepStderr(chunk));
    child.stdin.on('error', () => this.#gone());
    child.on('close', () => this.#gone());
    await new Promise<void>((done, refuse) => {
      child.once('spawn', done);
      child.once('error', refuse);
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    // Whoever asks and reads no answer would have them all kept here.
    const owed = stdin?.writableLength ?? 0;
    if (owed > LIMITS.mcpMessageBytes || this.#unread >= LIMITS.mcpUnreadMessages)
      this.#broken('more than it reads answers to');
    if (this.#closed || stdin === undefined || stdin === null || !stdin.writable)
      throw fail('MCP_SERVER_GONE', 'The MCP server is not running.');
    const text = `${JSON.stringify(message)}\n`;
    this.#unread += 1;
    await new Promise<void>((done, refuse) => {
      stdin.write(text, (error) => (error ? refuse(error) : done()));
    }).finally(() => (this.#unread -= 1));
  }

  /** Ends the child and everything it started, at most three seconds later. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#end();
    if (child !== null) await endChild(child, LIMITS.mcpCloseMs);
  }

  /** What the server last wrote to its standard error, at most 64 KiB; for a person, not for a model. */
  stderrTail(): string {
    return Buffer.concat(this.#stderr).subarray(-LIMITS.mcpStderrBytes).toString('utf8');
  }

  #line(line: Buffer): void {
    if (this.#closed) return;
    try {
      const message = readServerJson(line);
      if (!isJsonObject(message) || message['jsonrpc'] !== '2.0') throw new Error('not a JSON-RPC message');
      this.onmessage?.(plainJson(message) as JSONRPCMessage);
    } catch {
      this.#broken('something that is no protocol message to its standard output');
    }
  }

  #broken(what: string): void {
    this.#fail(protocolBroken(`wrote ${what}`));
  }

  #gone(): void {
    const child = this.#child;
    const how = child?.signalCode ?? (child?.exitCode === null ? null : `exit code ${child?.exitCode}`);
    this.#fail(fail('MCP_SERVER_GONE', `The MCP server ended${how === null ? '' : ` (${how})`}.`));
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.failure = error;
    this.onerror?.(error);
    void this.close();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #keepStderr(chunk: Buffer): void {
    this.#stderr.push(chunk);
    this.#stderrBytes += chunk.byteLength;
    while (this.#stderrBytes - (this.#stderr[0]?.byteLength ?? 0) >= LIMITS.mcpStderrBytes)
      this.#stderrBytes -= this.#stderr.shift()?.byteLength ?? 0;
  }
}

function pathOnly(): Record<string, string> {
  const path = process.env['PATH'];
  return path === undefined ? {} : { PATH: path };
}
