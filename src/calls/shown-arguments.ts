import { JSON_PROFILES, readCanonicalJson, redact, SecretNames } from '../core/index.ts';
import type { ToolRegistry } from '../tools/index.ts';
import type { LedgerCall } from './standing.ts';

/**
 * The arguments of a call as people and reviewers are shown them: without what looks like a secret, and without the
 * fields that its tool named as secret when it was proposed, or names in this process. Null where they could not be read.
 */
export function shownArguments(
  tools: ToolRegistry,
  { toolName, argumentsText, secretFields: stored }: Pick<LedgerCall, 'toolName' | 'argumentsText' | 'secretFields'>,
): string | null {
  if (argumentsText === null) return null;
  const secretFields = [...stored, ...tools.secretFieldsOf(toolName)];
  return JSON.stringify(redact(readCanonicalJson(argumentsText, JSON_PROFILES.operations), { secretFields }));
}

/** A text about a call's arguments for its model, which is told of no secret that it does not know. */
export const struckOut = (call: Pick<LedgerCall, 'secretFields'>, argumentsText: string): string =>
  new SecretNames(call.secretFields).strikeOutOf(argumentsText);
