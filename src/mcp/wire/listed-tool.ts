import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, readStrictJson } from '../../core/index.ts';
import { MCP_PROFILE } from './read-host-line.ts';

/** So many places are tried in a list whose tools have a property `tools` themselves. */
const MOST_PLACES = 16;
const PLACE = /"tools"[ \t\r\n]*:[ \t\r\n]*\[/g;

/**
 * The server's list of tools with one more tool at its head, everything else byte for byte as it came. Null where the
 * message is no such list, or has a tool of this name: then it passes as it is.
 */
export function withToolListed(bytes: Uint8Array, tool: JsonObject & { readonly name: string }): Uint8Array | null {
  const before = listOf(bytes);
  if (!before || before.tools.some((one) => isJsonObject(one) && one['name'] === tool.name)) return null;
  const { message, result, tools } = before;
  const wanted = canonicalJson({ ...message, result: { ...result, tools: [tool, ...tools] } });
  const text = Buffer.from(bytes).toString('utf8');
  const added = `${canonicalJson(tool)}${tools.length === 0 ? '' : ','}`;
  const places = [...text.matchAll(PLACE)].slice(0, MOST_PLACES);
  for (const { 0: found, index } of places) {
    const at = index + found.length;
    const candidate = Buffer.from(`${text.slice(0, at)}${added}${text.slice(at)}`);
    const after = listOf(candidate);
    if (after && canonicalJson(after.message) === wanted) return candidate;
  }
  return null;
}

function listOf(
  bytes: Uint8Array,
): { readonly message: JsonObject; readonly result: JsonObject; readonly tools: readonly JsonValue[] } | null {
  try {
    const message = readStrictJson(bytes, MCP_PROFILE);
    const result = isJsonObject(message) ? message['result'] : undefined;
    const tools = isJsonObject(result) ? result['tools'] : undefined;
    return isJsonObject(message) && isJsonObject(result) && Array.isArray(tools) ? { message, result, tools } : null;
  } catch {
    return null;
  }
}
