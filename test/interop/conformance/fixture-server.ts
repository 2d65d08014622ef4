// A server that has what the conformance suite asks for. Started as a program it speaks in lines.
import { createInterface } from 'node:readline';
import { BLOB, type Client, FIXTURE_TOOLS, IMAGE } from './fixture-tools.ts';
import type { Message, OpenPeer, Peer } from './http-front.ts';

const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
};

const text = (words: string): object => ({ type: 'text', text: words });
const resource = (uri: string, more: object) => ({ uri, ...more });
const user = (content: object): object => ({ role: 'user', content });

const PROMPTS: Readonly<
  Record<string, { args: readonly string[]; messages: (args: Record<string, string>) => object[] }>
> = {
  test_simple_prompt: { args: [], messages: () => [user(text('This is a simple prompt for testing.'))] },
  test_prompt_with_arguments: {
    args: ['arg1', 'arg2'],
    messages: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  },
  test_prompt_with_embedded_resource: {
    args: ['resourceUri'],
    messages: ({ resourceUri = '' }) => [
      user({
        type: 'resource',
        resource: resource(resourceUri, { mimeType: 'text/plain', text: 'Embedded resource content for testing.' }),
      }),
      user(text('Please process the embedded resource above.')),
    ],
  },
  test_prompt_with_image: {
    args: [],
    messages: () => [user(IMAGE), user(text('Please analyze the image above.'))],
  },
};

const RESOURCES = [
  { uri: 'test://static-text', name: 'Static text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'Static binary', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'Watched', mimeType: 'text/plain' },
];

function read(uri: string): Record<string, unknown> {
  if (uri === 'test://static-binary') return resource(uri, { mimeType: 'image/png', blob: BLOB });
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined)
    return resource(uri, {
      mimeType: 'application/json',
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    });
  return resource(uri, { mimeType: 'text/plain', text: 'This is the content of the static text resource.' });
}

type Params = Record<string, unknown>;

const ANSWERS: Readonly<Record<string, (params: Params) => Record<string, unknown>>> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: CAPABILITIES,
    serverInfo: { name: 'conformance-fixture', version: '1.0.0' },
  }),
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'completion/complete': () => ({ completion: { values: ['one', 'two'], total: 2, hasMore: false } }),
  'tools/list': () => ({
    tools: Object.entries(FIXTURE_TOOLS).map(([name, { description, inputSchema }]) => ({
      name,
      description,
      inputSchema,
    })),
  }),
  'resources/list': () => ({ resources: RESOURCES }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'Template', mimeType: 'application/json' }],
  }),
  'resources/read': ({ uri }) => ({ contents: [read(String(uri))] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'prompts/list': () => ({
    prompts: Object.entries(PROMPTS).map(([name, { args }]) => ({
      name,
      description: name,
      arguments: args.map((arg) => ({ name: arg, required: true })),
    })),
  }),
  'prompts/get': ({ name, arguments: args }) => ({
    messages: PROMPTS[String(name)]?.messages((args ?? {}) as Record<string, string>) ?? [],
  }),
};

/** One session of the fixture. */
export const openFixture: OpenPeer = (send, closeStream): Peer => {
  const waiting = new Map<string, (result: Record<string, unknown>) => void>();
  let asked = 0;

  const clientOf = (related: unknown): Client => ({
    notify: (method, params) => send({ jsonrpc: '2.0', method, params }, related),
    request: (method, params) =>
      new Promise((resolve) => {
        asked += 1;
        const id = `ask-${asked}`;
        waiting.set(id, resolve);
        send({ jsonrpc: '2.0', id, method, params }, related);
      }),
    closeStream: () => closeStream(related),
  });

  const answer = async ({ id, method = '', params = {} }: Message): Promise<void> => {
    const give = (part: Record<string, unknown>): void => send({ jsonrpc: '2.0', id, ...part });
    const tool = method === 'tools/call' ? FIXTURE_TOOLS[String(params['name'])] : undefined;
    if (tool) {
      const { progressToken } = (params['_meta'] ?? {}) as { progressToken?: string };
      return give({
        result: await tool.run({
          arguments: (params['arguments'] ?? {}) as Params,
          progressToken,
          client: clientOf(id),
        }),
      });
    }
    const known = method === 'tools/call' ? undefined : ANSWERS[method];
    if (known) return give({ result: known(params) });
    const code = method === 'tools/call' ? -32602 : -32601;
    give({ error: { code, message: `Unknown ${method}` } });
  };

  return {
    take: (message) => {
      if (message.method === undefined) {
        const { id, result } = message;
        waiting.get(String(id))?.((result ?? {}) as Record<string, unknown>);
        waiting.delete(String(id));
      } else if (message.id !== undefined) void answer(message);
    },
    close: () => Promise.resolve(),
  };
};

if (process.argv[1] === import.meta.filename) {
  const peer = openFixture(
    (message) => void process.stdout.write(`${JSON.stringify(message)}\n`),
    () => undefined,
  );
  createInterface({ input: process.stdin }).on('line', (line) => peer.take(JSON.parse(line) as Message));
}
