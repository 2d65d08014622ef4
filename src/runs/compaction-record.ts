import { isJsonObject, type JsonObject } from '../core/index.ts';
import type { ActionEvent, ActionGroup } from '../sessions/index.ts';

/** What the event of a compaction says: a summary that speaks for the groups up to one, but for those kept. */
export interface CoverNote {
  readonly summary: string;
  /** The last group that it speaks for; null where it speaks for none. */
  readonly coveredThrough: string | null;
  /** Groups up to there that are still shown as they are: those with a call that is not settled, and the request. */
  readonly kept: ReadonlySet<string>;
}

/** The same in the ledger of one branch. */
export interface Compaction extends CoverNote {
  /** The position of the last group that it speaks for; 0 where it speaks for none. */
  readonly upTo: number;
}

/** As it stands on the ledger, in the names of the package contract, and one more for what is kept. */
export const compactionDocument = ({ summary, coveredThrough, kept }: CoverNote): JsonObject => ({
  handoff: summary,
  covered_through_group_id: coveredThrough,
  archive_id: null,
  kept_group_ids: [...kept],
});

/** What the events of a compaction's group say; null for one that cannot be read, or whose note is empty. */
export function coverOf(events: readonly Pick<ActionEvent, 'type' | 'result'>[]): CoverNote | null {
  const said = events.findLast(({ type }) => type === 'compaction')?.result;
  if (said === undefined || !isJsonObject(said)) return null;
  const { handoff, covered_through_group_id: coveredThrough = null, kept_group_ids: kept = [] } = said;
  if (typeof handoff !== 'string' || handoff === '') return null;
  return {
    summary: handoff,
    coveredThrough: typeof coveredThrough === 'string' ? coveredThrough : null,
    kept: new Set(Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : []),
  };
}

/** The newest compaction among these groups; null where there is none. One that cannot be read counts as none. */
export function newestCompaction(
  groups: readonly { readonly group: ActionGroup; readonly cover?: CoverNote | null }[],
): Compaction | null {
  const cover = groups.findLast(({ group }) => group.kind === 'compaction')?.cover;
  if (!cover) return null;
  const last = groups.find(({ group }) => group.groupId === cover.coveredThrough);
  return { ...cover, upTo: last?.group.position ?? 0 };
}

/** Whether a group is still shown to the model as it is. */
export function isShown({ upTo, kept }: Compaction, group: Pick<ActionGroup, 'groupId' | 'position'>): boolean {
  return group.position > upTo || kept.has(group.groupId);
}
