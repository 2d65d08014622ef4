import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly [key: string]: unknown;
}

/** A server behind the front, for one session. */
export interface Peer {
  take(message: Message): void;
  /** Settles when nothing of it is left. */
  close(): Promise<void>;
}

/** `related`: the request of the client to which a message belongs, where the server says it. */
export type OpenPeer = (
  send: (message: Message, related?: unknown) => void,
  closeStream: (related: unknown) => void,
) => Peer;

/** Streams of events of one session; each can be read again after any of its events. */
class Session {
  readonly peer: Peer;
  readonly #live = new Map<string, ServerResponse>();
  readonly #events: { readonly stream: string; readonly text: string }[] = [];

  constructor(open: OpenPeer) {
    this.peer = open(
      (message, related) => this.#route(message, related),
      (related) => this.#live.get(JSON.stringify(related))?.end(),
    );
  }

  /** Opens the stream of a request; the first event has an id and nothing in it, so that it can be taken up again. */
  listen(stream: string, response: ServerResponse): void {
    this.#live.set(stream, response);
    this.#write(stream, 'retry: 100\ndata: \n\n');
  }

  resume(after: number, response: ServerResponse): void {
    const stream = this.#events[after]?.stream ?? '';
    this.#live.set(stream, response);
    for (const [id, event] of this.#events.entries())
      if (id > after && event.stream === stream) response.write(`id: ${id}\n${event.text}`);
  }

  async close(): Promise<void> {
    for (const response of this.#live.values()) response.end();
    await this.peer.close();
  }

  #route(message: Message, related: unknown): void {
    const isAnswer = message.method === undefined;
    const open = [...this.#live.keys()];
    const stream = isAnswer
      ? JSON.stringify(message.id)
      : related === undefined
        ? open.at(-1)
        : JSON.stringify(related);
    if (stream === undefined) return;
    this.#write(stream, `event: message\ndata: ${JSON.stringify(message)}\n\n`);
    if (!isAnswer) return;
    this.#live.get(stream)?.end();
    this.#live.delete(stream);
  }

  #write(stream: string, text: string): void {
    this.#events.push({ stream, text });
    this.#live.get(stream)?.write(`id: ${this.#events.length - 1}\n${text}`);
  }
}

const LOCAL = /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1)(?::\d+)?$/;
const EVENTS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

/** Speaks streamable HTTP for servers that know only messages. */
export async function httpFront(open: OpenPeer): Promise<Front> {
  const sessions = new Map<string, Session>();
  const server = createServer((request, response) => {
    void serve(request, response, sessions, open).catch(() => response.writeHead(400).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await Promise.all([...sessions.values()].map((session) => session.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Map<string, Session>,
  open: OpenPeer,
): Promise<void> {
  const { host = '', origin, 'mcp-session-id': id = '', 'last-event-id': last } = request.headers;
  if (!LOCAL.test(host) || (origin !== undefined && !LOCAL.test(origin))) return void response.writeHead(403).end();
  const session = sessions.get(String(id));
  if (request.method === 'POST') return post(request, response, { sessions, open, session });
  if (!session) return void response.writeHead(404).end();
  if (request.method === 'DELETE') {
    sessions.delete(String(id));
    await session.close();
    return void response.writeHead(200).end();
  }
  response.writeHead(200, { ...EVENTS, 'mcp-session-id': String(id) }).flushHeaders();
  if (last !== undefined) session.resume(Number(last), response);
}

/** The suite opens a session for each scenario and ends none: what is older than these is over. */
const MOST_SESSIONS = 6;
let opened = 0;

async function closeOldest(sessions: Map<string, Session>): Promise<void> {
  const [oldest] = sessions.size > MOST_SESSIONS ? sessions : [];
  if (!oldest) return;
  sessions.delete(oldest[0]);
  await oldest[1].close();
}

async function post(
  request: IncomingMessage,
  response: ServerResponse,
  of: { readonly sessions: Map<string, Session>; readonly open: OpenPeer; readonly session: Session | undefined },
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const message = JSON.parse(Buffer.concat(parts).toString()) as Message;
  let [session, id] = [of.session, String(request.headers['mcp-session-id'])];
  if (message.method === 'initialize') {
    session = new Session(of.open);
    opened += 1;
    id = `session-${opened}`;
    of.sessions.set(id, session);
    await closeOldest(of.sessions);
  }
  if (!session) return void response.writeHead(404).end();
  if (message.method === undefined || message.id === undefined) {
    session.peer.take(message);
    return void response.writeHead(202).end();
  }
  response.writeHead(200, { ...EVENTS, 'mcp-session-id': id });
  session.listen(JSON.stringify(message.id), response);
  session.peer.take(message);
}

/** The bridge: each session starts the command, and speaks to it in lines. */
export function bridgeTo(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): OpenPeer {
  return (send) => {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => send(JSON.parse(line) as Message));
    return {
      take: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
      close: () => endOf(child),
    };
  };
}

const END_MS = 10_000;

/** Ends a child by the end of its input, or by force. */
async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
  child.stdin?.end();
  await once(child, 'exit');
  clearTimeout(late);
}
