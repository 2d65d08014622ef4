import { isJsonObject, JSON_PROFILES, type JsonValue, readStrictJson } from '../core/index.ts';
import type { ReadTx } from '../store/index.ts';

/**
 * Under this name the line of a proposal keeps which fields of its tool's arguments are secret, where the tool names
 * some: so that they are struck out where the call is shown by a process that does not know the tool.
 */
export const SECRET_FIELDS = 'secret_fields';

/** The secret fields that the `result` of a `proposed` line names. Of what is damaged, what can be read. */
export function secretFieldsOfProposal(result: JsonValue): readonly string[] {
  const named = isJsonObject(result) ? result[SECRET_FIELDS] : undefined;
  return Array.isArray(named) ? named.filter((name) => typeof name === 'string') : [];
}

/** Few proposals name any: the others are not read. */
const NAMING = `SELECT group_id, tool_call_id, result FROM action_events
WHERE group_id IN (SELECT value FROM json_each(?)) AND type = 'proposed' AND instr(result, '"${SECRET_FIELDS}"') > 0`;

/** The secret fields that calls were proposed with, by group and call. One statement, none where there are no groups. */
export class ProposedSecrets {
  readonly #byCall = new Map<string, readonly string[]>();

  /** Reads those of whole groups, whoever's they are: the caller has looked whether it may see them. */
  static async read(tx: ReadTx, groupIds: Iterable<string>): Promise<ProposedSecrets> {
    const found = new ProposedSecrets();
    const ids = [...new Set(groupIds)];
    if (ids.length === 0) return found;
    for (const row of await tx.all(NAMING, [JSON.stringify(ids)]))
      found.#byCall.set(`${String(row['group_id'])} ${String(row['tool_call_id'])}`, namesIn(String(row['result'])));
    return found;
  }

  of(groupId: string, toolCallId: string | null): readonly string[] {
    return this.#byCall.get(`${groupId} ${toolCallId}`) ?? [];
  }
}

function namesIn(text: string): readonly string[] {
  try {
    return secretFieldsOfProposal(readStrictJson(text, JSON_PROFILES.packages));
  } catch {
    return [];
  }
}
