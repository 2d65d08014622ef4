import { isJsonObject, type JsonObject, type JsonValue } from '../core/index.ts';
import type { FinishReason, ModelReply } from '../models/index.ts';
import type { ActionGroup } from '../sessions/index.ts';

/** Why a reply ended where it had not come to its end by itself. */
export type CutReason = Exclude<FinishReason, 'stop' | 'tool_calls'>;

const REASONS: readonly CutReason[] = ['length', 'content_filter', 'other'];

/** What is stored of a reply's end, in the `usage` of its group or beside its text: nothing where it ended by itself. */
export function cutNote({ finishReason }: Pick<ModelReply, 'finishReason'>): JsonObject {
  return isCut(finishReason) ? { finish_reason: finishReason } : {};
}

/** Why the reply of a stored group was cut; null where it ended by itself, or nobody wrote down how. */
export const cutOf = ({ usage }: Pick<ActionGroup, 'usage'>): CutReason | null => cutIn(usage);

/** The same of what is stored otherwise: a turn of a side branch, a message. */
export function cutIn(stored: JsonValue): CutReason | null {
  const said = isJsonObject(stored) ? stored['finish_reason'] : undefined;
  return isCut(said) ? said : null;
}

const isCut = (reason: unknown): reason is CutReason => REASONS.some((one) => one === reason);
