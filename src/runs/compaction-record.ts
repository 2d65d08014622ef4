import { isJsonObject, type JsonObject } from '../core/index.ts';
import type { ActionGroup } from '../sessions/index.ts';

/** What a group of kind `compaction` says: a summary that speaks for the groups up to a place, but for those kept. */
export interface Compaction {
  readonly summary: string;
  /** The position of the last group that it speaks for. */
  readonly upTo: number;
  /** Groups up to there that are still shown as they are: those with a call that is not settled, and the request. */
  readonly kept: ReadonlySet<string>;
}

export function compactionDocument({ summary, upTo, kept }: Compaction): JsonObject {
  return { summary, up_to: upTo, kept: [...kept] };
}

/** The newest compaction among these groups; null where there is none. One that cannot be read counts as none. */
export function newestCompaction(groups: readonly { readonly group: ActionGroup }[]): Compaction | null {
  const last = groups.findLast(({ group }) => group.kind === 'compaction');
  const said = last?.group.wireState;
  if (said === undefined || !isJsonObject(said)) return null;
  const { summary, up_to: upTo, kept } = said;
  if (typeof summary !== 'string' || typeof upTo !== 'number' || !Array.isArray(kept)) return null;
  return { summary, upTo, kept: new Set(kept.filter((one) => typeof one === 'string')) };
}

/** Whether a group is still shown to the model as it is. */
export function isShown({ upTo, kept }: Compaction, group: Pick<ActionGroup, 'groupId' | 'position'>): boolean {
  return group.position > upTo || kept.has(group.groupId);
}
