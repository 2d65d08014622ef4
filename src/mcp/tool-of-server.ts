import type { StandardSchemaV1 } from '@standard-schema/spec';
import { canonicalJson, fail, JSON_PROFILES, LIMITS, asJsonValue, redactText, sha256Hex } from '../core/index.ts';
import {
  compileSchema,
  type JsonSchemaObject,
  NotDone,
  type Tool,
  tool,
  type ToolCallContext,
} from '../tools/index.ts';
import type { ListedTool, McpCallResult, McpConnection } from './connection.ts';
import type { McpToolPolicy } from './policy.ts';
import { localToolName } from './tool-names.ts';
import { IDEMPOTENCY_META_KEY } from './wire/message.ts';

const UNDECLARED: McpToolPolicy = { effect: 'once', needsApproval: true, revision: 'undeclared' };

/** One tool of a server under a policy. Throws `TOOL_INVALID` or `TOOL_SCHEMA_INVALID` when it cannot be offered. */
export function toolOfServer(connection: McpConnection, listed: ListedTool, policy: McpToolPolicy = UNDECLARED): Tool {
  const { onToolError = 'unknown', revision = 'v1', ...declared } = policy;
  const inputSchema = listed.inputSchema as JsonSchemaObject;
  const outputSchema = listed.outputSchema === undefined ? null : structuredOutput(listed.outputSchema);
  return tool({
    resources: () => [ownTarget(connection.name, listed.name)],
    ...declared,
    name: localToolName(connection.name, listed.name),
    description: (listed.description ?? listed.title ?? '').slice(0, LIMITS.toolDescriptionCodePoints).toWellFormed(),
    inputSchema,
    ...(outputSchema === null ? {} : { outputSchema }),
    producer: connection.name,
    revisions: {
      inputSchema: schemaRevision(inputSchema),
      outputSchema: schemaRevision(listed.outputSchema ?? null),
      effect: `${declared.effect}-${revision}`,
      handler: handlerRevision(connection),
      producer: handlerRevision(connection),
      policy: revision,
    },
    execute: (input, call) =>
      run(connection, listed.name, input, call, { writes: declared.effect !== 'read', onToolError }),
  });
}

function ownTarget(server: string, toolId: string) {
  return {
    kind: 'external',
    role: 'target',
    namespace: 'mcp',
    endpointId: server,
    serverId: server,
    toolId: toolId.slice(0, 255),
  } as const;
}

function handlerRevision(connection: McpConnection): string {
  const { name, version } = connection.serverInfo;
  const text = `${name}@${version}`.replaceAll(/[\p{Cc}\p{Cs}]/gu, '_');
  return text === '@' ? 'unnamed' : text;
}

/** A server's schema is data that it sends, so a change of it is a change of the contract: told by its digest. */
function schemaRevision(schema: unknown): string {
  if (schema === null) return 'none';
  return `schema-${sha256Hex(canonicalJson(asJsonValue(schema, JSON_PROFILES.wire))).slice(0, 32)}`;
}

/** The declared output schema is about `structuredContent` alone; what else the result holds is for the model to read. */
function structuredOutput(schema: unknown): StandardSchemaV1<Record<string, unknown>> {
  const compiled = compileSchema(schema as JsonSchemaObject, 'output');
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate: async (value) => {
        const output = value as Record<string, unknown>;
        const verdict = await compiled.check(output['structuredContent'] ?? null);
        if (verdict.ok) return { value: output };
        return { issues: verdict.issues.map(({ message }) => ({ message, path: ['structuredContent'] })) };
      },
    },
  };
}

interface RunRules {
  readonly writes: boolean;
  readonly onToolError: 'unknown' | 'not_done';
}

async function run(
  connection: McpConnection,
  name: string,
  input: Record<string, unknown>,
  call: ToolCallContext,
  rules: RunRules,
): Promise<unknown> {
  // Nothing has been sent yet: the one failure of a connection of which it is known that nothing was done.
  if (!connection.alive) throw new NotDone(`The MCP server ${connection.name} is not connected.`);
  const result = await connection.callTool({
    name,
    arguments: input,
    ...(rules.writes ? { meta: { [IDEMPOTENCY_META_KEY]: call.idempotencyKey } } : {}),
    signal: call.signal,
    timeoutMs: call.timeoutMs,
    onProgress: (done, total, text) =>
      call.progress({
        done,
        ...(total === undefined ? {} : { total }),
        ...(text === undefined ? {} : { text: text.slice(0, LIMITS.schemaIssueCodePoints).toWellFormed() }),
      }),
  });
  if (!result.isError) return outputOf(result);
  const said = errorText(result);
  if (rules.writes && rules.onToolError === 'not_done') throw new NotDone(said);
  throw fail('MCP_TOOL_ERROR', `The tool reported an error: ${said}`, { details: { said } });
}

function outputOf(result: McpCallResult): unknown {
  const { content, structuredContent } = result;
  return structuredContent === undefined ? { content } : { content, structuredContent };
}

function errorText(result: McpCallResult): string {
  const texts: string[] = [];
  let left = LIMITS.mcpErrorCodePoints;
  for (const item of result.content) {
    if (left <= 0) break;
    if (typeof item !== 'object' || item === null || !('text' in item) || typeof item.text !== 'string') continue;
    const text = item.text.slice(0, left);
    left -= text.length;
    texts.push(text);
  }
  return redactText(texts.join('\n').toWellFormed()) || 'without a text';
}
