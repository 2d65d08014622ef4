import { Client, type RequestOptions, SdkError, SdkErrorCode, type Tool } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { fail, HoldfastError, type JsonValue, LIMITS, redactText } from '../core/index.ts';
import { httpTransport } from './http-transport.ts';
import type { McpConnectOptions } from './server-options.ts';
import { StdioTransport } from './stdio-transport.ts';
import { readToolList, TOOL_PAGE, type ToolList } from './tool-list.ts';

const DEFAULT_CONNECT_MS = 20_000;

/**
 * A result as the protocol has it, without the SDK's defaults: an answer that says nothing must not read as a success.
 */
const CALL_RESULT = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  resultType: z.string().optional(),
});

/** A tool as a server lists it. Annotations are its own words about itself. */
export type ListedTool = Tool;

/** What a server answered to a call: the members of the protocol, none of them judged. */
export interface McpCallResult {
  readonly content: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError: boolean;
}

export interface McpCallRequest {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, JsonValue>>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onProgress: (done: number, total: number | undefined, text: string | undefined) => void;
}

/**
 * A connection to one MCP server. It is opened once and not opened again by itself: what was under way when it broke
 * is for the calls' outcomes to say.
 */
export interface McpConnection {
  readonly name: string;
  /** The server's own name and version, as it gave them. */
  readonly serverInfo: { readonly name: string; readonly version: string };
  readonly alive: boolean;
  /** The server's tools that are whole and have a name of their own: see `toolList` for the others. */
  listTools(): Promise<readonly ListedTool[]>;
  /** All that the server lists: its tools, and those of which one cannot say what they are, with the reason. */
  toolList(): Promise<ToolList>;
  callTool(request: McpCallRequest): Promise<McpCallResult>;
  /** The end of the child's standard error with known secrets struck out; empty over HTTP. */
  stderrTail(): string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens the connection of options that were checked: see `connectMcp`. */
export async function openConnection(options: McpConnectOptions): Promise<McpConnection> {
  const stdio = 'command' in options.server ? new StdioTransport(options.server) : null;
  const onBroken = (failure: HoldfastError): void => connection.end(failure);
  const transport = stdio ?? ('url' in options.server ? httpTransport(options.server, onBroken) : null);
  if (transport === null) throw fail('MCP_CONFIG_INVALID', "The MCP server's `server` must have a command or a url.");
  const client = new Client(
    { name: 'holdfast', version: '1' },
    {
      capabilities: {},
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode: options.protocol ?? 'legacy' },
    },
  );
  const connection = new Connection(options.name, client, stdio);
  try {
    const timeout = options.connectTimeoutMs ?? DEFAULT_CONNECT_MS;
    await within(client.connect(transport, { timeout, maxTotalTimeout: timeout }), timeout);
  } catch (cause) {
    const why = stdio?.failure instanceof HoldfastError ? ` ${stdio.failure.message}` : '';
    await connection.close();
    throw fail('MCP_CONNECT_FAILED', `The MCP server ${options.name} could not be reached.${why}`, { cause });
  }
  return connection;
}

/** The SDK bounds what it asks, and not what it only tells: a server may leave that unanswered for ever. */
async function within(connecting: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_done, refuse) => {
    timer = setTimeout(() => refuse(new Error('The greeting took too long.')), ms);
  });
  await Promise.race([connecting, late]).finally(() => clearTimeout(timer));
}

class Connection implements McpConnection {
  readonly name: string;
  readonly #client: Client;
  readonly #stdio: StdioTransport | null;
  #alive = true;
  #failure: HoldfastError | null = null;

  constructor(name: string, client: Client, stdio: StdioTransport | null) {
    this.name = name;
    this.#client = client;
    this.#stdio = stdio;
    client.onclose = () => {
      this.#alive = false;
    };
  }

  get alive(): boolean {
    return this.#alive;
  }

  get serverInfo(): { readonly name: string; readonly version: string } {
    const info = this.#client.getServerVersion();
    return { name: (info?.name ?? '').slice(0, 100), version: (info?.version ?? '').slice(0, 100) };
  }

