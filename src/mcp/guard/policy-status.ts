import { isJsonObject, JSON_PROFILES, type JsonObject, type JsonValue, readStrictJson } from '../../core/index.ts';
import type { ToolStatus } from '../../tools/index.ts';
import type { CallAnswer } from '../wire/message.ts';
import type { GuardedCall } from './guarded-call.ts';
import { valuesAt } from './json-pointer.ts';
import { keptOutput } from './kept-output.ts';
import { holdsOf, type SealedPolicy } from './policy-conditions.ts';
import { describedTool } from './policy-decision.ts';
import type { PolicyCondition, PolicyStatus, PolicyTool } from './policy-model.ts';

/** Asks the server, the way that `call` came, what became of a call of the tool `name` with this input. */
export async function askServer(
  sealed: SealedPolicy,
  call: GuardedCall,
  of: { readonly name: string; readonly input: JsonObject; readonly signal: AbortSignal },
): Promise<ToolStatus> {
  const described = describedTool(sealed.policy, of.name);
  if (described.status === null) return { state: 'unknown', reason: 'The policy does not say how to ask.' };
  const args = questionArguments(described.status, of.input);
  if (args === null) return { state: 'unknown', reason: 'The call does not name what the question needs.' };
  const question = { name: described.status.tool, arguments: args };
  return statusOfAnswer(sealed, described, await call.channel.question(call, question, of.signal));
}

/** The arguments of the question about a call; null where the call does not have what the question needs. */
function questionArguments(status: PolicyStatus, args: JsonValue): JsonObject | null {
  const asked: [string, JsonValue][] = [];
  for (const [name, pointer] of status.arguments) {
    const [value, ...more] = valuesAt(args, pointer) ?? [];
    if (value === undefined || more.length > 0) return null;
    asked.push([name, value]);
  }
  return Object.fromEntries(asked);
}

/**
 * What the server's answer to the question says about the call. Only what holds in full counts: an error, an answer in
 * which both hold or neither, or one in which something is missing, says nothing.
 */
export function statusOfAnswer(sealed: SealedPolicy, described: PolicyTool, answer: CallAnswer): ToolStatus {
  const { status } = described;
  if (status === null || answer.kind !== 'result' || answer.isError)
    return { state: 'unknown', reason: 'The server could not say what happened.' };
  const seen = answerDocument(answer.result);
  const says = (conditions: readonly PolicyCondition[]): boolean =>
    conditions.every((one) => couldHold(one, seen)) && holdsOf(sealed, conditions, seen);
  const happened = says(status.happened);
  const notHappened = status.notHappened !== null && says(status.notHappened);
  if (happened && !notHappened) return { state: 'happened', output: { asked: keptOutput(answer.result, described) } };
  if (notHappened && !happened) return { state: 'not_happened' };
  return { state: 'unknown', reason: 'The server answered, and its answer does not say whether it happened.' };
}

/** That something is absent says nothing where what should have held it is absent too, or of another kind. */
function couldHold({ at, test }: PolicyCondition, seen: JsonObject): boolean {
  if (test.kind !== 'present' || test.present) return true;
  const cut = at.lastIndexOf('/');
  const holders = valuesAt(seen, at.slice(0, cut)) ?? [];
  const ofLists = /^(?:\*|\d+)$/.test(at.slice(cut + 1));
  return holders.length > 0 && holders.every((one) => isJsonObject(one) || (ofLists && Array.isArray(one)));
}

/** The result, with `json`: what its first text says, where that is JSON. */
function answerDocument({ json: _json, ...result }: JsonObject): JsonObject {
  const [first] = Array.isArray(result['content']) ? result['content'] : [];
  const text = isJsonObject(first) ? first['text'] : undefined;
  if (typeof text !== 'string') return result;
  try {
    return { ...result, json: readStrictJson(text, JSON_PROFILES.wire) };
  } catch {
    return result;
  }
}
