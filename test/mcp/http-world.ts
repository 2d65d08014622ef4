import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runHttpGuard } from '../../src/app/index.ts';
import { temporaryFolder } from '../support/index.ts';
import { type Message, OPEN_POLICY } from './guard-world.ts';

/** A request as it reached the server. */
export interface Arrived {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Behaviour = (arrived: Arrived, response: ServerResponse, message: Message) => void;

export interface HttpWorld {
  readonly dataDir: string;
  readonly url: string;
  readonly arrived: readonly Arrived[];
  /** What the guard said to whoever looks after it. */
  readonly said: readonly string[];
  /** Sends a request with these very bytes; settles with the whole answer. */
  send(of: {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: string | Buffer;
  }): Promise<Reply>;
  /** The same, without waiting for the end of the answer. */
  open(of: { method?: string; headers?: Record<string, string>; body?: string }): Promise<IncomingMessage>;
  /** Calls a tool; settles with the message that answers it. */
  call(name: string, args?: object, id?: unknown, headers?: Record<string, string>): Promise<Message>;
  /** Sends a message; the function that it gives goes away without waiting for the answer. */
  leave(body: string): () => void;
  stopServer(): Promise<void>;
  /** Ends the guard, as a signal would. */
  close(): Promise<void>;
}

export const json = (response: ServerResponse, body: string, headers: Record<string, string> = {}): void =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);

export const result = (id: unknown, words: string, more: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: words }], ...more } });

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** A server over HTTP that behaves as told, and the guard in front of it. */
export async function httpWorld(
  t: TestContext,
  behave: Behaviour,
  options: { readonly policy?: object; readonly waitMs?: number; readonly path?: string } = {},
): Promise<HttpWorld> {
  const dataDir = join(await temporaryFolder(t), 'data');
  const [arrived, said]: [Arrived[], string[]] = [[], []];
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const body = Buffer.concat(parts).toString();
      const { method = '', url = '', headers } = incoming;
      const one = { method, url, headers, body };
      arrived.push(one);
      behave(one, response, method === 'POST' ? (JSON.parse(body) as Message) : {});
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stopServer = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const guard = await runHttpGuard({
    dataDir,
    policy: JSON.stringify(options.policy ?? OPEN_POLICY),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${options.path ?? '/mcp'}`,
    port: 0,
    tell: (line) => said.push(line),
    waitMs: options.waitMs ?? 100,
  });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= guard.close());
  t.after(async () => {
    await Promise.all([stopServer().catch(() => undefined), close()]);
  });
  const open: HttpWorld['open'] = (of) => begin(guard.url, of);
  const send: HttpWorld['send'] = async (of) => whole(await begin(guard.url, of));
  return {
    dataDir,
    url: guard.url,
    arrived,
    said,
    send,
    open,
    call: async (name, args = {}, id = 1, headers = {}) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
      return messageOf(await send({ headers, body }));
    },
    leave: (body) => {
      const sending = request(guard.url, { method: 'POST', headers: HEADERS });
      sending.on('error', () => undefined);
      sending.end(body);
      return () => void sending.destroy();
    },
    stopServer,
    close,
  };
}

function begin(
  url: string,
  of: { method?: string; path?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<IncomingMessage> {
  const target = new URL(url);
  return new Promise((resolve, reject) => {
    const headers = { ...HEADERS, ...of.headers };
    const { hostname, port, pathname } = target;
    const sending = request(
      { hostname, port, path: of.path ?? pathname, method: of.method ?? 'POST', headers },
      resolve,
    );
    sending.on('error', reject);
    sending.end(of.body);
  });
}

async function whole(incoming: IncomingMessage): Promise<Reply> {
  const parts: Buffer[] = [];
  for await (const part of incoming as AsyncIterable<Buffer>) parts.push(part);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(parts).toString() };
}

/** The last message of an answer, as a host reads it. */
export function messageOf(reply: Reply): Message {
  const events = reply.body.split(/\n\n/).flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? []);
  const text = reply.headers['content-type'] === 'text/event-stream' ? (events.at(-1) ?? '') : reply.body;
  return JSON.parse(text) as Message;
}
