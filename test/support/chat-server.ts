import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the server saw. */
export interface SeenChat {
  readonly body: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
}

export type ChatAnswer =
  | { readonly chunks: readonly unknown[]; readonly done?: boolean; readonly cutAfter?: number }
  | { readonly status: number; readonly text: string }
  | 'hang';

export interface ChatServer {
  readonly url: string;
  readonly seen: SeenChat[];
  close(): Promise<void>;
}

/** A local server that speaks the streamed chat format of OpenAI: each request gets the next answer. */
export async function chatServer(answers: readonly ChatAnswer[]): Promise<ChatServer> {
  const seen: SeenChat[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ body, authorization: request.headers.authorization });
      reply(response, answers[seen.length - 1] ?? { status: 500, text: 'no more answers' });
    });
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString('utf8')) as Record<string, unknown>;
}

function reply(response: ServerResponse, answer: ChatAnswer): void {
  if (answer === 'hang') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    return;
  }
  if ('status' in answer) {
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(answer.text);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of answer.chunks.slice(0, answer.cutAfter)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  if (answer.cutAfter !== undefined) response.destroy();
  else response.end(answer.done === false ? '' : 'data: [DONE]\n\n');
}

/** One streamed chunk of a chat completion. */
export function chunk(delta: object, finish: string | null = null, usage?: object): unknown {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model: 'local',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...(usage === undefined ? {} : { usage }),
  };
}

/** The chunks of one tool call whose arguments come in the pieces given. */
export function toolCallChunks(index: number, id: string, name: string, pieces: readonly string[]): unknown[] {
  const call = { index, id, type: 'function', function: { name, arguments: pieces[0] ?? '' } };
  return [
    chunk({ role: 'assistant', tool_calls: [call] }),
    ...pieces.slice(1).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ];
}
