import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  LIMITS,
  REDACTED,
  SecretNames,
} from '../../core/index.ts';
import type { ModelMessage, ModelReply, ProposedCall } from '../../models/index.ts';
import type { ActionEvent, ActionGroup } from '../../sessions/index.ts';
import { readArguments } from '../../tools/index.ts';
import { cutIn, cutNote, type CutReason } from '../cut-reply.ts';

/** The kind of the group that a side branch of a composed run is, on its session's ledger. */
export const SIDE_BRANCH_GROUP = 'side_branch';

/** One turn of the model in a side branch. */
export interface SideTurn {
  readonly text: string;
  /** Why it ended, where it did not come to its end by itself: the text may not be whole. */
  readonly cut: CutReason | null;
  /** Proposed all the same: a side branch has no tools, and none of them is carried out. */
  readonly calls: readonly ProposedCall[];
}

/** A side branch as its group's lines tell it. Its turns are counted here and nowhere else. */
export interface ToldSideBranch {
  readonly type: string;
  readonly instruction: string;
  readonly maxTurns: number;
  readonly turns: readonly SideTurn[];
  readonly closed: boolean;
}

export const openedDocument = (opened: Pick<ToldSideBranch, 'type' | 'instruction' | 'maxTurns'>): JsonObject => ({
  type: opened.type,
  instruction: opened.instruction,
  max_turns: opened.maxTurns,
});

/** None of its calls is carried out, so nobody needs the secret fields of their tools. */
export const turnDocument = (
  { text, calls, finishReason }: ModelReply,
  secretFieldsOf: (tool: string) => readonly string[],
): JsonObject => ({
  text,
  ...cutNote({ finishReason }),
  calls: calls.map(({ callId, toolName, argumentsText }) => ({
    id: callId,
    name: toolName,
    arguments: struckOut(argumentsText, new SecretNames(secretFieldsOf(toolName))),
  })),
});

/** In what is no JSON no field can be found. */
function struckOut(argumentsText: string, secret: SecretNames): string {
  if (secret.none) return argumentsText;
  const read = readArguments(argumentsText);
  return read.ok ? canonicalJson(secret.strikeOut(read.value)) : REDACTED;
}

/** What the lines of a side branch's group say; null where they cannot be read. */
export function sideBranchOf(events: readonly Pick<ActionEvent, 'type' | 'result'>[]): ToldSideBranch | null {
  const said = events.find(({ type }) => type === 'side_branch_opened')?.result ?? null;
  if (!isJsonObject(said)) return null;
  const { type, instruction, max_turns: maxTurns } = said;
  if (typeof type !== 'string' || typeof instruction !== 'string' || typeof maxTurns !== 'number') return null;
  const turns = events.filter((event) => event.type === 'side_branch_turn').map(({ result }) => turnOf(result));
  return { type, instruction, maxTurns, turns, closed: events.some((event) => event.type === 'side_branch_closed') };
}

function turnOf(result: JsonValue): SideTurn {
  if (!isJsonObject(result)) return { text: '', cut: null, calls: [] };
  const calls = Array.isArray(result['calls']) ? result['calls'].filter(isJsonObject) : [];
  const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
  return {
    text: text(result['text']),
    cut: cutIn(result),
    calls: calls.slice(0, LIMITS.modelCallsInReply).map((call) => ({
      callId: text(call['id']),
      toolName: text(call['name']),
      argumentsText: text(call['arguments']),
    })),
  };
}

/** Whether the branch has come to its end: its turns are used up, or it proposed nothing more. */
export function hasEnded({ turns, maxTurns }: ToldSideBranch): boolean {
  const last = turns.at(-1);
  return turns.length >= maxTurns || (last !== undefined && last.calls.length === 0);
}

/** What the model is shown of a side branch after the main line: its instruction and its own turns. */
export function messagesOfSideBranch({ instruction, turns }: ToldSideBranch): readonly ModelMessage[] {
  return [{ role: 'user', text: instruction }, ...turns.flatMap(messagesOfTurn)];
}

function messagesOfTurn({ text, calls }: Pick<SideTurn, 'text' | 'calls'>): readonly ModelMessage[] {
  const refused = ({ callId, toolName }: ProposedCall): ModelMessage => ({
    role: 'tool',
    callId,
    toolName,
    text: 'NOT STARTED (TOOL_NOT_ALLOWED): A side branch has no tools. Nothing was run.',
    isError: true,
  });
  return [{ role: 'assistant', text, calls }, ...calls.map(refused)];
}

/** Whether a group belongs to the main line of a conversation: what people and the model said there. */
export const isOfMainLine = ({ kind }: Pick<ActionGroup, 'kind'>): boolean =>
  kind !== 'compaction' && kind !== SIDE_BRANCH_GROUP;