  async listTools(): Promise<readonly ListedTool[]> {
    return (await this.toolList()).tools;
  }

  async toolList(): Promise<ToolList> {
    const entries: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < LIMITS.mcpListPages; page += 1) {
      const options = { timeout: LIMITS.mcpConnectMs, maxTotalTimeout: LIMITS.mcpConnectMs };
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#asked(() =>
        this.#client.request({ method: 'tools/list', params }, TOOL_PAGE, options),
      );
      entries.push(...result.tools);
      if (entries.length > LIMITS.mcpToolsOfServer)
        throw fail('MCP_TOOLS_INVALID', `${this.name} lists more than ${LIMITS.mcpToolsOfServer} tools.`);
      cursor = result.nextCursor;
      if (cursor === undefined) return readToolList(this.name, entries);
    }
    throw fail('MCP_TOOLS_INVALID', `The tools of ${this.name} fill more than ${LIMITS.mcpListPages} pages.`);
  }

  async callTool(request: McpCallRequest): Promise<McpCallResult> {
    const options: RequestOptions = {
      signal: request.signal,
      timeout: request.timeoutMs,
      maxTotalTimeout: request.timeoutMs,
      allowInputRequired: true,
      onprogress: ({ progress, total, message }) => request.onProgress(progress, total, message),
    };
    const params = {
      name: request.name,
      arguments: { ...request.arguments },
      ...(request.meta === undefined ? {} : { _meta: { ...request.meta } }),
    };
    const ask = () => this.#client.request({ method: 'tools/call', params }, CALL_RESULT, options);
    const { content, structuredContent, isError, resultType } = await this.#asked(ask);
    if (resultType === 'input_required')
      throw fail('MCP_INPUT_REQUIRED', `The tool ${request.name} of ${this.name} asks for more input.`);
    if (content === undefined && structuredContent === undefined)
      throw fail('MCP_CALL_FAILED', `${this.name} answered ${request.name} with nothing.`);
    return {
      content: content ?? [],
      isError: isError === true,
      ...(structuredContent === undefined ? {} : { structuredContent }),
    };
  }

  stderrTail(): string {
    return redactText(this.#stdio?.stderrTail() ?? '');
  }

  /** Ends a connection that can no longer be understood: what is under way fails with the reason. */
  end(failure: HoldfastError): void {
    this.#failure ??= failure;
    this.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#alive = false;
    try {
      await this.#client.close();
    } finally {
      await this.#stdio?.close();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #asked<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      throw this.#explained(cause);
    }
  }

  /** A failed request in our words. What the server said is bounded and kept apart, in the details. */
  #explained(cause: unknown): HoldfastError {
    const failure = this.#failure ?? this.#stdio?.failure;
    if (failure instanceof HoldfastError) {
      const { code, message } = failure;
      return fail(code, message, { cause });
    }
    const broken = brokenProtocol(cause);
    if (broken !== null) return broken;
    if (cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout)
      return fail('MCP_TIMEOUT', `The MCP server ${this.name} did not answer in time.`, { cause });
    if ((cause instanceof SdkError && GONE.has(cause.code)) || isLostRequest(cause))
      return fail('MCP_SERVER_GONE', `The connection to the MCP server ${this.name} was lost.`, { cause });
    const said = cause instanceof Error ? cause.message.slice(0, LIMITS.mcpErrorCodePoints).toWellFormed() : '';
    return fail('MCP_CALL_FAILED', `The MCP server ${this.name} did not complete the request.`, {
      cause,
      details: { said: redactText(said) },
    });
  }
}

const GONE: ReadonlySet<unknown> = new Set([
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.NotConnected,
  SdkErrorCode.SendFailed,
]);

/** A request over HTTP that found no server, or lost its connection; one that was refused has its own words. */
function isLostRequest(error: unknown): boolean {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return false;
  return 'code' in error.cause && typeof error.cause.code === 'string';
}

/** Our own error, where the SDK or the stream wrapped it. */
function brokenProtocol(error: unknown): HoldfastError | null {
  for (let at = error, i = 0; i < 4 && at instanceof Error; at = at.cause, i += 1)
    if (at instanceof HoldfastError) return at;
  return null;
}
