import { fail, LIMITS } from '../core/index.ts';

/** A server that is started as a child process and speaks over its standard input and output. */
export interface StdioServer {
  readonly command: string;
  readonly args?: readonly string[];
  /**
   * The whole environment of the child. Nothing else is handed down; without this it gets `PATH` alone, so that its
   * command is found and no secret of this process reaches it.
   */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server behind an address, spoken to by streamable HTTP. */
export interface HttpServer {
  readonly url: string;
  /** Sent with each request to this address, and to no other: redirects are refused. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface McpConnectOptions {
  /** Names the server in tool names, effects and messages: a letter, then letters, digits, `_` or `-`; at most 32. */
  readonly name: string;
  readonly server: StdioServer | HttpServer;
  /** `legacy` (default) begins with `initialize`; `auto` asks first whether the server speaks 2026-07-28. */
  readonly protocol?: 'legacy' | 'auto';
  /** For starting and greeting. Default 20 seconds, at most 60. */
  readonly connectTimeoutMs?: number;
}

function wrong(field: string, rule: string): Error {
  return fail('MCP_CONFIG_INVALID', `The MCP server's \`${field}\` ${rule}.`, { details: { field } });
}

/** An object that is no list. */
export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Throws `MCP_CONFIG_INVALID` at the first option that is not as declared. */
export function checkConnectOptions(options: McpConnectOptions): void {
  if (!isObject(options)) throw wrong('options', 'must be an object');
  if (typeof options.name !== 'string' || !/^[A-Za-z][A-Za-z0-9_-]{0,31}$/.test(options.name))
    throw wrong('name', 'must be 1 to 32 letters, digits, `_` or `-`, a letter first');
  const { connectTimeoutMs: ms, server, protocol } = options;
  if (ms !== undefined && (!Number.isSafeInteger(ms) || ms < 1 || ms > LIMITS.mcpConnectMs))
    throw wrong('connectTimeoutMs', `must be a whole number from 1 to ${LIMITS.mcpConnectMs}`);
  if (protocol !== undefined && protocol !== 'legacy' && protocol !== 'auto')
    throw wrong('protocol', 'must be `legacy` or `auto`');
  if (!isObject(server)) throw wrong('server', 'must have a command or a url');
  if ('command' in server) checkStdio(server);
  else checkHttp(server);
}

function checkStdio(server: StdioServer): void {
  const { args = [], env = {}, cwd } = server;
  if (!Array.isArray(args)) throw wrong('args', 'must be a list');
  if (!isObject(env)) throw wrong('env', 'must be an object');
  if (cwd !== undefined && (typeof cwd !== 'string' || cwd.includes('\0'))) throw wrong('cwd', 'must be text');
  const texts: readonly unknown[] = [server.command, ...args];
  if (texts.length > LIMITS.mcpSpawnArguments) throw wrong('args', `must be at most ${LIMITS.mcpSpawnArguments}`);
  if (!texts.every((text) => typeof text === 'string' && !text.includes('\0')) || server.command === '')
    throw wrong('command', 'and `args` must be texts');
  for (const [name, value] of Object.entries(env))
    if (typeof value !== 'string' || /[=\0]/.test(name) || value.includes('\0')) throw wrong('env', 'must hold texts');
}

function checkHttp(server: HttpServer): void {
  const { headers = {} } = server;
  if (!isObject(headers) || !Object.values(headers).every((value) => typeof value === 'string'))
    throw wrong('headers', 'must be an object of texts');
  const url = URL.canParse(server.url) ? new URL(server.url) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw wrong('url', 'must be an http or https address');
  if (url.username !== '' || url.password !== '') throw wrong('url', 'must not carry a password; use `headers`');
}
