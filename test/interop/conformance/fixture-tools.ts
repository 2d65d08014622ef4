/** How a tool of the fixture reaches its client while it runs. */
export interface Client {
  notify(method: string, params: Record<string, unknown>): void;
  request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Closes the stream of this call before its answer; nothing where lines are spoken. */
  closeStream(): void;
}

export interface Call {
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly progressToken: string | number | undefined;
  readonly client: Client;
}

type Content = readonly Readonly<Record<string, unknown>>[];

export interface FixtureTool {
  readonly description: string;
  readonly inputSchema: object;
  run(call: Call): Promise<{ readonly content: Content; readonly isError?: boolean }>;
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
export const IMAGE = { type: 'image', data: PNG, mimeType: 'image/png' };
export const BLOB = PNG;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const text = (words: string): { type: string; text: string } => ({ type: 'text', text: words });
const NOTHING = { type: 'object', properties: {} };
const one = (name: string): object => ({
  type: 'object',
  properties: { [name]: { type: 'string' } },
  required: [name],
});

function plain(description: string, ...content: Content): FixtureTool {
  return { description, inputSchema: NOTHING, run: () => Promise.resolve({ content }) };
}

const embedded = (uri: string, mimeType: string, words: string): Record<string, unknown> => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
});

function asking(description: string, properties: object): FixtureTool {
  return {
    description,
    inputSchema: NOTHING,
    run: async ({ client }) => {
      const requestedSchema = { type: 'object', properties, required: [] };
      const said = await client.request('elicitation/create', { message: 'Please fill in', requestedSchema });
      const { action, content } = said;
      return { content: [text(`Elicitation completed: action=${String(action)}, content=${JSON.stringify(content)}`)] };
    },
  };
}

const titled = (...names: string[]): object[] => names.map((name) => ({ const: name, title: `The ${name}` }));
const OPTIONS = ['option1', 'option2', 'option3'];
const VALUES = ['value1', 'value2', 'value3'];

/** The tools that the conformance suite calls, as their descriptions in the suite ask for. */
export const FIXTURE_TOOLS: Readonly<Record<string, FixtureTool>> = {
  test_simple_text: plain('Simple text', text('This is a simple text response for testing.')),
  test_image_content: plain('A picture', IMAGE),
  test_audio_content: plain('A sound', { type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: plain(
    'A resource',
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  test_multiple_content_types: plain(
    'Several kinds',
    text('Multiple content types test:'),
    IMAGE,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  test_tool_with_logging: {
    description: 'Logs while it runs',
    inputSchema: NOTHING,
    run: async ({ client }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        client.notify('notifications/message', { level: 'info', data });
        await pause(50);
      }
      return { content: [text('Logged three times')] };
    },
  },
  test_error_handling: {
    description: 'Always an error',
    inputSchema: NOTHING,
    run: () =>
      Promise.resolve({ content: [text('This tool intentionally returns an error for testing')], isError: true }),
  },
  test_tool_with_progress: {
    description: 'Tells how far it is',
    inputSchema: NOTHING,
    run: async ({ client, progressToken }) => {
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          client.notify('notifications/progress', { progressToken, progress, total: 100 });
        await pause(50);
      }
      return { content: [text('Progressed')] };
    },
  },
  test_sampling: {
    description: 'Asks the model of its client',
    inputSchema: one('prompt'),
    run: async ({ arguments: { prompt }, client }) => {
      const messages = [{ role: 'user', content: text(String(prompt)) }];
      const { content } = await client.request('sampling/createMessage', { messages, maxTokens: 100 });
      return { content: [text(`LLM response: ${String((content as { text?: string } | undefined)?.text)}`)] };
    },
  },
  test_elicitation: {
    description: 'Asks the user of its client',
    inputSchema: one('message'),
    run: async ({ arguments: { message }, client }) => {
      const properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      const requestedSchema = { type: 'object', properties, required: ['username', 'email'] };
      const { action, content } = await client.request('elicitation/create', { message, requestedSchema });
      return { content: [text(`User response: action: ${String(action)}, content: ${JSON.stringify(content)}`)] };
    },
  },
  test_elicitation_sep1034_defaults: asking('Defaults of every kind', {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  }),
  test_elicitation_sep1330_enums: asking('Choices of every kind', {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: titled(...VALUES) },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['Option One', 'Option Two'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: titled(...VALUES) } },
  }),
  test_reconnection: {
    description: 'Closes its stream before it answers',
    inputSchema: NOTHING,
    run: async ({ client }) => {
      client.closeStream();
      await pause(100);
      return { content: [text('Answered after the stream was closed')] };
    },
  },
  json_schema_2020_12_tool: {
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: ({ arguments: args }) => Promise.resolve({ content: [text(JSON.stringify(args))] }),
  },
};
